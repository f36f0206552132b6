// `coffer copy` and `coffer purge-deleted --older-than` as operators run them, in processes that may be killed.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import type { OpenStores } from '../../src/contracts/open-backends.ts';
import { openStores } from '../../src/backends/open-backends.ts';
import { storedParent, storedUri } from '../../src/core/objects/uris.ts';
import { toPrincipal } from '../../src/core/permissions/principals.ts';
import { settingsOfUrl } from '../../src/transfer/copy/places.ts';
import { inUnit } from '../../src/maintenance/units.ts';
import { StoredObject, type ListKey, type StoredEntry } from '../../src/core/objects/stored.ts';
import { cloneDatabase, createDatabase } from '../support/postgresql.ts';
import { RedisProcess } from '../support/redis.ts';
import { run, workingFolder, type Outcome } from './process.ts';
import { inExtent } from '../support/extent.ts';

const program = fileURLToPath(new URL('../../bin/coffer.js', import.meta.url));

async function within<T>(url: string, work: (stores: OpenStores) => Promise<T>): Promise<T> {
  const stores = await openStores(settingsOfUrl(url), systemClock);
  try {
    for (const database of stores.databases) await database.initializeSchema({ dryRun: false });
    return await work(stores);
  } finally {
    await stores.close();
  }
}

const day = 86_400_000;

function entriesOf(count: number): readonly StoredEntry[] {
  return Array.from({ length: count }, (_, n) =>
    n % 5 === 0
      ? { id: `e${n}`, lastModified: n, deleted: true }
      : new StoredObject(`e${n}`, n, `{"n":${n},"text":"${'x'.repeat(300)}"}`),
  );
}

function listOf(n: number): ListKey {
  return { kind: 'record', parent: storedParent(`/buckets/a/collections/c${n}`) };
}

/** Some lists of some entries, and permissions on the objects of the first. */
function fill(url: string, lists: number, entries: number): Promise<void> {
  return within(url, ({ storage, permission }) =>
    inUnit(storage.database, async (transaction) => {
      const all = entriesOf(entries);
      for (let n = 0; n < lists; n++) {
        await storage.writer(transaction).restore(listOf(n), { clock: 2 ** 50 + n, entries: all });
      }
      const writer = permission.writer(transaction);
      for (const { id } of all)
        await writer.addPrincipalToAce(storedUri(`${listOf(0).parent}/records/${id}`), 'write', toPrincipal('zoe'));
      await writer.addUserPrincipal(toPrincipal('zoe'), toPrincipal('/buckets/a/groups/g'));
    }),
  );
}

async function postgresql(): Promise<string> {
  const { url, drop } = await cloneDatabase();
  onTestFinished(drop);
  return url;
}

