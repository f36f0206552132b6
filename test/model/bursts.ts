// Random requests that are sent at the same time.
import fc from 'fast-check';
import { time, values } from './bodies.ts';
import { conditions } from './headers.ts';
import type { Burst, Sketch } from './sketch.ts';
import type { World } from './world.ts';

const records = '/buckets/b/collections/c/records';

/** A write to one list by its owner, who stays that: the order of such writes is all that their answers depend on. */
const write: fc.Arbitrary<Sketch> = fc
  .tuple(
    fc.constantFrom('PUT', 'PUT', 'PATCH', 'POST', 'DELETE', 'DELETE /'),
    fc.constantFrom('r', 's', 'r_', 'rx'),
    fc.dictionary(fc.constantFrom('n', 's'), values, { maxKeys: 2 }),
    fc.option(time, { freq: 3, nil: undefined }),
    conditions('"{object}"'),
  )
  .map(([method, id, attributes, at, headers]) => {
    if (method === 'DELETE /') return { method: 'DELETE', path: records, query: [['_limit', '2']] };
    if (method === 'DELETE') return { method, path: `${records}/${id}`, headers };
    const data = { ...attributes, ...(at === undefined ? {} : { last_modified: at }) };
    const isPost = method === 'POST';
    return {
      method,
      path: isPost ? records : `${records}/${id}`,
      headers,
      body: { data: isPost ? { ...data, id } : data },
    };
  });

/** The file of a record in the list, written with it. */
const file: fc.Arbitrary<Sketch> = fc
  .tuple(fc.constantFrom('r', 's', 'rx'), fc.constantFrom('a', 'b'), fc.nat(3), conditions('"{object}"'))
  .map(([id, value, pick, headers]) => {
    const path = `${records}/${id}/attachment`;
    if (pick === 0) return { method: 'DELETE', path, headers };
    return {
      method: 'POST',
      path,
      headers,
      form: [{ name: 'attachment', filename: 'a.txt', type: 'text/plain', value }],
    };
  });

/** Some at the same time, so few that every order in which they may have been done can be tried. */
export function anyBurst({ hasAttachments }: World): fc.Arbitrary<Burst> {
  const alone = hasAttachments ? fc.oneof(write, write, file) : write;
  return fc
    .array(
      fc.record({
        user: fc.constant('ann'),
        door: fc.constantFrom('inside' as const, 'http' as const),
        advance: fc.constant(0),
        send: fc.oneof(alone, fc.array(write, { minLength: 2, maxLength: 3 })),
      }),
      { minLength: 2, maxLength: 4 },
    )
    .map((together) => ({ list: records, together }));
}
