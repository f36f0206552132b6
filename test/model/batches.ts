// Random batches: requests that know nothing of each other, some in the name of others, and some with a story.
import fc from 'fast-check';
import type { JsonMap } from './json.ts';
import type { Sketch } from './sketch.ts';
import { endOfTime } from './snapshots.ts';

/** Something is deleted and made again, without what was in it, and shared with a group that has lost its members. */
export const rebirth: fc.Arbitrary<readonly Sketch[]> = fc
  .constantFrom('/buckets/b', '/buckets/b', '/buckets/b/collections/c', '/buckets/b/groups/g')
  .map((path) => {
    const body = { permissions: { read: ['/buckets/b/groups/g'] } };
    const inside = path === '/buckets/b' ? ['groups/g', 'collections/c'] : [];
    // In between there is nothing, nor is afterwards, whatever the history still says.
    const look = { method: 'GET', path: `/buckets/b/snapshot/collections/c@${endOfTime}` };
    return [
      { method: 'DELETE', path },
      look,
      { method: 'PUT', path, body },
      ...inside.map((name) => ({ method: 'PUT', path: `${path}/${name}` })),
      look,
    ];
  });

/** A group gets other members, and the same batch goes on: for its sender nothing has changed yet. */
export const handover: fc.Arbitrary<readonly Sketch[]> = fc
  .constantFrom<readonly string[]>([], ['{ann}'], ['{ben}'], ['{ben}', '{cat}'], ['system.Authenticated'])
  .map((members) => [
    { method: 'PATCH', path: '/buckets/b/groups/g', body: { data: { members } } },
    { method: 'GET', path: '/permissions' },
    { method: 'GET', path: '/buckets/b/collections/c/records' },
    { method: 'GET', path: '/buckets/b/collections/c/records/r' },
    { method: 'PATCH', path: '/buckets/b/collections/c/records/s', body: { data: { n: 1 } } },
  ]);

/** Records are written under one schema and then under a newer one. */
export const renewal: fc.Arbitrary<readonly Sketch[]> = fc
  .constantFrom<JsonMap>({}, { properties: { n: { type: 'number' } } }, { required: ['id', 'n'] })
  .map((schema) => [
    { method: 'PATCH', path: '/buckets/b/collections/c', body: { data: { schema } } },
    { method: 'PUT', path: '/buckets/b/collections/c/records/r', body: { data: { n: 1 } } },
    { method: 'PATCH', path: '/buckets/b/collections/c', body: { data: { n: 1 } } },
    { method: 'PATCH', path: '/buckets/b/collections/c/records/r', body: { data: { s: 'Apple' } } },
    { method: 'PUT', path: '/buckets/b/collections/c/records/s' },
  ]);

/** Of batches; some are wrong. */
export const defaults = fc.constantFrom<JsonMap>(
  { method: 'PUT' },
  { path: '/buckets/b/collections/c/records/r' },
  { headers: { 'if-none-match': '*' } },
  { headers: { 'If-Match': '*', 'response-behavior': 'light' }, method: 'PATCH' },
  { body: { data: { n: 1, o: { k: 1 } } } },
  { body: { permissions: { read: ['{ben}'] } } },
  { path: '/v1/buckets/b/groups/g', body: { data: { members: ['{ben}'] } } },
  { method: 'FLY' },
  { path: 'b', more: 1 },
  { headers: { a: 1 } },
  { body: 'x' },
);

/** Some in the name of others. */
export function severalOf(one: fc.Arbitrary<Sketch>): fc.Arbitrary<readonly Sketch[]> {
  const named = fc
    .tuple(one, fc.option(fc.constantFrom('ann', 'ben', 'cat', 'nobody'), { freq: 2, nil: undefined }))
    .map(([sketch, as]): Sketch => (as === undefined ? sketch : { ...sketch, as }));
  return fc.oneof(
    { weight: 2, arbitrary: fc.array(one, { minLength: 1, maxLength: 5 }) },
    { weight: 1, arbitrary: fc.array(named, { minLength: 1, maxLength: 5 }) },
  );
}
