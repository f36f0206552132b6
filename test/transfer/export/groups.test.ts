// Memberships after an import are those of the members of the imported groups, on every backend and whatever the file says.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { callbackify } from 'node:util';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { OpenStores } from '../../../src/contracts/open-backends.ts';
import { formatAttributes, StoredObject, type StoredEntry } from '../../../src/core/objects/stored.ts';
import { storedParent } from '../../../src/core/objects/uris.ts';
import { toPrincipal } from '../../../src/core/permissions/principals.ts';
import { inUnit } from '../../../src/maintenance/units.ts';
import { walkMemberships } from '../../../src/maintenance/walk.ts';
import { exportStores, importStores } from '../../../src/transfer/export/export.ts';
import { formatEntryLine } from '../../../src/transfer/export/lines.ts';
import { backends, empty, EveryStore } from '../copy/every-store.ts';
import { end, fileOf, head } from './file-of-lines.ts';

let every: EveryStore;

beforeAll(async () => {
  every = await EveryStore.open();
}, 120_000);

afterAll(() => every.close());

const groups = { kind: 'group', parent: storedParent('/buckets/b') };
const records = { kind: 'record', parent: storedParent('/buckets/b/collections/c') };

const groupOf = (id: string, lastModified: number, members: readonly unknown[]): StoredEntry =>
  new StoredObject(id, lastModified, JSON.stringify({ members }));

