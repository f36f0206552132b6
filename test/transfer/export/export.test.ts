// Exports and the way back, on every backend: the file holds everything, and whatever is wrong with it is noticed before
// anything is written.
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { storedParent, storedUri } from '../../../src/core/objects/uris.ts';
import { toPrincipal } from '../../../src/core/permissions/principals.ts';
import { copyBetween } from '../../../src/transfer/copy/copy.ts';
import { keepFingerprints } from '../../../src/maintenance/secret-fingerprints.ts';
import { inUnit } from '../../../src/maintenance/units.ts';
import { checkExport } from '../../../src/transfer/export/export-file.ts';
import { exportStores, importStores } from '../../../src/transfer/export/export.ts';
import { StoredObject } from '../../../src/core/objects/stored.ts';
import { dumpStores } from '../copy/dump.ts';
import { backends, empty, EveryStore } from '../copy/every-store.ts';
import { fillLongList, list, restore } from '../copy/long-list.ts';
import { fill, randomStores, sample } from '../copy/random-store.ts';
import { inExtent } from '../../support/extent.ts';

let every: EveryStore;

beforeAll(async () => {
  every = await EveryStore.open();
}, 120_000);

afterAll(() => every.close());

function fileNamed(name: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'coffer-export-'));
  onTestFinished(() => {
    rmSync(folder, { recursive: true });
  });
  return join(folder, name);
}

/** A file with other lines, and the checksum that belongs to them. */
function rewrite(file: string, change: (lines: string[]) => string[]): void {
  const lines = change(readFileSync(file, 'utf8').trimEnd().split('\n'));
  const last = JSON.parse(lines.pop()!) as { summary: unknown };
  const rest = `${lines.join('\n')}\n`;
  const sha256 = createHash('sha256').update(rest).digest('hex');
  writeFileSync(file, `${rest}${JSON.stringify({ summary: last.summary, sha256 })}\n`);
}

test('every store is the same after an export and an import, on every backend', { timeout: 120_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(randomStores, async (contents) => {
      const first = every.of('memory');
      await empty(first);
      await fill(first, contents);
      const expected = await dumpStores(first);
      let file = fileNamed('0.ndjson');
      const summary = await exportStores(first, file);
      for (const [step, backend] of backends.entries()) {
        const stores = every.of(backend);
        await importStores(file, stores, { mode: 'empty', verifies: true }).then((result) => {
          expect(result).toEqual({ summary, differences: [] });
        });
        expect(await dumpStores(stores)).toEqual(expected);
        file = fileNamed(`${step + 1}.ndjson${step % 2 === 0 ? '.gz' : ''}`);
        expect(await exportStores(stores, file)).toEqual(summary);
      }
    }),
    { numRuns: inExtent(3, 6) },
  );
});

describe.each(backends)('with %s', (backend) => {
  test('a list of many entries arrives in portions, permissions and members too', { timeout: 60_000 }, async () => {
    const [source, target] = [every.of('memory'), every.of(backend)];
    await empty(source);
    await fillLongList(source, 21_500);
    const file = fileNamed('x.ndjson');
    await exportStores(source, file);
    const told: number[] = [];
    const result = await importStores(file, target, {
      mode: 'empty',
      onProgress: (phase, done, total) => {
        if (phase !== 'objects') return;
        expect(total).toBe(21_500);
        told.push(done);
      },
    });
    expect(result.differences).toEqual([]);
    expect(told.length).toBeGreaterThan(1);
    expect(told.at(-1)).toBe(21_500);
    const again = await importStores(file, target, { mode: 'verify' });
    expect(again.differences).toEqual([]);
  });
});

describe.each(backends.filter((backend) => backend !== 'memory'))('with %s', (backend) => {
  test('a newer file replaces an earlier import: what was revoked, removed and forgotten since is gone', async () => {
    const [source, target] = [every.of('memory'), every.of(backend)];
    for (const stores of [source, target]) await empty(stores);
    await keepFingerprints(source.storage, {}, { replaces: false });
    const record = (id: string, lastModified: number): StoredObject => new StoredObject(id, lastModified, '{}');
    await restore(source, 10, [record('kept', 1), record('forgotten', 2), record('replaced', 3)]);
    const [kept, other] = ['kept', 'other'].map((id) => storedUri(`${list.parent}/records/${id}`));
    const [amy, bob, team] = ['amy', 'bob', '/teams/t'].map(toPrincipal);
    await inUnit(source.permission.database, async (transaction) => {
      const writer = source.permission.writer(transaction);
      await writer.replaceObjectPermissions(kept!, { write: [amy!, bob!], read: [amy!] });
      await writer.replaceObjectPermissions(other!, { read: [amy!] });
      await writer.addUserPrincipal(amy!, team!);
    });
    const [older, newer] = [fileNamed('older.ndjson'), fileNamed('newer.ndjson')];
    await exportStores(source, older);
    await importStores(older, target, { mode: 'refuse' });
    await inUnit(source.storage.database, async (transaction) => {
      const writer = source.storage.writer(transaction);
      await writer.delete(list, 'forgotten', { lastModified: 11 });
      await writer.purgeDeleted();
      await writer.update(list, 'replaced', '{"n":2}', 12);
      const permissions = source.permission.writer(transaction);
      await permissions.removePrincipalFromAce(kept!, 'write', bob!);
      await permissions.replaceObjectPermissions(kept!, { read: [] });
      await permissions.deleteObjectPermissions([other!]);
      await permissions.removeUserPrincipal(amy!, team!);
    });
    await exportStores(source, newer);
    expect((await importStores(newer, target, { mode: 'resume', verifies: true })).differences).toEqual([]);
    expect(await dumpStores(target)).toEqual(await dumpStores(source));
    await expect(importStores(older, target, { mode: 'resume' })).rejects.toThrow('imported from a newer file');
    expect(await dumpStores(target)).toEqual(await dumpStores(source));
  });
});

