// `coffer create-user` against a service that runs on the same data.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { run, start, workingFolder, type Outcome, type Place } from './process.ts';

const config = [
  '[app:main]',
  'storage_backend = sqlite',
  'storage_url = data/coffer.sqlite3',
  'permission_backend = sqlite',
  'permission_url = data/coffer.sqlite3',
  'userid_hmac_secret = secret for tests',
  'multiauth.policies = account',
  'includes = accounts',
  'account_hash_cost = 10',
];

function configured(more: readonly string[] = []): Place {
  const cwd = workingFolder();
  writeFileSync(join(cwd, 'coffer.ini'), [...config, ...more, ''].join('\n'));
  return { cwd };
}

function createUser(place: Place, args: readonly string[] = [], input = ''): Promise<Outcome> {
  return run(['create-user', ...args], { ...place, input });
}

async function logIn(url: string, user: string, password: string): Promise<number> {
  const authorization = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
  const response = await fetch(`${url}accounts/${user}`, { headers: { authorization } });
  await response.text();
  return response.status;
}

describe('coffer create-user', () => {
  test('creates an account that can log in, and replaces it so that its old password ends at once.', async () => {
    const place = configured();
    const { url } = await start([], place);
    expect(await createUser(place, ['-u', 'zoe', '-p', 'first'])).toEqual({
      code: 0,
      out: 'The account zoe is ready.\n',
      err: '',
    });
    expect(await logIn(url, 'zoe', 'first')).toBe(200);
    expect((await createUser(place, ['--username', 'zoe', '--password', 'second', '--quiet'])).out).toBe('');
    expect(await logIn(url, 'zoe', 'first')).toBe(401);
    expect(await logIn(url, 'zoe', 'second')).toBe(200);
  });

  test('reads values without options from its input, and never prints the password.', async () => {
    const place = configured();
    const { url } = await start([], place);
    expect(await createUser(place, ['-u', 'zoe'], 'from a file\n')).toMatchObject({ code: 0, err: '' });
    expect(await logIn(url, 'zoe', 'from a file')).toBe(200);
    const answers = '-bad\nann\nonce\nother\ntwice\ntwice\n';
    const { code, out, err } = await createUser(place, [], answers);
    expect([code, out]).toEqual([0, 'The account ann is ready.\n']);
    expect(err).toContain('"-bad" is not a valid name');
    expect(err).toContain('differ');
    expect(out + err).not.toMatch(/once|twice/);
    expect(await logIn(url, 'ann', 'twice')).toBe(200);
  });

  test('asks again for an invalid name, until the input ends.', async () => {
    const place = configured();
    for (const [args, input] of [
      [['-u', 'not a name', '-p', 'x'], ''],
      [[], ''],
      [['-u', 'zoe'], ''],
      [['-u', 'zoe'], '\n\n'],
    ] as const) {
      expect(await createUser(place, args, input)).toMatchObject({ code: 53, out: '' });
    }
  });

  test('changes nothing in read-only mode, or without the plugin.', async () => {
    const user = ['-u', 'zoe', '-p', 'x'];
    expect(await createUser(configured(['readonly = true']), user)).toMatchObject({ code: 51 });
    const plain = { cwd: workingFolder() };
    expect(await createUser(plain, user)).toMatchObject({ code: 52, err: expect.stringContaining('accounts') });
  });
});
