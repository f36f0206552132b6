// The example of the README, as it stands there, with a bundler's rules for imports and IndexedDB in memory.
import 'fake-indexeddb/auto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createViteServer } from 'vitest/node';
import { projectRoot } from '../architecture/source-tree.ts';
import { startTestService, type TestService } from '../../src/testing/index.ts';

const readme = readFileSync(path.join(projectRoot, 'README.md'), 'utf8');
const [, example = ''] = /^```js\n(.*?)^```$/ms.exec(readme) ?? [];
const address = 'http://127.0.0.1:8888';

/** Runs the example against a service, and returns what it prints. */
async function runExample(origin: string): Promise<readonly unknown[][]> {
  const print = vi.spyOn(console, 'log').mockReturnValue();
  const name = path.join(projectRoot, 'readme-example.mjs');
  const server = await createViteServer({
    root: projectRoot,
    configFile: false,
    appType: 'custom',
    logLevel: 'silent',
    server: { middlewareMode: true, watch: null, ws: false },
    optimizeDeps: { noDiscovery: true },
    // As in a bundle for browsers: the modules of the package, not what Node.js would load.
    ssr: { noExternal: ['kinto'] },
    plugins: [
      {
        name: 'readme-example',
        resolveId: (id) => (id === name ? id : undefined),
        load: (id) => (id === name ? example.replace(address, origin) : undefined),
      },
    ],
  });
  try {
    await server.ssrLoadModule(name);
  } catch (error) {
    return [...print.mock.calls, ['rejected', error instanceof Error ? error.message : error]];
  } finally {
    await server.close();
  }
  return print.mock.calls;
}

describe('the example of the README', () => {
  let service: TestService | undefined;

  afterEach(async () => {
    vi.restoreAllMocks();
    await service?.close();
    service = undefined;
  });

  it('has ten lines of code, for the address of the two commands', () => {
    const lines = example.split('\n').filter((line) => line.trim() !== '');
    expect(lines.length).toBeLessThanOrEqual(10);
    expect(example).toContain(`${address}/v1`);
  });

  it('keeps what it creates without a network, and sends it once there is one', async () => {
    // Port 9 is for discarding, and refuses connections wherever nothing listens.
    const offline = await runExample('http://127.0.0.1:9');
    expect(offline).toEqual([
      [[expect.objectContaining({ title: 'Buy bread', _status: 'created' })]],
      ['rejected', expect.stringMatching(/fetch failed|bad port/)],
    ]);
    vi.restoreAllMocks();
    service = await startTestService({ settings: { includes: 'default_bucket' } });
    const online = await runExample(service.origin);
    expect(online.at(-1)).toEqual([true, 2, 0]);
    const alice = { Authorization: `Basic ${btoa('alice:correct-horse')}` };
    const list = await fetch(`${service.origin}/v1/buckets/default/collections/tasks/records`, { headers: alice });
    expect(await list.json()).toMatchObject({ data: [{ title: 'Buy bread' }, { title: 'Buy bread' }] });
  });
});
