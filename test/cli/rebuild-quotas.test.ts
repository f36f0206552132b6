// `coffer rebuild-quotas`, on a store that a service without quotas has filled.
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { startTestService } from '../../src/testing/index.ts';
import { run, workingFolder, type Outcome } from './process.ts';

async function fill(file: string, settings: Record<string, string> = {}): Promise<void> {
  const backends = ['storage', 'permission', 'cache'].flatMap((kind) => [
    [`${kind}_backend`, 'sqlite'],
    [`${kind}_url`, file],
  ]);
  const service = await startTestService({ settings: { ...Object.fromEntries(backends), ...settings } });
  const alice = service.asUser('alice');
  for (const path of ['blog', 'blog/collections/articles', 'blog/collections/comments', 'shop', 'shop/groups/g']) {
    await alice.request('PUT', `/v1/buckets/${path}`);
  }
  for (let n = 0; n < 3; n++) await alice.request('POST', '/v1/buckets/blog/collections/articles/records');
  await service.close();
}

describe('coffer rebuild-quotas', () => {
  test('counts the contents, after a dry run lists the changes.', async () => {
    const cwd = workingFolder();
    const file = join(cwd, 'store.sqlite3');
    await fill(file);
    const environment = {
      SVC_INCLUDES: 'quotas',
      SVC_STORAGE_BACKEND: 'sqlite',
      SVC_PERMISSION_BACKEND: 'sqlite',
      SVC_STORAGE_URL: file,
      SVC_PERMISSION_URL: file,
      SVC_USERID_HMAC_SECRET: 'secret for tests',
    };
    const rebuild = (args: readonly string[] = [], more: Record<string, string> = {}): Promise<Outcome> =>
      run(['rebuild-quotas', ...args], { cwd, environment: { ...environment, ...more } });
    const dry = await rebuild(['--dry-run']);
    expect(dry.out.split('\n')).toEqual([
      expect.stringMatching(/^\/buckets\/shop: 0 records, \d+ bytes \(not counted before\)$/),
      expect.stringMatching(/^\/buckets\/blog: 3 records, \d+ bytes \(not counted before\)$/),
      expect.stringMatching(/^\/buckets\/blog\/collections\/comments: 0 records, \d+ bytes/),
      expect.stringMatching(/^\/buckets\/blog\/collections\/articles: 3 records, \d+ bytes/),
      '4 counters would be corrected.',
      '',
    ]);
    expect(dry.err).toContain('objects: 6 in ');
    const done = await rebuild();
    expect(done.out).toBe(dry.out.replace('would be', 'were'));
    expect(await rebuild()).toMatchObject({ code: 0, out: 'All counters are correct.\n' });
    expect(await rebuild(['--quiet'])).toEqual({ code: 0, out: '', err: '' });

    const remove = ['delete-collection', '--bucket', 'blog', '--collection', 'articles'];
    expect((await run(remove, { cwd, environment })).code).toBe(0);
    expect((await run(remove, { cwd, environment })).code).toBe(33);
    expect(await rebuild()).toMatchObject({ code: 0, out: 'All counters are correct.\n' });

    await fill(file);
    const wrong = await rebuild();
    expect(wrong.out).toMatch(/blog: 3 records, \d+ bytes \(was 0 records, \d+ bytes\)/);
    expect(wrong.out).toMatch(/counters were corrected\.\n$/);

    expect(await rebuild([], { SVC_READONLY: 'true' })).toMatchObject({ code: 41, out: '' });
    expect(await rebuild([], { SVC_INCLUDES: 'history' })).toMatchObject({ code: 42, out: '' });
  });
});
