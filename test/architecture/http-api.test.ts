// The reference of the HTTP API against the service: every error number, every endpoint and the table of filters, so
// that the pages cannot fall behind unnoticed.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { errorTable } from '../../src/core/errors.ts';
import { createLogger } from '../../src/observability/logger.ts';
import { startTestService, type TestClient, type TestService } from '../../src/testing/index.ts';
import { projectRoot } from './source-tree.ts';

const read = (page: string): string =>
  readFileSync(path.join(projectRoot, 'docs/reference/http-api', `${page}.md`), 'utf8');

/** The rows of the first table below an anchor, as cells without their backticks. */
function tableBelow(text: string, mark: string): readonly (readonly string[])[] {
  const lines = text.slice(text.indexOf(mark)).split('\n');
  const start = lines.findIndex((line) => line.startsWith('| '));
  const length = lines.slice(start).findIndex((line) => !line.startsWith('|'));
  return lines.slice(start + 2, start + length).map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim().replaceAll('`', '')),
  );
}

describe('the reference of the HTTP API', () => {
  let service: TestService;
  let alice: TestClient;

  beforeAll(async () => {
    service = await startTestService({
      settings: {
        includes: 'default_bucket flush attachments openid accounts prometheus history counters quotas operations',
        'multiauth.policies': 'account basicauth',
        account_validation: 'true',
        account_hash_cost: '10',
        experimental_permissions_endpoint: 'true',
        // Nothing is put there, so it will not be made.
        'attachment.base_path': path.join(projectRoot, 'data', 'nowhere'),
      },
      logger: createLogger({ level: 'silent', format: 'json', name: 'svc' }, { write() {} }),
    });
    alice = service.asUser('alice');
  });

  afterAll(() => service.close());

  it('has a section with an anchor for every error number, which tells every status of it', () => {
    const page = read('errors');
    const missing = Object.values(errorTable).flatMap(({ errno, status }) => {
      const start = page.indexOf(`<a id="errno-${errno}"></a>\n\n### ${errno}\n`);
      if (start === -1) return [`${errno}`];
      const section = page.slice(start).split('\n### ', 2).join('');
      const tells = section.includes(`Status ${status}.`) || section.includes(`\n| ${status} |`);
      return tells ? [] : [`${errno} with status ${status}`];
    });
    expect(missing).toEqual([]);
  });

  it('has no section for a number that nothing answers with', () => {
    const known = new Set(Object.values(errorTable).map(({ errno }) => String(errno)));
    const told = [...read('errors').matchAll(/^### (\d+)$/gm)].map(([, errno = '']) => errno);
    expect(told.filter((errno) => !known.has(errno))).toEqual([]);
  });

  it('lists every endpoint with its methods', async () => {
    const { body } = await service.request('GET', '/v1/openapi.json');
    const { paths } = body as { paths: Record<string, Record<string, unknown>> };
    const rows = tableBelow(read('endpoints'), '## Overview');
    const told = new Map(rows.map(([address = '', methods = '']) => [address, methods.split(' ').toSorted()]));
    const served = Object.entries(paths).map(([address, operations]): [string, string[]] => {
      const methods = Object.keys(operations).filter((name) => name !== 'parameters');
      return [address, methods.map((method) => method.toUpperCase()).toSorted()];
    });
    told.delete('/buckets/default/…');
    expect(told).toEqual(new Map(served));
  });

  it('says of each example filter what it finds', async () => {
    const page = read('lists');
    const [, values = []] = /^\| `n` \|(.*)\|$/m.exec(page)?.map((row) => row.split('|')) ?? [];
    const records = '/v1/buckets/default/collections/nine/records';
    for (const [index, cell] of values.entries()) {
      const json = cell.trim().replaceAll('`', '');
      const raw = `{"data":{${json === '' ? '' : `"n":${json}`}}}`;
      expect((await alice.request('PUT', `${records}/r${index + 1}`, { raw })).status).toBe(201);
    }
    const examples = tableBelow(page, '| Query | Found |');
    expect(examples.length).toBeGreaterThan(5);
    for (const [query = '', found] of examples) {
      const { body } = await alice.request('GET', `${records}?${query.replaceAll('"', '%22')}&_sort=id`);
      expect([query, (body as { data: { id: string }[] }).data.map(({ id }) => id).join(' ')]).toEqual([query, found]);
    }
  });
});
