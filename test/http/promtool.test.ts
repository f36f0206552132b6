// Checks of the metrics, and of rules and configuration in the guide, with promtool.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { startTestService } from '../../src/testing/index.ts';
import { forEachBackend } from '../support/backends.ts';
import { findPromtool, type Promtool } from '../support/promtool.ts';

let promtool: Promtool;
beforeAll(async () => {
  promtool = await findPromtool();
}, 120_000);

const guide = new URL('../../docs/guides/monitoring.md', import.meta.url);

/** Returns the path of a file with the block of the guide that holds a text. */
function blockWith(text: string): string {
  const blocks = [...readFileSync(guide, 'utf8').matchAll(/```yaml\n(.*?)```/gs)].map(([, block = '']) => block);
  const matching = blocks.filter((block) => block.includes(text));
  expect(matching).toHaveLength(1);
  const folder = mkdtempSync(join(tmpdir(), 'coffer-promtool-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'block.yml'), matching[0]!);
  return join(folder, 'block.yml');
}

forEachBackend((backend) => {
  describe(`promtool check metrics on ${backend.name}`, () => {
    async function exposition(settings: Readonly<Record<string, string>>): Promise<string> {
      const includes = 'prometheus default_bucket history';
      const service = await backend.start({ settings: { includes, ...settings } });
      onTestFinished(() => service.close());
      const alice = service.asUser('alice');
      await alice.request('PUT', '/v1/buckets/default/collections/c/records/r');
      const requests = [{ path: '/buckets/default/collections/c/records' }, { path: '/nothing' }];
      await alice.request('POST', '/v1/batch', { body: { requests } });
      return (await service.request('GET', '/v1/__metrics__')).text;
    }

    it('finds nothing with prometheus_strict_names.', async () => {
      const text = await exposition({ prometheus_strict_names: 'true' });
      expect(text).toMatch(/^coffer_requests_total\{.*status="200"\} \d+$/m);
      expect(promtool(['check', 'metrics'], text)).toEqual({ code: 0, lines: [] });
    });

    it('finds only the name request_summary of Kinto without it.', async () => {
      const { lines } = promtool(['check', 'metrics'], await exposition({}));
      expect(lines).toEqual(
        ['created', 'total'].map(
          (end) => `coffer_request_summary_${end} metric name should not include type 'summary'`,
        ),
      );
    });
  });
});

describe('the guide to monitoring', () => {
  it('has alert rules that promtool accepts.', () => {
    const { code, lines } = promtool(['check', 'rules', blockWith('groups:')]);
    expect([code, lines.join(' ')]).toEqual([0, expect.stringMatching(/SUCCESS: 3 rules found/)]);
  });

  it('has a configuration that promtool accepts.', () => {
    const { code } = promtool(['check', 'config', '--syntax-only', blockWith('scrape_configs:')]);
    expect(code).toBe(0);
  });

  it('has rules for metrics that the service exports.', async () => {
    const service = await startTestService({ settings: { includes: 'prometheus', project_name: 'store' } });
    onTestFinished(() => service.close());
    await service.request('GET', '/v1/');
    const { text } = await service.request('GET', '/v1/__metrics__');
    const rules = readFileSync(blockWith('groups:'), 'utf8');
    // This backend has no pools and no failures.
    const names = new Set([...rules.matchAll(/\bstore_request_\w+/g)].map(([name]) => name));
    expect(names.size).toBe(2);
    for (const name of names) expect(text).toContain(`\n${name}{`);
  });
});