describe.each(inExtent<readonly (typeof backends)[number][]>(['sqlite'], backends))('with %s', (backend) => {
  test('the last of two occurrences of an entry wins', { timeout: 60_000 }, async () => {
    const [source, target] = [every.of('memory'), every.of(backend)];
    await empty(source);
    await fillLongList(source, 21_500);
    const file = fileNamed('x.ndjson');
    await exportStores(source, file);
    const again = [
      '{"id":"e1","last_modified":30001,"data":{"n":1}}',
      '{"id":"e2","last_modified":30002,"deleted":true}',
      '{"id":"e4","last_modified":30003,"data":{"n":4}}',
    ];
    rewrite(file, (lines) => {
      const end = lines.findIndex((line) => line.startsWith('{"end":'));
      const permissions = lines.filter((line) => line.startsWith('{"permissionsOf":')).slice(0, 3);
      const moving = lines[end]!.replace('"isMoving":false', '"isMoving":true');
      return [...lines.slice(0, end), ...again, moving, ...lines.slice(end + 1, -1), ...permissions, lines.at(-1)!];
    });
    expect((await importStores(file, target, { mode: 'empty', verifies: true })).differences).toEqual([]);
    const { reader } = target.storage;
    expect((await reader.get(list, 'e1'))?.text).toBe('{"n":1}');
    expect(await reader.get(list, 'e2')).toBeUndefined();
    expect((await reader.get(list, 'e4'))?.lastModified).toBe(30_003);
    // One in four was a tombstone; one more is, and one less.
    expect(await reader.countAll(list, { filters: [] })).toBe(16_125);
    expect(await reader.countAll(list, { filters: [], includeDeleted: true })).toBe(21_500);
  });
});

test('a list that is written to during the export has its final state, and is reported', async () => {
  const [source, target] = [every.of('memory'), every.of('sqlite')];
  await empty(source);
  const at = (id: number, time: number): StoredObject => new StoredObject(`e${id}`, time, `{"t":${time}}`);
  await restore(
    source,
    5000,
    Array.from({ length: 5000 }, (_, n) => at(n, n)),
  );
  let isWritten = false;
  const file = fileNamed('x.ndjson.gz');
  const summary = await exportStores(source, file, () => {
    if (isWritten) return;
    isWritten = true;
    void restore(source, 6000, [at(3, 5500), { id: 'e4', lastModified: 5600, deleted: true }, at(7000, 5700)]);
  });
  expect(summary).toMatchObject({ lists: 1, moving: 1 });
  expect((await importStores(file, target, { mode: 'empty', verifies: true })).differences).toEqual([]);
  expect(await dumpStores(target)).toEqual(await dumpStores(source));
});