describe('coffer copy', () => {
  test('copies from the current configuration to a new database, and verifies the copy.', async () => {
    const cwd = workingFolder();
    await fill(`sqlite://${join(cwd, 'data/coffer.sqlite3')}`, 3, 700);
    const url = await createDatabase();
    const { code, out, err } = await run(['copy', '--to', url, '--details'], { cwd });
    expect([code, out]).toEqual([0, expect.stringContaining('Source and target are equal.')]);
    expect(out).toMatch(/^record lists +3 +1,680 +420 +([0-9a-f]{20}) +\1 +same$/m);
    expect(out).toMatch(/^permissions +700 +([0-9a-f]{20}) +\1 +same$/m);
    expect(out).toMatch(/^[0-9a-f]{20} [0-9a-f]{20} +\/buckets\/a\/collections\/c2: record list, 560 objects/m);
    expect(err).toContain('objects: 2,100 in');
    const quiet = await run(['copy', '--to', url, '--verify-only', '--quiet'], { cwd });
    expect(quiet).toEqual({ code: 0, out: '', err: '' });
  });

  test('that is killed anywhere continues with --resume, and is then equal.', { timeout: 120_000 }, async () => {
    const cwd = workingFolder();
    const from = 'sqlite:from.sqlite3';
    await fill(`sqlite://${join(cwd, 'from.sqlite3')}`, 8, 2500);
    const redis = await RedisProcess.start();
    onTestFinished(() => redis.remove());
    const targets = [await postgresql(), `sqlite://${join(cwd, 'to.sqlite3')}`, redis.url];
    for (const to of inExtent(targets.slice(0, 1), targets)) {
      // So late in the work that there is something, and so early that most is missing.
      for (const share of [0.1, 0.3]) {
        const child = spawn(process.execPath, [program, 'copy', '--from', from, '--to', to, '--resume'], {
          cwd,
          env: { PATH: process.env['PATH'] },
          stdio: 'ignore',
        });
        const ended = once(child, 'exit');
        let isOver = false;
        void ended.then(() => (isOver = true));
        await within(to, async ({ storage }) => {
          const held = async (): Promise<number> =>
            (await storage.reader.lists(undefined, 100)).reduce((sum, { live, dead }) => sum + live + dead, 0);
          while (!isOver && (await held()) < 20_000 * share) await new Promise(setImmediate);
        });
        child.kill('SIGKILL');
        expect(await ended).toEqual([null, 'SIGKILL']);
        expect((await run(['copy', '--from', from, '--to', to, '--verify-only'], { cwd })).code).toBe(1);
      }
      const refused = await run(['copy', '--from', from, '--to', to], { cwd });
      expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('use --resume')]);
      const { code, out } = await run(['copy', '--from', from, '--to', to, '--resume'], { cwd });
      expect([code, out]).toEqual([0, expect.stringContaining('Source and target are equal.')]);
    }
  });

  test('accepts configuration files for either end, without the environment.', async () => {
    const cwd = workingFolder();
    await fill(`sqlite://${join(cwd, 'a.sqlite3')}`, 1, 10);
    for (const name of ['a', 'b']) {
      const lines = ['storage', 'permission'].map((kind) => {
        return `${kind}_backend = "sqlite"\n${kind}_url = "sqlite:${name}.sqlite3"\n`;
      });
      writeFileSync(join(cwd, `${name}.toml`), `${lines.join('')}userid_hmac_secret = "secret"\n`);
    }
    const args = ['copy', '--from-config', 'a.toml', '--to-config', 'b.toml'];
    const environment = { SVC_STORAGE_URL: 'sqlite:other.sqlite3' };
    const { code, err } = await run(args, { cwd, environment });
    expect([code, err]).toEqual([0, expect.stringContaining('a.sqlite3')]);
    expect(existsSync(join(cwd, 'other.sqlite3'))).toBe(false);
  });

  test('--verify-only exits with 1 and reports the differences.', async () => {
    const cwd = workingFolder();
    for (const [name, entries] of [
      ['a', 10],
      ['b', 11],
    ] as const) {
      await fill(`sqlite://${join(cwd, `${name}.sqlite3`)}`, 1, entries);
    }
    const args = ['copy', '--from', 'sqlite:a.sqlite3', '--to', 'sqlite:b.sqlite3', '--verify-only'];
    const { code, out, err } = await run(args, { cwd });
    expect(code).toBe(1);
    expect(out).toMatch(/^record lists +1 +8 +2 \/ 3 .* DIFFERENT$/m);
    expect(err).toContain('/buckets/a/collections/c0: record list: the source has 2 tombstones and the target 3');
  });

  test('--empty-target deletes the data of the target.', async () => {
    const cwd = workingFolder();
    const to = await postgresql();
    await fill(to, 2, 50);
    await fill(`sqlite://${join(cwd, 'a.sqlite3')}`, 1, 10);
    const { code, out } = await run(['copy', '--from', 'sqlite:a.sqlite3', '--to', to, '--empty-target'], { cwd });
    expect([code, out]).toEqual([0, expect.stringMatching(/^record lists +1 +8 +2 .* same$/m)]);
  });
});

