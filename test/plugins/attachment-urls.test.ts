// Signed URLs of files: who gets one, what it gives access to, and when it expires.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Clock } from '../../src/base/clock.ts';
import type { Logger } from '../../src/contracts/logger.ts';
import { storedUri } from '../../src/core/objects/uris.ts';
import { createUrlSigner } from '../../src/plugins/attachments/signed-urls.ts';
import type { TestClient, TestService, TestServiceOptions } from '../../src/testing/index.ts';
import { FileFolder, upload } from '../support/attachments.ts';
import { forEachBackend } from '../support/backends.ts';

const record = '/v1/buckets/b/collections/c/records/r';

interface Signed {
  readonly url: string;
  readonly expires: number;
}

describe('The signature of a URL', () => {
  const file = { ownerUri: storedUri('/buckets/b/collections/c/records/r'), location: 'a.png', lastModified: 5 };
  const clock = { now: () => 1_800_000_000_000 };
  const signer = createUrlSigner({ secret: 'secret', lifetimeSeconds: 60, clock });
  const queryOf = (search: string): [string, string][] => [...new URLSearchParams(search)];

  it('is invalid with another secret, or with a longer lifetime than configured.', () => {
    const { search, expires } = signer.sign(file);
    expect(expires).toBe(1_800_000_060_000);
    expect(signer.verify(file, queryOf(search))).toBe(5);
    const other = createUrlSigner({ secret: 'another', lifetimeSeconds: 60, clock });
    expect(signer.verify(file, queryOf(other.sign(file).search))).toBeUndefined();
    const longer = createUrlSigner({ secret: 'secret', lifetimeSeconds: 61, clock });
    expect(signer.verify(file, queryOf(longer.sign(file).search))).toBeUndefined();
    expect(longer.verify(file, queryOf(search))).toBe(5);
  });

  it('is valid for one file of one record.', () => {
    const { search } = signer.sign(file);
    for (const other of [
      { ...file, location: 'b.png' },
      { ...file, ownerUri: storedUri('/buckets/b/collections/c/records/s') },
      { ownerUri: storedUri(`${file.ownerUri},`), location: file.location },
    ]) {
      expect(signer.verify(other, queryOf(search))).toBeUndefined();
    }
  });
});

