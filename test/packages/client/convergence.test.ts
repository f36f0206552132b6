// Random histories with interruptions: copies that follow a list equal what the list holds in the end.
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { basic, Coffer, type Collection } from '../../../packages/client/src/index.ts';
import type { TestService } from '../../../src/testing/index.ts';
import { allBackends } from '../../support/backends.ts';
import { FaultyProxy } from './faulty-proxy.ts';
import { Follower } from './follower.ts';

interface Note {
  readonly n: number;
}

type Step =
  | { readonly kind: 'put' | 'patch'; readonly id: number; readonly n: number }
  | { readonly kind: 'delete'; readonly id: number }
  | { readonly kind: 'batch'; readonly ids: readonly number[]; readonly n: number }
  | { readonly kind: 'cut' | 'lose' | 'busy' | 'follow' | 'leave' };

const id = fc.nat({ max: 5 });
const n = fc.nat({ max: 9 });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constantFrom('put' as const, 'patch' as const), id, n }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('delete' as const), id }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('batch' as const), ids: fc.array(id, { maxLength: 8 }), n }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('cut', 'lose', 'busy', 'follow', 'leave') }) },
);
const numRuns = process.env['COFFER_TESTS'] === 'short' ? 4 : 40;
const used = allBackends.filter(({ name }) => ['memory', 'sqlite', 'postgresql'].includes(name));

describe.each([...used])('Copies of a list on $name', ({ start }) => {
  let service: TestService;
  let direct: Coffer;
  let runs = 0;

  beforeAll(async () => {
    service = await start();
    direct = new Coffer(service.origin, { auth: basic('ann', 'secret') });
    await direct.buckets.create({ id: 'b' });
  });
  afterAll(() => service.close());

  it('equal the list after random changes and interruptions', async () => {
    const history = fc.array(step, { minLength: 5, maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(history, async (steps) => {
        const proxy = await FaultyProxy.start(service.origin);
        const coffer = new Coffer(proxy.origin, { auth: basic('ann', 'secret'), maxPauseMs: 10 });
        runs += 1;
        const name = `c${runs}`;
        await direct.bucket('b').collections.create({ id: name });
        const notes = coffer.bucket('b').collection<Note>(name);
        const filter = { n: { $lt: 5 } };
        const followers = [new Follower(notes.live()), new Follower(notes.live({ filter, buffer: 2 }))];
        const polling = new Follower(notes.live({ transport: 'poll', filter }));
        try {
          for (const each of steps) await perform(each, notes, proxy, coffer, followers);
          const expected = await direct.bucket('b').collection<Note>(name).list().all();
          const matching = expected.data.filter((note) => note.n < 5);
          const isComplete = ({ last }: Follower<Note>): boolean => Number(last!.cursor) >= Number(expected.etag);
          const sorted = ({ copy }: Follower<Note>): object[] =>
            [...copy.values()].toSorted((a, b) => b.last_modified - a.last_modified);
          for (const follower of [...followers, polling]) await follower.until(isComplete);
          for (const follower of [followers[1]!, polling]) expect(sorted(follower)).toEqual(matching);
          for (const follower of [followers[0]!, ...followers.slice(2)])
            expect(sorted(follower)).toEqual(expected.data);
        } finally {
          await Promise.all([...followers, polling].map((follower) => follower.stop()));
          await proxy.close();
        }
      }),
      { numRuns, endOnFailure: true },
    );
  });
});

/** Executes a step. Writes succeed whatever happens to their requests. */
async function perform(
  each: Step,
  notes: Collection<Note>,
  proxy: FaultyProxy,
  coffer: Coffer,
  followers: Follower<Note>[],
): Promise<void> {
  const ignoreMissing = (error: unknown): void => {
    expect(error).toMatchObject({ status: 404 });
  };
  switch (each.kind) {
    case 'put':
      await notes.put(`n${each.id}`, { n: each.n });
      break;
    case 'patch':
      await notes.patch(`n${each.id}`, { n: each.n }).catch(ignoreMissing);
      break;
    case 'delete':
      await notes.delete(`n${each.id}`).catch(ignoreMissing);
      break;
    case 'batch':
      await coffer.batch((root) => {
        const list = root.list<Note>(notes.path);
        return each.ids.map((number, place) =>
          place % 3 === 2 ? list.delete(`n${number}`) : list.put(`n${number}`, { n: each.n }),
        );
      });
      break;
    case 'cut':
      proxy.cutAll();
      break;
    case 'lose':
    case 'busy': {
      // The next write is affected; streams and polls are not.
      const fault = each.kind === 'lose' ? 'lose' : ({ status: 503, headers: { 'Retry-After': '0' } } as const);
      let isPlanted = true;
      proxy.rule = ({ method }) => {
        if (method === 'GET' || !isPlanted) return undefined;
        isPlanted = false;
        return fault;
      };
      break;
    }
    case 'follow':
      followers.push(new Follower(notes.live({ shared: followers.length % 2 === 0 })));
      break;
    case 'leave':
      if (followers.length > 2) await followers.pop()!.stop();
      break;
  }
}