/** The users of a store with their principals, both in alphabetical order. */
async function membershipsOf({ permission }: OpenStores): Promise<Readonly<Record<string, readonly string[]>>> {
  const found: [string, readonly string[]][] = [];
  for await (const page of walkMemberships(permission.reader)) {
    for (const { userId, principals } of page) found.push([userId, principals.toSorted()]);
  }
  return Object.fromEntries(found.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** Sets the members of the group g, which had others, as a request does. */
async function setMembers(stores: OpenStores, before: readonly string[], after: readonly string[]): Promise<void> {
  await inUnit(stores.storage.database, async (transaction) => {
    const writer = stores.permission.writer(transaction);
    const uri = toPrincipal('/buckets/b/groups/g');
    for (const member of before) await writer.removeUserPrincipal(toPrincipal(member), uri);
    for (const member of after) await writer.addUserPrincipal(toPrincipal(member), uri);
    await stores.storage.writer(transaction).update(groups, 'g', formatAttributes({ members: [...after] }));
  });
}

/** Exports a store whose group g changes its members from one list to another after the groups were written. */
async function exportWhileWritten(before: readonly string[], after: readonly string[]): Promise<string> {
  const source = every.of('memory');
  await empty(source);
  const long = Array.from({ length: 3000 }, (_, n) => new StoredObject(`r${n}`, n, `{"a":"${'x'.repeat(200)}"}`));
  await inUnit(source.storage.database, async (transaction) => {
    const writer = source.storage.writer(transaction);
    await writer.restore(groups, { clock: 5, entries: [groupOf('g', 5, [])] });
    await writer.restore(records, { clock: 5000, entries: long });
  });
  await setMembers(source, [], before);
  const chunks: Buffer[] = [];
  const reader = new Writable({
    highWaterMark: 1,
    write: callbackify(async (chunk: Buffer, _encoding: BufferEncoding): Promise<void> => {
      // The first chunk ends in the records, behind the groups.
      if (chunks.push(chunk) === 1) await setMembers(source, before, after);
    }),
  });
  await exportStores(source, reader);
  const folder = mkdtempSync(join(tmpdir(), 'coffer-groups-'));
  onTestFinished(() => {
    rmSync(folder, { recursive: true });
  });
  const file = join(folder, 'x.ndjson');
  writeFileSync(file, Buffer.concat(chunks));
  return file;
}

describe.each(backends)('with %s', (backend) => {
  test.each([
    ['loses a member', ['amy', 'bob'], ['amy']],
    ['gets a member', ['amy'], ['amy', 'bob']],
  ])('a group that %s during the export has the members of the file', async (_what, before, after) => {
    const [file, target] = [await exportWhileWritten(before, after), every.of(backend)];
    const { differences } = await importStores(file, target, { mode: 'empty', verifies: true });
    expect(differences).toEqual([]);
    const members = before.map((member) => [member, ['/buckets/b/groups/g']] as const);
    expect(await membershipsOf(target)).toEqual(Object.fromEntries(members));
  });

  test('memberships of a file count only for principals that are not groups', async () => {
    const target = every.of(backend);
    const many = Array.from({ length: 2500 }, (_, n) => `user${n}`);
    const lines = [
      head(groups),
      ...[
        groupOf('g', 1, ['amy', 'amy', 'system.Everyone', '', 5, '/buckets/b/groups/h', 'system.Authenticated']),
        groupOf('gone', 2, ['amy']),
        groupOf('many', 3, many),
        { id: 'gone', lastModified: 4, deleted: true } as const,
      ].map((entry) => formatEntryLine(entry).trimEnd()),
      end(),
      '{"principalsOf":"amy","principals":["/buckets/b/groups/gone","/teams/t"]}',
      '{"principalsOf":"bob","principals":["/buckets/b/groups/g","/buckets/b/groups/missing"]}',
    ];
    expect((await importStores(fileOf(lines), target, { mode: 'empty' })).differences).toEqual([]);
    expect(await membershipsOf(target)).toEqual({
      amy: ['/buckets/b/groups/g', '/teams/t'],
      'system.Authenticated': ['/buckets/b/groups/g'],
      ...Object.fromEntries(many.map((user) => [user, ['/buckets/b/groups/many']])),
    });
  });

  test('of two occurrences of a group, far from each other, the last one has the members', async () => {
    const target = every.of(backend);
    const others = Array.from(
      { length: 10_001 },
      (_, n) => ({ id: `t${n}`, lastModified: n + 10, deleted: true }) as const,
    );
    const entries = [groupOf('g', 1, ['amy', 'bob']), groupOf('h', 2, ['amy']), ...others];
    const last = [groupOf('g', 30_000, ['bob', 'zoe']), { id: 'h', lastModified: 30_001, deleted: true } as const];
    const lines = [...entries, ...last].map((entry) => formatEntryLine(entry).trimEnd());
    await importStores(fileOf([head(groups), ...lines, end({ clock: 30_001 })]), target, { mode: 'empty' });
    expect(await membershipsOf(target)).toEqual({ bob: ['/buckets/b/groups/g'], zoe: ['/buckets/b/groups/g'] });
  }, 60_000);

  test('a membership that differs from its group is noticed, and corrected by --resume', async () => {
    if (backend === 'memory') return;
    const [source, target] = [every.of('memory'), every.of(backend)];
    const file = await exportWhileWritten(['amy'], ['amy']);
    expect(readFileSync(file, 'utf8')).not.toContain('principalsOf');
    expect(await membershipsOf(source)).toEqual({ amy: ['/buckets/b/groups/g'] });
    const [amy, bob, zoe] = ['amy', 'bob', 'zoe'].map(toPrincipal);
    await importStores(file, target, { mode: 'empty' });
    const change = (work: 'addUserPrincipal' | 'removeUserPrincipal', user: typeof amy, group: string): Promise<void> =>
      inUnit(target.permission.database, (transaction) =>
        target.permission.writer(transaction)[work](user!, toPrincipal(group)),
      );
    const faults = [
      ['removeUserPrincipal', amy, '/buckets/b/groups/g'],
      ['addUserPrincipal', bob, '/buckets/b/groups/g'],
      ['addUserPrincipal', zoe, '/buckets/b/groups/missing'],
    ] as const;
    for (const [work, user, group] of faults) {
      await change(work, user, group);
      expect((await importStores(file, target, { mode: 'verify' })).differences).toEqual([
        'the memberships differ from the members of the groups',
      ]);
      expect((await importStores(file, target, { mode: 'resume', verifies: true })).differences).toEqual([]);
      expect(await membershipsOf(target)).toEqual({ amy: ['/buckets/b/groups/g'] });
    }
    await change('addUserPrincipal', amy, '/teams/t');
    expect((await importStores(file, target, { mode: 'verify' })).differences).toEqual(['the memberships differ']);
  }, 60_000);
});
