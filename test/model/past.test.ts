// What a collection was like at an instant, asked of the history, against what was written down at that instant: L22 of
// docs/promises.md.
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { forEachBackend } from '../support/backends.ts';
import type { Json } from './json.ts';
import { openSubject } from './subject.ts';

const seed = Number(process.env['COFFER_PROVE_SEED'] ?? String(Date.now() % 2 ** 31));
/** For each backend. */
const seconds = Number(process.env['COFFER_PROVE_SECONDS'] ?? '5') / 5;
const collection = '/buckets/b/collections/c';
const record = fc.constantFrom('r', 's', 't', 'r_').map((id) => `${collection}/records/${id}`);

interface Write {
  readonly method: string;
  readonly path: string;
  readonly body?: { readonly data: Readonly<Record<string, Json>> };
}

const write: fc.Arbitrary<Write> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc
      .tuple(fc.constantFrom('PUT', 'PUT', 'PATCH'), record, fc.nat(99))
      .map(([method, path, n]) => ({ method, path, body: { data: { n } } })),
  },
  { weight: 3, arbitrary: record.map((path) => ({ method: 'DELETE', path })) },
  { weight: 1, arbitrary: fc.constant({ method: 'DELETE', path: `${collection}/records` }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom({ method: 'DELETE', path: collection }, { method: 'PUT', path: collection }),
  },
);
/** Writes that are one request, and the milliseconds before it. */
const steps = fc.array(fc.tuple(fc.integer({ min: 1, max: 3 }), fc.array(write, { minLength: 1, maxLength: 4 })), {
  minLength: 3,
  maxLength: 25,
  size: 'max',
});

forEachBackend((backend) => {
  describe(`the past on ${backend.name}`, () => {
    let subject: Awaited<ReturnType<typeof openSubject>>;
    let looks = 0;
    beforeAll(async () => {
      subject = await openSubject(backend);
    });
    afterAll(async () => {
      await subject.close();
      console.log(`${backend.name}: ${looks} instants looked at, seed ${seed}`);
    });

    async function send(method: string, target: string, body?: Json): Promise<{ status: number; body: Json }> {
      const reply = await subject.ask({ user: 'ann', method, target, headers: {}, body }, 'inside');
      return { status: reply.status, body: reply.body ?? null };
    }

    it(`is what it was at every instant (seed ${seed})`, { timeout: seconds * 1000 + 120_000 }, async () => {
      const property = fc.asyncProperty(steps, async (given) => {
        await subject.flush();
        subject.clock.set(1_800_000_000_000);
        await send('PUT', '/buckets/b');
        await send('PUT', collection);
        const known: { readonly at: number; readonly records: Json }[] = [];
        for (const [pause, writes] of given) {
          // Far enough apart that no list is ahead of the time.
          subject.clock.set(subject.clock.now() + pause * 1000);
          await send('POST', '/batch', { requests: writes.map((each) => ({ ...each })) });
          const { status, body } = await send('GET', `${collection}/records`);
          known.push({ at: subject.clock.now() + 500, records: status === 200 ? body : { data: [] } });
        }
        for (const { at, records } of known) {
          looks++;
          const { body } = await send('GET', `/buckets/b/snapshot/collections/c@${at}`);
          expect(body, `at ${at}`).toEqual(records);
        }
      });
      const end = performance.now() + seconds * 1000;
      for (let round = 0; performance.now() < end; round++) {
        await fc.assert(property, { seed: seed + round, numRuns: 3, plugins: [fc.interruptAfterTimeLimit(60_000)] });
      }
    });
  });
});
