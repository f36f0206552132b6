// `coffer import file --resume` deletes only what an import wrote: every other target is refused, and stays as it is.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { OpenStores } from '../../../src/contracts/open-backends.ts';
import { StoredObject } from '../../../src/core/objects/stored.ts';
import { storedUri } from '../../../src/core/objects/uris.ts';
import { toPrincipal } from '../../../src/core/permissions/principals.ts';
import { keepFingerprints } from '../../../src/maintenance/secret-fingerprints.ts';
import { inUnit } from '../../../src/maintenance/units.ts';
import { exportStores, importStores, type ImportFileOptions } from '../../../src/transfer/export/export.ts';
import { dumpStores } from '../copy/dump.ts';
import { backends, empty, EveryStore } from '../copy/every-store.ts';
import { list, restore } from '../copy/long-list.ts';
import { fill, sample } from '../copy/random-store.ts';

let every: EveryStore;

beforeAll(async () => {
  every = await EveryStore.open();
}, 120_000);

afterAll(() => every.close());

/** Fills the store and gives it an id of its own, as the start of a service does. */
async function fillStore(stores: OpenStores, seed: number): Promise<void> {
  await empty(stores);
  await keepFingerprints(stores.storage, {}, { replaces: false });
  await fill(stores, sample(seed));
}

async function exported(stores: OpenStores): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'coffer-export-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'x.ndjson');
  await exportStores(stores, file);
  return file;
}

const interrupted: ImportFileOptions['onProgress'] = () => {
  throw new Error('interrupted');
};

describe.each(backends.filter((backend) => backend !== 'memory'))('with %s', (backend) => {
  let [source, target]: [OpenStores, OpenStores] = [undefined!, undefined!];
  let file: string;
  beforeEach(async () => {
    [source, target] = [every.of('memory'), every.of(backend)];
    await fillStore(source, 3);
    file = await exported(source);
    await empty(target);
  });

  /** Expects that no option but `--empty-target` deletes what the target has, and that the errors name no other. */
  async function expectRefusal(why: string, from = file): Promise<void> {
    const before = await dumpStores(target);
    await expect(importStores(from, target, { mode: 'resume' })).rejects.toThrow(
      new RegExp(`${why}.*; --empty-target deletes all`),
    );
    const refused = importStores(from, target, { mode: 'refuse' });
    await expect(refused).rejects.toThrow('the target is not empty; --empty-target deletes all its data first');
    expect(await dumpStores(target)).toEqual(before);
  }

  async function expectEqual(): Promise<void> {
    expect(await dumpStores(target)).toEqual(await dumpStores(source));
  }

  test('an interrupted import is repeated with the same file, and with no other', async () => {
    for (const mode of ['refuse', 'resume', 'empty'] as const) {
      await expect(importStores(file, target, { mode, onProgress: interrupted })).rejects.toThrow('interrupted');
    }
    await expectRefusal('unfinished import of another file', await exported(source));
    await expect(importStores(file, target, { mode: 'refuse' })).rejects.toThrow('use --resume to repeat its import');
    expect((await importStores(file, target, { mode: 'resume', verifies: true })).differences).toEqual([]);
    await expectEqual();
  });

  test('a finished import is repeated with the same or a newer file of the store, until it is written to', async () => {
    await importStores(file, target, { mode: 'resume' });
    await expect(importStores(file, target, { mode: 'refuse' })).rejects.toThrow('use --resume to repeat its import');
    expect((await importStores(file, target, { mode: 'resume', verifies: true })).differences).toEqual([]);
    const write = (stores: OpenStores, clock: number): Promise<void> =>
      restore(stores, clock, [new StoredObject('new', clock, '{}')]);
    await write(source, 2 ** 51 + 5);
    const newer = await exported(source);
    expect((await importStores(newer, target, { mode: 'resume', verifies: true })).differences).toEqual([]);
    await expectEqual();
    await write(target, 2 ** 51 + 6);
    await expectRefusal('it was changed since its import', newer);
    // All clocks of the next file are ahead of the target.
    await write(source, 2 ** 51 + 7);
    await expectRefusal('it was changed since its import', await exported(source));
  });

  test('an import is refused after a write that moved no clock', async () => {
    await importStores(file, target, { mode: 'refuse' });
    const changes: readonly (() => Promise<unknown>)[] = [
      () =>
        inUnit(target.storage.database, (transaction) =>
          target.storage.writer(transaction).update(sample(3).lists[0]!.list, 'of the past', '{}', 1),
        ),
      () =>
        inUnit(target.permission.database, (transaction) =>
          target.permission.writer(transaction).addPrincipalToAce(storedUri('/a'), 'read', toPrincipal('amy')),
        ),
    ];
    for (const change of changes) {
      await change();
      await expectRefusal('it was changed since its import');
      await importStores(file, target, { mode: 'empty' });
      await expect(importStores(file, target, { mode: 'refuse' })).rejects.toThrow('use --resume to repeat its import');
    }
  });

  test('a store with the same lists and older clocks that was not imported is refused', async () => {
    await fillStore(target, 3);
    await expectRefusal('no mark of an import');
  });

  test('an import of another store is refused', async () => {
    await importStores(file, target, { mode: 'refuse' });
    await fillStore(source, 3);
    await expectRefusal('an import from another store', await exported(source));
  });

  test('permissions of another store are refused when the storage is empty', async () => {
    await inUnit(target.permission.database, async (transaction) => {
      const permissions = { read: [toPrincipal('amy')] };
      await target.permission.writer(transaction).replaceObjectPermissions(storedUri(list.parent), permissions);
    });
    await expectRefusal('no mark of an import');
  });
});