forEachBackend((backend) => {
  describe(`Signed URLs of files on ${backend.name}`, () => {
    let folder: FileFolder;
    let service: TestService;
    let alice: TestClient;
    let location: string;
    let passedMs = 0;
    const clock: Clock = { now: () => Date.now() + passedMs };

    async function start(
      settings: Readonly<Record<string, string>> = {},
      options: Omit<TestServiceOptions, 'settings'> = {},
    ): Promise<void> {
      service = await backend.start({
        ...options,
        clock,
        settings: { includes: 'attachments default_bucket', 'attachment.base_path': folder.path, ...settings },
      });
      alice = service.asUser('alice');
      for (const path of ['/v1/buckets/b', '/v1/buckets/b/collections/c']) await alice.request('PUT', path);
      const { body } = await upload(alice, record.slice('/v1'.length), { content: 'hello' });
      ({ location } = body as { location: string });
    }

    async function restart(...given: Parameters<typeof start>): Promise<void> {
      await service.close();
      await start(...given);
    }

    beforeEach(async () => {
      passedMs = 0;
      folder = await FileFolder.create();
      await start();
    });
    afterEach(async () => {
      await service.close();
      await folder.remove();
    });

    async function sign(client: TestClient = alice, path = record): Promise<Signed> {
      const { status, body, headers } = await client.request('GET', `${path}/attachment/url`);
      expect([status, headers['cache-control']]).toEqual([200, 'no-cache, no-store']);
      return body as Signed;
    }

    const statusOf = async (path: string, client: TestClient = service): Promise<number> =>
      (await client.request('GET', path)).status;

    it('return the file without credentials, with headers that prevent leaks.', async () => {
      const { url, expires } = await sign();
      expect(url.startsWith(`${location}?expires=${expires}&version=`)).toBe(true);
      expect(await statusOf(location)).toBe(401);
      const answer = await service.request('GET', url);
      expect(answer).toMatchObject({
        status: 200,
        text: 'hello',
        headers: {
          'cache-control': 'private, no-cache',
          'referrer-policy': 'no-referrer',
          'x-content-type-options': 'nosniff',
        },
      });
      expect(answer.headers['content-disposition']).toMatch(/^attachment; /);
      expect(await service.request('HEAD', url)).toMatchObject({ status: 200, headers: { 'content-length': '5' } });
      const etag = answer.headers['etag']!;
      expect((await service.request('GET', url, { headers: { 'If-None-Match': etag } })).status).toBe(304);
      expect(await statusOf(url, service.asUser('bob'))).toBe(200);
    });

    it('are returned only to authenticated readers of the record.', async () => {
      const path = `${record}/attachment/url`;
      const bob = service.asUser('bob');
      expect([await statusOf(path), await statusOf(path, bob)]).toEqual([401, 403]);
      const unknown = '/v1/buckets/b/collections/c/records/none/attachment/url';
      expect([await statusOf(unknown), await statusOf(unknown, bob), await statusOf(unknown, alice)]).toEqual([
        401, 403, 404,
      ]);
      await alice.request('PATCH', record, { body: { permissions: { read: ['system.Everyone'] } } });
      expect([await statusOf(path), await statusOf(path, bob)]).toEqual([401, 200]);
      expect((await alice.request('POST', path, { body: {} })).status).toBe(405);
    });

    it('are returned in batches and for personal buckets.', async () => {
      const own = '/v1/buckets/default/collections/c/records/r';
      const { body } = await upload(alice, own.slice('/v1'.length), { content: 'mine' });
      const requests = [record, own].map((path) => ({ path: `${path}/attachment/url` }));
      const answer = await alice.request('POST', '/v1/batch', { body: { requests } });
      const { responses } = answer.body as { responses: { body: Signed }[] };
      const texts = [];
      for (const each of responses) texts.push((await service.request('GET', each.body.url)).text);
      expect(texts).toEqual(['hello', 'mine']);
      expect(responses[1]!.body.url).toContain((body as { location: string }).location);
    });

    it('expire.', async () => {
      const { url, expires } = await sign();
      expect(expires - clock.now()).toBeLessThanOrEqual(300_000);
      passedMs = 299_000;
      expect(await statusOf(url)).toBe(200);
      passedMs = 300_000;
      const answer = await service.request('GET', url);
      expect(answer).toMatchObject({ status: 403, body: { errno: 121, message: expect.stringContaining('expired') } });
      // Credentials do not help, because the signature decides alone.
      expect(await statusOf(url, alice)).toBe(403);
      expect(await statusOf(location, alice)).toBe(200);
    });

    it('become invalid when the file is replaced or removed, or the record deleted.', async () => {
      const first = await sign();
      await upload(alice, record.slice('/v1'.length), { content: 'new' });
      const second = await sign();
      expect([await statusOf(first.url), await statusOf(second.url)]).toEqual([404, 200]);
      await alice.request('DELETE', `${record}/attachment`);
      expect(await statusOf(second.url)).toBe(404);
      expect(await statusOf(`${record}/attachment/url`, alice)).toBe(404);
      await upload(alice, record.slice('/v1'.length), { content: 'newest' });
      const third = await sign();
      await alice.request('DELETE', '/v1/buckets/b');
      expect(await statusOf(third.url)).toBe(404);
    });

    it('are refused when the record has another file, even one with the same name.', async () => {
      await restart({ 'attachment.randomize': 'false' });
      const path = record.slice('/v1'.length);
      for (const remove of [`${record}/attachment`, record]) {
        const { url } = await sign();
        expect(await statusOf(url)).toBe(200);
        expect((await alice.request('DELETE', remove)).status).toBeLessThan(300);
        expect(await statusOf(url)).toBe(404);
        const { body } = await upload(alice, path, { content: 'secret' });
        expect(body).toMatchObject({ location });
        expect([await statusOf(url), await statusOf((await sign()).url)]).toEqual([404, 200]);
      }
    });

    it('stay valid when their requester loses permission.', async () => {
      await alice.request('PATCH', record, { body: { permissions: { read: ['system.Authenticated'] } } });
      const bob = service.asUser('bob');
      const { url } = await sign(bob);
      await alice.request('PATCH', record, { body: { permissions: { read: [] } } });
      expect([await statusOf(location, bob), await statusOf(url)]).toEqual([403, 200]);
      expect(await statusOf(`${record}/attachment/url`, bob)).toBe(403);
    });

    it('are refused in any other form.', async () => {
      const { url, expires } = await sign();
      const [path = '', search = ''] = url.split('?');
      const parameters = new URLSearchParams(search);
      const version = parameters.get('version');
      const signature = parameters.get('signature')!;
      const other = `${record}2`;
      const { body } = await upload(alice, other.slice('/v1'.length), { content: 'other' });
      const { location: otherPath } = body as { location: string };
      const flipped = (signature.startsWith('A') ? 'B' : 'A') + signature.slice(1);
      // The last character has bits that decoders ignore.
      const last = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'.indexOf(signature.at(-1)!);
      const sibling = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'[last ^ 1]!;
      const searches = [
        `expires=${expires + 1}&version=${version}&signature=${signature}`,
        `expires=0${expires}&version=${version}&signature=${signature}`,
        `expires=${expires}.0&version=${version}&signature=${signature}`,
        `expires=9999999999999999&version=${version}&signature=${signature}`,
        `expires=&version=${version}&signature=${signature}`,
        `expires=${expires}&version=${Number(version) + 1}&signature=${signature}`,
        `expires=${expires}&version=0${version}&signature=${signature}`,
        `expires=${expires}&version=&signature=${signature}`,
        `expires=${expires}&signature=${signature}`,
        `version=${version}&signature=${signature}`,
        `expires=${expires}&version=${version}`,
        ...['', '%00', flipped, signature.slice(0, -1), signature.slice(0, -1) + sibling].map(
          (each) => `expires=${expires}&version=${version}&signature=${each}`,
        ),
        ...['AAAA', '=', '!!!', `&signature=${signature}`, `&expires=${expires}`, `&version=${version}`].map(
          (more) => `${search}${more}`,
        ),
      ];
      for (const each of searches) expect([each, await statusOf(`${path}?${each}`)]).toEqual([each, 403]);
      expect(await statusOf(`${otherPath}?${search}`)).toBe(403);
      expect(await statusOf(`${path}/x?${search}`)).toBe(403);
      // Additional parameters are ignored.
      expect(await statusOf(`${url}&cache=1`)).toBe(200);
    });

    it('are disabled by the settings, without a secret, and with another file server.', async () => {
      const capability = async (): Promise<object> => {
        const { body } = await service.request('GET', '/v1/');
        return (body as { capabilities: { attachments: object } }).capabilities.attachments;
      };
      expect(await capability()).toMatchObject({ url_lifetime_seconds: 300 });
      const offs = [{ 'attachment.url_lifetime_seconds': '0' }, { 'attachment.base_url': 'https://cdn.example.org/' }];
      for (const off of offs) {
        await restart(off);
        expect(await capability()).not.toHaveProperty('url_lifetime_seconds');
        expect(await statusOf(`${record}/attachment/url`, alice)).toBe(404);
      }
      await restart({ 'attachment.url_lifetime_seconds': '0' });
      expect(await statusOf(`${location}?expires=9999999999999&signature=x`)).toBe(401);
    });

    it('leave no signature in the log.', async () => {
      const lines: unknown[] = [];
      const note = (...given: unknown[]): void => void lines.push(...given);
      const logger: Logger = { debug: note, info: note, warn: note, error: note };
      await restart({}, { logger });
      const { url } = await sign();
      expect(await statusOf(url)).toBe(200);
      const text = JSON.stringify(lines);
      expect(text).toContain('signature=[removed]');
      expect(text).not.toContain(url.split('signature=')[1]!);
    });
  });
});
