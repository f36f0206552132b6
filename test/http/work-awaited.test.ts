// Slow work of requests: it is done while they hold no locks, also in the middle of a batch.
import { describe, expect, it } from 'vitest';
import type { ResourceKind } from '../../src/engine/kind.ts';
import { WorkAwaited } from '../../src/engine/work-ahead.ts';
import { errorResponse } from '../../src/http/errors.ts';
import { definePlugin, type Plugin } from '../../src/http/plugin.ts';
import { forEachBackend } from '../support/backends.ts';

interface SlowKind {
  readonly plugin: Plugin;
  /** Resolves when the work of a write has begun. */
  readonly begun: Promise<void>;
  /** Lets all work end. */
  readonly end: () => void;
  /** Number of times that work was done, and that writes have begun. */
  readonly count: () => { readonly work: number; readonly writes: number };
}

/** Objects whose writes need work that takes until the test ends it. */
function slowKind(): SlowKind {
  let begin = (): void => {};
  let end = (): void => {};
  let count = 0;
  let writes = 0;
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const work = async (): Promise<number> => {
    begin();
    await ended;
    return ++count;
  };
  const kind: ResourceKind = {
    name: 'slow',
    path: '/slow',
    flavour: 'shareable',
    idGenerator: 'NameGenerator',
    defaultPrincipals: { create: ['system.Authenticated'] },
    beforeWrite: async ({ unit, attributes }) => {
      writes++;
      return { ...attributes, result: await unit.ahead('work', work) };
    },
  };
  return {
    plugin: definePlugin({ name: 'slow', setup: () => ({ kinds: [kind] }) }),
    begun,
    end: () => end(),
    count: () => ({ work: count, writes }),
  };
}

forEachBackend((backend) => {
  describe(`slow work in a batch on ${backend.name}`, () => {
    it('lets others write to the lists of the batch, and is done once for each entry', async () => {
      const slow = slowKind();
      const service = await backend.start({ plugins: [slow.plugin] });
      try {
        const alice = service.asUser('alice');
        await alice.request('PUT', '/v1/buckets/b');
        await alice.request('PUT', '/v1/buckets/b/collections/c');
        const put = (path: string, by: string): object => ({ method: 'PUT', path, body: { data: { by } } });
        const records = '/buckets/b/collections/c/records';
        const requests = [
          put(`${records}/x`, 'batch'),
          put('/slow/a', ''),
          put(`${records}/y`, ''),
          put('/slow/b', ''),
        ];
        const batch = alice.request('POST', '/v1/batch', { body: { requests } });
        await slow.begun;
        let isWritten = false;
        const other = alice.request('PUT', `/v1${records}/x`, { body: { data: { by: 'another' } } });
        const written = other.finally(() => {
          isWritten = true;
        });
        // With locks that are held, it would not be written before the work ends.
        for (let n = 0; n < 1000 && !isWritten; n++) await service.request('GET', '/v1/__lbheartbeat__');
        expect(isWritten).toBe(true);
        expect((await written).status).toBe(201);
        slow.end();
        const { responses } = (await batch).body as { readonly responses: readonly { readonly status: number }[] };
        expect(responses.map(({ status }) => status)).toEqual([200, 201, 201, 201]);
        const { body } = await alice.request('GET', '/v1/slow?_sort=id');
        expect(body).toMatchObject({
          data: [
            { id: 'a', result: 1 },
            { id: 'b', result: 2 },
          ],
        });
        // The batch runs again once, however many entries need work.
        expect(slow.count()).toEqual({ work: 2, writes: 4 });
        expect((await alice.request('GET', `/v1${records}/x`)).body).toMatchObject({ data: { by: 'batch' } });
      } finally {
        slow.end();
        await service.close();
      }
    });
  });
});

it('work that would be awaited after the response has begun, such as in a long poll, is refused', () => {
  const logger = { debug: fail, info: fail, warn: fail, error: fail };
  const options = {
    retryAfterSeconds: 3,
    infoLink: undefined,
    infoAll: false,
    notAcceptableStatus: 406,
    challenges: [],
  } as const;
  const { status, headers } = errorResponse(new WorkAwaited(() => undefined), 'r', options, logger);
  expect(status).toBe(503);
  expect(headers['Retry-After']).toBe('3');
});

function fail(): never {
  throw new Error('nothing is to be logged');
}