describe('a file', () => {
  async function written(name = 'x.ndjson'): Promise<string> {
    const source = every.of('memory');
    await empty(source);
    await fill(source, sample(4));
    const file = fileNamed(name);
    await exportStores(source, file);
    return file;
  }

  test('is compressed if its name says so, and for its owner only', async () => {
    const [plain, compressed] = [await written(), await written('x.ndjson.gz')];
    const lines = (text: string): readonly string[] => text.split('\n').slice(1, -2);
    expect(lines(gunzipSync(readFileSync(compressed)).toString())).toEqual(lines(readFileSync(plain, 'utf8')));
    expect(statSync(plain).mode & 0o777).toBe(0o600);
  });

  test('is never replaced, and a failed one is removed', async () => {
    const file = await written();
    await expect(exportStores(every.of('memory'), file)).rejects.toThrow('exists already');
    const other = fileNamed('y.ndjson');
    const failing = exportStores(every.of('memory'), other, () => {
      throw new Error('somebody pulled the plug');
    });
    await expect(failing).rejects.toThrow('pulled the plug');
    expect(readdirSync(join(other, '..'))).toEqual([]);
  });

  test('is refused before anything is written when it is truncated or changed', async () => {
    const target = every.of('sqlite');
    await empty(target);
    const file = await written();
    const bytes = readFileSync(file);
    const lengths = [0, 1, 50, Math.floor(bytes.length / 2), bytes.length - 200, bytes.length - 1];
    for (const length of lengths) {
      writeFileSync(file, bytes.subarray(0, length));
      await expect(importStores(file, target, { mode: 'refuse' })).rejects.toThrow(/is incomplete|is not an export/);
    }
    const flipped = Buffer.from(bytes);
    flipped[Math.floor(bytes.length / 2)]! ^= 1;
    writeFileSync(file, flipped);
    await expect(importStores(file, target, { mode: 'refuse' })).rejects.toThrow('its checksum does not match');
    const compressed = await written('x.ndjson.gz');
    writeFileSync(compressed, readFileSync(compressed).subarray(0, -20));
    await expect(importStores(compressed, target, { mode: 'refuse' })).rejects.toThrow('cannot be read');
    await expect(importStores('/no/such/file', target, { mode: 'refuse' })).rejects.toThrow('cannot be read');
    expect((await target.storage.reader.lists(undefined, 1)).length).toBe(0);
    expect(existsSync('/no/such/file')).toBe(false);
  });

  test('is refused when a line is longer than the maximum text, however small the file is', async () => {
    const file = fileNamed('bomb.ndjson.gz');
    writeFileSync(file, gzipSync(Buffer.alloc(8_000_000)));
    await expect(checkExport(file, 1_000_000)).rejects.toThrow('is not an export: a line is too long');
    const last = await written('long.ndjson.gz');
    writeFileSync(last, gzipSync(Buffer.concat([gunzipSync(readFileSync(last)), Buffer.alloc(8_000_000)])));
    await expect(checkExport(last, 1_000_000)).rejects.toThrow('is not an export: a line is too long');
    expect((await checkExport(await written('fine.ndjson'), 1_000_000)).summary.lists).toBeGreaterThan(0);
  });

  test.each([
    ['{"id":"a","last_modified":-1,"data":{}}', 'not a timestamp'],
    ['{"id":"a","last_modified":1,"data":[]}', 'data is not an object'],
    ['{"id":"a","last_modified":1,"data":{}', 'not JSON'],
    ['{"id":"a","last_modified":1,"deleted":false}', 'neither data nor a tombstone'],
    ['{"id":"a","last_modified":1,"data":{"a": 1e400}}', 'out of range'],
    ['{"id":"a","last_modified":1,"data":{"a":}}', 'not JSON'],
    ['{"id":"a', 'not an entry'],
    ['{"permissionsOf":"/a","entries":{"read":[1]}}', 'not a list of texts'],
    ['{"list":{"kind":"a"}}', 'parent is not a text'],
    ['[]', 'not a JSON object'],
    ['{}', 'unknown line'],
  ])('with %s in it is refused with the line', async (line, complaint) => {
    const file = await written();
    rewrite(file, (lines) => lines.toSpliced(2, 0, line));
    const target = every.of('sqlite');
    await expect(importStores(file, target, { mode: 'empty' })).rejects.toThrow(new RegExp(`line 3: .*${complaint}`));
  });

  test('with other spellings of JSON is stored in the usual form', async () => {
    const file = await written();
    const target = every.of('sqlite');
    rewrite(file, () => [
      '{"coffer":"export","format":1,"software":"1","begun":"now"}',
      '{"list":{"kind":"record","parent":"/a","clock":9}}',
      '{"id":"\\u0061\\"","last_modified":3,"data":{ "n" : 1.10, "__proto__": [1] }}',
      '{"end":{"clock":9,"objects":1,"tombstones":0,"digest":"","isMoving":false}}',
      '{"summary":{"lists":1,"objects":1,"tombstones":0,"permissions":0,"permissionsDigest":"","memberships":0,"membershipsDigest":"","moving":0}}',
    ]);
    expect((await importStores(file, target, { mode: 'empty' })).differences).toEqual([]);
    const found = await target.storage.reader.get({ kind: 'record', parent: storedParent('/a') }, 'a"');
    expect(found?.text).toBe('{"n":1.10,"__proto__":[1]}');
  });
});

test('digests of an export are those of a copy', async () => {
  const [source, target] = [every.of('memory'), every.of('sqlite')];
  await empty(source);
  await fill(source, sample(5));
  const { permissionsDigest } = await exportStores(source, fileNamed('x.ndjson'));
  const { parts } = await copyBetween(source, target, { mode: 'empty' });
  expect(parts.find(({ name }) => name === 'permissions')?.target.digest).toBe(permissionsDigest);
});
