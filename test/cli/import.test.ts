// `coffer import kinto` as operators run it: against a server in this process, into files, killed and gone on with.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestService, type TestService } from '../../src/testing/index.ts';
import { startOddServer } from '../transfer/import/odd-source.ts';
import { answersOf, fillSource } from '../transfer/import/source-data.ts';
import { run, workingFolder, type Outcome } from './process.ts';

const program = fileURLToPath(new URL('../../bin/coffer.js', import.meta.url));
const secret = { userid_hmac_secret: 'secret for tests', includes: 'default_bucket' };

let source: TestService;

beforeAll(async () => {
  source = await startTestService({ settings: secret });
  await fillSource(source);
});

afterAll(() => source.close());

/** A folder with a configuration on a file of its own. */
function folderWithConfig(): string {
  const cwd = workingFolder();
  const lines = ['[app:main]', 'userid_hmac_secret = secret for tests', 'includes = default_bucket'];
  for (const kind of ['storage', 'permission'])
    lines.push(`${kind}_backend = sqlite`, `${kind}_url = %(here)s/own.sqlite3`);
  writeFileSync(join(cwd, 'coffer.ini'), lines.join('\n'));
  return cwd;
}

function importArgs(...args: string[]): string[] {
  return ['import', 'kinto', '--from', `${source.origin}/v1`, '--auth', 'alice:secret of alice', ...args];
}

async function seenIn(cwd: string): Promise<ReadonlyMap<string, unknown>> {
  const file = join(cwd, 'own.sqlite3');
  const places = { storage_backend: 'sqlite', storage_url: file, permission_backend: 'sqlite', permission_url: file };
  const service = await startTestService({ settings: { ...secret, ...places } });
  try {
    return await answersOf(service, 'alice');
  } finally {
    await service.close();
  }
}

test('A dry run lists the contents of the source and writes nothing.', async () => {
  const cwd = folderWithConfig();
  const { code, out } = await run(importArgs('--dry-run'), { cwd });
  expect(code).toBe(0);
  expect(out).toContain('/buckets/shop: 8 collections, 44 records, 1 groups\n');
  expect(out).toContain('3 buckets\n');
  expect((await run(importArgs('--verify-only'), { cwd })).err).toContain('the target does not exist');
});

test('It prints the comparison, lists objects without permissions, and exits with 1 unless these are accepted.', async () => {
  const cwd = folderWithConfig();
  const first = await run(importArgs('--report', 'left.txt'), { cwd });
  expect(statSync(join(cwd, 'left.txt')).mode & 0o777).toBe(0o600);
  expect(first.err).toContain('/buckets/blog/collections/c2/records/of-bob: the source does not show its permissions');
  expect(first.err).toContain('imported without permissions: 1 objects');
  expect(first.out).toMatch(/^record lists +24 +\d+ +24 +([0-9a-f]{20}) +\1 +same$/m);
  expect(first.code).toBe(1);
  expect(readFileSync(join(cwd, 'left.txt'), 'utf8')).toMatch(
    /^\/buckets\/blog\/collections\/c2\/records\/of-bob: .*\n$/,
  );
  expect((await run(importArgs(), { cwd })).err).toContain('use --resume');
  const again = await run(importArgs('--resume', '--accept-unseen', '--quiet'), { cwd });
  expect([again.code, again.out]).toEqual([0, '']);
  expect(await seenIn(cwd)).toEqual(await answersOf(source, 'alice'));
});

test('A killed import continues where it stopped.', async () => {
  const cwd = folderWithConfig();
  const child = spawn(process.execPath, [program, ...importArgs('--details', '--concurrency', '1')], {
    cwd,
    env: { PATH: process.env['PATH'] },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let lines = 0;
  for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
    lines += chunk.toString().split('\n').length - 1;
    // Buckets, groups and collections are there, and some of the records.
    if (lines >= 10 && child.kill('SIGKILL')) break;
  }
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  expect(child.signalCode).toBe('SIGKILL');
  const { code } = await run(importArgs('--resume', '--accept-unseen'), { cwd });
  expect(code).toBe(0);
  expect(await seenIn(cwd)).toEqual(await answersOf(source, 'alice'));
});

test('Control characters of the source are escaped, on the terminal and in the report.', async () => {
  const escape = '\u001b]0;owned\u0007\u001b[2J\u202e';
  const escaped = String.raw`\u001b]0;owned\u0007\u001b[2J\u202e`;
  const bucket = JSON.stringify({ id: `a${escape}\nb`, last_modified: 1000 });
  const odd = await startOddServer({
    lists: { buckets: { entries: [bucket] } },
    root: { project_name: escape, project_version: '1\nFrom elsewhere' },
  });
  const refusing = await startOddServer({
    lists: { buckets: { entries: [] } },
    interfere: ({ method, url }) =>
      method === 'HEAD' || url.pathname === '/v1/' ? true : { status: 403, text: `{"message":"no\n${escape}"}` },
  });
  try {
    const cwd = folderWithConfig();
    const named = await run(['import', 'kinto', '--from', odd.root.href, '--report', 'left.txt'], { cwd });
    expect(named.err).toContain(`From ${escaped} 1${String.raw`\u000a`}From elsewhere as an anonymous caller\n`);
    expect(named.err).toContain(`/buckets/a${escaped}${String.raw`\u000a`}b cannot be stored: its id`);
    expect(readFileSync(join(cwd, 'left.txt'), 'utf8')).toContain(`/buckets/a${escaped}${String.raw`\u000a`}b cannot`);
    const refused = await run(['import', 'kinto', '--from', refusing.root.href, '--resume'], { cwd });
    expect(refused.err).toContain(`the source responded 403 (no ${escaped})`);
    for (const { out, err } of [named, refused]) expect(out + err).not.toMatch(/[^\P{Cc}\n]|\u202e/u);
  } finally {
    await odd.close();
    await refusing.close();
  }
});

describe('Each fault has its message and exit code:', () => {
  const from = (...args: string[]): Promise<Outcome> => run(['import', 'kinto', ...args], { cwd: folderWithConfig() });

  test.each([
    [[], 2, "required option '--from <url>'"],
    [['--from', 'kinto.example.org'], 2, 'must be the root of an API'],
    [['--from', 'http://a:b@kinto.example.org/v1'], 2, 'use --auth'],
    [['--from', 'http://127.0.0.1:1/v1', '--auth', 'alice'], 2, '--auth must be user:password'],
    [['--from', 'http://127.0.0.1:1/v1', '--auth', 'a:b', '--bearer', 'c'], 2, 'either --auth or --bearer'],
    [['--from', 'http://127.0.0.1:1/v1', '--header', 'nothing'], 2, '--header must be "Name: value"'],
    [['--from', 'http://127.0.0.1:1/v1', '--concurrency', '0'], 2, 'a number from 1 to 64'],
    [['--from', 'http://127.0.0.1:1/v1', '--resume', '--dry-run'], 2, 'give only one of --resume'],
    [['--from', 'http://127.0.0.1:1/v1', '--to-config', 'none.ini'], 1, 'none.ini'],
  ])('%j', async (args, expected, message) => {
    const { code, err } = await from(...args);
    expect([code, err]).toEqual([expected, expect.stringContaining(message)]);
  });
});