describe('coffer copy reports the fault', () => {
  const from = ['--from', 'sqlite:a.sqlite3'];

  async function copy(...args: readonly string[]): Promise<Outcome> {
    const cwd = workingFolder();
    await fill(`sqlite://${join(cwd, 'a.sqlite3')}`, 1, 10);
    return run(['copy', ...args], { cwd });
  }

  test.each<[string, readonly string[], number, string]>([
    ['no target', from, 2, 'either --to or --to-config'],
    ['two targets', [...from, '--to', 'sqlite:b', '--to-config', 'b.ini'], 2, 'either --to or --to-config'],
    ['two sources', [...from, '--from-config', 'a.ini', '--to', 'sqlite:b'], 2, 'either --from or --from-config'],
    ['two intentions', [...from, '--to', 'sqlite:b', '--resume', '--verify-only'], 2, 'give only one of --resume'],
    ['a memory URL', [...from, '--to', 'memory:'], 1, 'memory cannot be copied'],
    ['an unknown kind of URL', [...from, '--to', 'mysql://me:hunter2@x/y'], 1, 'mysql://me:***@x/y cannot be copied'],
    ['a plain path', [...from, '--to', 'b.sqlite3'], 1, 'use sqlite:relative/file'],
    [
      'a source that is missing',
      ['--from', 'sqlite:none', '--to', 'sqlite:b'],
      1,
      'the source does not exist: no file',
    ],
    [
      'a target to compare with that is missing',
      [...from, '--to', 'sqlite:b', '--verify-only'],
      1,
      'target does not exist',
    ],
    [
      'a server that does not answer',
      [...from, '--to', 'postgresql://me:hunter2@127.0.0.1:1/x'],
      1,
      'the target, postgresql://me:***@127.0.0.1:1/x, cannot be used: PostgreSQL at 127.0.0.1:1: the server cannot be reached',
    ],
    [
      'a Redis server that does not answer',
      [...from, '--to', 'redis://:hunter2@127.0.0.1:1'],
      1,
      'the target, redis://127.0.0.1:1/0, keys coffer:*, cannot be used: Redis at 127.0.0.1:1: the server cannot be reached',
    ],
    ['a configuration that is missing', [...from, '--to-config', 'none.ini'], 1, 'the file does not exist'],
    ['one place twice', [...from, '--to', 'sqlite:./a.sqlite3'], 1, 'the same place'],
  ])('of %s.', async (_, args, expected, message) => {
    const { code, out, err } = await copy(...args);
    expect([code, out]).toEqual([expected, '']);
    expect(err).toContain(message);
    expect(err).not.toMatch(/hunter2|\n +at /);
  });

  test('of a source without tables.', async () => {
    const { code, err } = await copy('--from', await createDatabase(), '--to', 'sqlite:b.sqlite3');
    expect([code, err]).toEqual([1, expect.stringContaining('run `coffer migrate` there first')]);
  });
});

describe('coffer purge-deleted --older-than', () => {
  async function tombstones(cwd: string): Promise<void> {
    const now = Date.now();
    const ages = [0, 10, 29, 31, 400];
    await within(`sqlite://${join(cwd, 'data/coffer.sqlite3')}`, ({ storage }) =>
      inUnit(storage.database, async (transaction) => {
        for (const kind of ['record', 'group']) {
          const dead = ages.map((age) => ({ id: `d${age}`, lastModified: now - age * day, deleted: true }) as const);
          const entries = [new StoredObject('old', 1, '{}'), ...dead];
          await storage.writer(transaction).restore({ kind, parent: storedParent('/x') }, { clock: now, entries });
        }
      }),
    );
  }

  test('deletes older tombstones of some kinds or of all, never a live object.', async () => {
    const cwd = workingFolder();
    await tombstones(cwd);
    const purge = (...args: readonly string[]): Promise<Outcome> => run(['purge-deleted', ...args], { cwd });
    expect(await purge('--older-than', '30d', 'record')).toEqual({ code: 0, out: '2\n', err: '' });
    expect(await purge('--older-than', '30d')).toEqual({ code: 0, out: '2\n', err: '' });
    expect(await purge('group', '--older-than', '216h')).toEqual({ code: 0, out: '2\n', err: '' });
    expect(await purge('--older-than', '1971-01-01')).toEqual({ code: 0, out: '0\n', err: '' });
    const states = await within(`sqlite://${join(cwd, 'data/coffer.sqlite3')}`, ({ storage }) =>
      storage.reader.lists(undefined, 9),
    );
    expect(states.map(({ kind, live, dead }) => [kind, live, dead])).toEqual([
      ['group', 1, 1],
      ['record', 1, 3],
    ]);
  });

  test('refuses unknown kinds, and names the known ones.', async () => {
    const cwd = workingFolder();
    await tombstones(cwd);
    const { code, out, err } = await run(['purge-deleted', 'record', 'nosuchkind', '0'], { cwd });
    expect([code, out]).toEqual([1, '']);
    expect(err).toContain(
      'unknown kinds of objects: nosuchkind. Use account, bucket, collection, group, history, record.',
    );
    expect(await run(['purge-deleted', 'record', 'account', '5'], { cwd })).toEqual({ code: 0, out: '0\n', err: '' });
  });

  test.each([
    [['--older-than', '30', 'record'], 'an age such as 30d'],
    [['--older-than', 'soon'], 'an age such as 30d'],
    [['--older-than', '30d', 'record', '100'], 'not both'],
    [[], 'the number of tombstones'],
  ])('%j is refused with 2.', async (args, message) => {
    const { code, err } = await run(['purge-deleted', ...args], { cwd: workingFolder() });
    expect([code, err]).toEqual([2, expect.stringContaining(message)]);
  });
});
