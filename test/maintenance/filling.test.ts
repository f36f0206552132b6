// Stores that an interrupted copy or import has left incomplete: the start and the check warn of them, until the same command
// completes them.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { checkService } from '../../src/app/check.ts';
import { createService } from '../../src/app/service.ts';
import { settingsOf } from '../../src/backends/load-settings.ts';
import type { OpenStores } from '../../src/contracts/open-backends.ts';
import { silentLogger, type Logger } from '../../src/contracts/logger.ts';
import { storedParent } from '../../src/core/objects/uris.ts';
import { StoredObject } from '../../src/core/objects/stored.ts';
import { declareIndexes, readStates } from '../../src/engine/index-states.ts';
import type { Finding } from '../../src/maintenance/check-backends.ts';
import { inUnit } from '../../src/maintenance/units.ts';
import { parseIndexes } from '../../src/core/index/definition.ts';
import type { Settings } from '../../src/settings/settings.ts';
import { startTestService } from '../../src/testing/index.ts';
import { copyBetween, type CopyWork } from '../../src/transfer/copy/copy.ts';
import { exportStores, importStores } from '../../src/transfer/export/export.ts';
import { importInto } from '../../src/transfer/import/import.ts';
import { openDurable, restoreList, type DurableBackend } from '../support/durable-stores.ts';
import { inExtent } from '../support/extent.ts';
import { sourceOf } from '../transfer/import/source-data.ts';

const interrupt = (): never => {
  throw new Error('interrupted');
};

/** Returns settings of a service on the stores of other settings. */
function settingsAt(backend: DurableBackend, opened: Settings): Settings {
  const url = opened.get('storage_url')!;
  return settingsOf({
    storage_backend: backend,
    permission_backend: backend,
    storage_url: url,
    permission_url: url,
    userid_hmac_secret: 'secret for tests',
    security_state_backend: 'memory',
  });
}

/** Starts and checks a service; returns what they warn of, once if they agree. */
async function warningsOf(settings: Settings): Promise<readonly string[]> {
  const warnings: string[] = [];
  const note = (text: string): void => {
    if (text.includes('incomplete') && !warnings.includes(text)) warnings.push(text);
  };
  const logger: Logger = {
    ...silentLogger,
    warn: (text: object | string) => note(typeof text === 'string' ? text : ''),
  };
  const service = await createService({ settings, logger });
  await service.close();
  const atStart = warnings.splice(0);
  const report = ({ kind, text }: Finding): void => {
    if (kind === 'warning') note(text);
  };
  await checkService(settings, report, { maxObjects: 0, problems: [] });
  expect(warnings).toEqual(atStart);
  return warnings;
}

/** Returns stores with a list of objects. */
async function openSource(): Promise<OpenStores> {
  const { stores } = await openDurable('sqlite');
  const list = { kind: 'record', parent: storedParent('/buckets/b/collections/c') };
  await restoreList(stores, list, 2000, [
    new StoredObject('a', 1000, '{"n":1}'),
    new StoredObject('b', 2000, '{"n":2}'),
  ]);
  return stores;
}

async function exported(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'coffer-filling-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'x.ndjson');
  await exportStores(await openSource(), file);
  return file;
}

type Mode = 'refuse' | 'resume';

/** Commands, each with what runs it on a target. */
const commands: Readonly<
  Record<string, () => Promise<(to: OpenStores, mode: Mode, fails: boolean) => Promise<unknown>>>
> = {
  async copy() {
    const source = await openSource();
    return (target, mode, fails) => {
      const work: CopyWork = fails ? { mode, onProgress: interrupt } : { mode };
      return copyBetween(source, target, work);
    };
  },
  async 'import file'() {
    const file = await exported();
    return (target, mode, fails) => importStores(file, target, fails ? { mode, onProgress: interrupt } : { mode });
  },
  async 'import kinto'() {
    const source = await startTestService();
    onTestFinished(() => source.close());
    for (const path of ['/v1/buckets/b', '/v1/buckets/b/collections/c'])
      await source.request('PUT', path, { auth: 'alice' });
    const from = sourceOf(source);
    const settings = settingsOf({ userid_hmac_secret: 'secret for tests' });
    return (target, mode, fails) =>
      importInto(target, settings, { from, mode, ...(fails ? { onList: interrupt } : {}) });
  },
};

test('an import that is refused before it writes leaves no mark, and indexes as they are', async () => {
  const { settings: opened, stores } = await openDurable('sqlite');
  const settings = settingsAt('sqlite', opened);
  const own = { kind: 'bucket', parent: storedParent('') };
  const now = Date.now() + 1_000_000;
  await restoreList(stores, own, now, [new StoredObject('own', now, '{}')]);
  const collection = { kind: 'record', parent: storedParent('/buckets/own/collections/c') };
  await inUnit(stores.storage.database, (transaction) =>
    declareIndexes(stores.storage.writer(transaction), collection, parseIndexes([{ fields: ['n'] }])!),
  );
  const before = await readStates(stores.storage.reader, collection);
  expect(before.indexes).toHaveLength(1);
  const run = await commands['import kinto']!();
  await expect(run(stores, 'resume', false)).rejects.toThrow('the target has own with a later timestamp');
  expect(await readStates(stores.storage.reader, collection)).toEqual(before);
  expect(await warningsOf(settings)).toEqual([]);
});

const backends = inExtent<readonly DurableBackend[]>(['sqlite'], ['sqlite', 'postgresql', 'redis']);

describe.each(backends)('on %s', (backend) => {
  test.each(Object.keys(commands))(
    'an interrupted %s is reported until it is complete',
    { timeout: 60_000 },
    async (name) => {
      const { settings: opened, stores } = await openDurable(backend);
      const settings = settingsAt(backend, opened);
      expect(await warningsOf(settings)).toEqual([]);
      const run = await commands[name]!();
      await expect(run(stores, 'refuse', true)).rejects.toThrow('interrupted');
      expect(await warningsOf(settings)).toEqual([expect.stringContaining(`: coffer ${name} … --resume`)]);
      await run(stores, 'resume', false);
      expect(await warningsOf(settings)).toEqual([]);
    },
  );
});
