// Random histories: the caller, time, access path and contents of each request. Ids and values are few, so requests often
// concern the same objects.
import fc from 'fast-check';
import { defaults, handover, rebirth, renewal, severalOf } from './batches.ts';
import { bodyFor, content, idFor, orHostile, rarely, shares, time, values } from './bodies.ts';
import { anyBurst } from './bursts.ts';
import type { Json, JsonMap } from './json.ts';
import { conditions } from './headers.ts';
import { placeOf } from './places.ts';
import { hostileIdsNear } from '../support/hostile-ids.ts';
import { filter, historyFilter, permissionsFilter, query } from './queries.ts';
import { endOfTime } from './snapshots.ts';
import type { Burst, Sketch, Step } from './sketch.ts';
import { aboutFile } from './uploads.ts';
import type { World } from './world.ts';

export const users = ['ann', 'ben', 'cat'];

const bucket = fc.oneof(
  { weight: 12, arbitrary: orHostile('b', fc.constantFrom('b', 'b', 'b', 'b', 'b', 'b_', 'bx')) },
  { weight: 2, arbitrary: fc.constant('default') },
);
const collection = orHostile('c', fc.constantFrom('c', 'c', 'c', 'c', 'c_', 'cx'));
const listPath = fc.oneof(
  { weight: 1, arbitrary: fc.constant('/buckets') },
  { weight: 2, arbitrary: bucket.map((id) => `/buckets/${id}/groups`) },
  { weight: 2, arbitrary: bucket.map((id) => `/buckets/${id}/collections`) },
  { weight: 1, arbitrary: bucket.map((id) => `/buckets/${id}/history`) },
  {
    weight: 8,
    arbitrary: fc.tuple(bucket, collection).map(([id, name]) => `/buckets/${id}/collections/${name}/records`),
  },
);
const object: fc.Arbitrary<Sketch> = fc
  .record({
    list: listPath,
    id: fc.integer({ min: 0, max: 40 }),
    odd: fc.constantFrom(...hostileIdsNear('r'), ...hostileIdsNear('c')),
    verb: fc.constantFrom('PUT', 'PUT', 'PUT', 'PUT', 'PATCH', 'PATCH', 'PATCH', 'GET', 'HEAD', 'DELETE', 'DELETE'),
    content,
    headers: conditions('"{object}"'),
    type: fc.nat(9),
    operations: fc.array(fc.nat(15), { minLength: 0, maxLength: 3 }),
    given: values,
    query: fc.oneof(
      { weight: 6, arbitrary: fc.constant([]) },
      {
        weight: 1,
        arbitrary: fc.tuple(
          fc.tuple(fc.constant('last_modified'), fc.oneof(time, fc.constantFrom('x', '-4', '"{object+7}"', '1.5'))),
        ),
      },
    ),
    fields: rarely(fc.constantFrom('n', 'o.k', 's,n', 'id', '')),
  })
  .map(({ list, id, odd, verb, content: given, headers, type, operations, given: value, query: times, fields }) => {
    const { kind } = placeOf(list)!;
    const path = kind === 'history' ? '/buckets/b' : `${list}/${id < 2 ? odd : idFor(kind, id)}`;
    const own = placeOf(path)!.kind;
    if (verb === 'GET' || verb === 'HEAD') {
      return {
        method: verb,
        path,
        headers,
        ...(fields === undefined ? {} : { query: [['_fields', fields]] as const }),
      };
    }
    if (verb === 'DELETE') return { method: verb, path, headers, query: times };
    if (verb === 'PUT') return withBody({ method: verb, path, headers }, bodyFor(own, given, false));
    const patch =
      type < 5 ? 'application/json' : type < 8 ? 'application/merge-patch+json' : 'application/json-patch+json';
    const behaviour = ['light', 'diff', 'odd'][type] ?? 'full';
    const all = {
      ...headers,
      'content-type': patch,
      ...(behaviour === 'full' ? {} : { 'response-behavior': behaviour }),
    };
    const body = type < 8 ? bodyFor(own, given, false) : operations.map((pick) => operation(pick, value));
    return withBody({ method: verb, path, headers: all }, body);
  });

/** JSON Patch, most of it possible on most objects. */
function operation(pick: number, value: Json): JsonMap {
  const all: readonly JsonMap[] = [
    { op: 'add', path: '/data/n', value },
    { op: 'add', path: '/data/o', value },
    { op: 'add', path: '/data/t', value: ['a', 'b'] },
    { op: 'add', path: '/data/t/1', value },
    { op: 'add', path: '/data/t/-', value },
    { op: 'remove', path: '/data/n' },
    { op: 'replace', path: '/data/s', value },
    { op: 'test', path: '/data/n', value },
    { op: 'move', from: '/data/n', path: '/data/s' },
    { op: 'copy', from: '/data/o', path: '/data/n' },
    { op: 'add', path: '/permissions/read/{ben}' },
    { op: 'add', path: '/permissions/write/~1buckets~1b~1groups~1g' },
    { op: 'remove', path: '/permissions/read/{ben}' },
    { op: 'test', path: '/permissions/write/{ann}', value: '{ann}' },
    { op: 'replace', path: '/permissions/read', value: ['{cat}'] },
    { op: 'replace', path: '/data', value: { n: 1 } },
  ];
  return all[pick]!;
}

const list: fc.Arbitrary<Sketch> = fc
  .record({
    path: listPath,
    verb: fc.constantFrom('GET', 'GET', 'GET', 'GET', 'HEAD', 'POST', 'POST', 'POST', 'DELETE'),
    content,
    headers: conditions('"{clock}"'),
    query: query(filter),
    historyQuery: query(historyFilter),
  })
  .map(({ path, verb, content: given, headers, query: usual, historyQuery }) => {
    const { kind } = placeOf(path)!;
    if (kind === 'history')
      return { method: verb === 'POST' ? 'GET' : verb, path, headers, query: historyQuery.filter(isKnowable) };
    return verb === 'POST'
      ? withBody({ method: verb, path, headers }, bodyFor(kind, given, true))
      : { method: verb, path, headers, query: usual };
  });

/** The service draws the ids of entries, so the model cannot tell which comes first. */
function isKnowable([name, value]: readonly [string, string]): boolean {
  if (name === '_sort') return !value.split(',').some((key) => /^[-+]?id$/.test(key));
  return name === 'record_id' || !/(?:^|_)id$/.test(name);
}

function withBody(sketch: Sketch, body: Json | undefined): Sketch {
  return body === undefined ? sketch : { ...sketch, body };
}

const permissions: fc.Arbitrary<Sketch> = fc
  .tuple(fc.constantFrom('GET', 'GET', 'HEAD'), query(permissionsFilter))
  .map(([method, asked]) => ({ method, path: '/permissions', query: asked }));

const withFile = fc.constantFrom(
  'b/c/r',
  'b/c/r',
  'b/c/r',
  'b/c/r',
  'b/c/s',
  'b/c/rx',
  'b/cx/r',
  'b_/c/r',
  'default/c/r',
);
const withOddId = fc
  .tuple(
    fc.constantFrom('?/c/r', 'b/?/r', 'b/c/?', 'default/?/r', 'default/c/?'),
    fc.constantFrom(...['b', 'c', 'r'].flatMap(hostileIdsNear)),
  )
  .map(([path, id]) => path.replace('?', () => id));
const anyFile = aboutFile(
  fc
    .oneof({ weight: 12, arbitrary: withFile }, { weight: 3, arbitrary: withOddId })
    .map((path) => path.split('/'))
    .map(([id, name, record]) => `/buckets/${id}/collections/${name}/records/${record}`),
  conditions('"{object}"'),
);
const snapshot: fc.Arbitrary<Sketch> = fc
  .record({
    method: fc.constantFrom('GET', 'GET', 'GET', 'HEAD', 'PUT'),
    path: bucket,
    name: collection,
    at: fc.constantFrom(String(endOfTime), String(endOfTime), String(endOfTime), '0', 'x', '-1'),
  })
  .map(({ method, path, name, at }) => ({
    method,
    path: `/buckets/${path}/snapshot/collections/${name}@${at}`,
  }));

/** Without files, few requests ask for them. */
function oneRequest({ hasAttachments }: World): fc.Arbitrary<Sketch> {
  return fc.oneof(
    { weight: 16, arbitrary: object },
    { weight: 12, arbitrary: list },
    { weight: 2, arbitrary: permissions },
    { weight: 1, arbitrary: snapshot },
    { weight: hasAttachments ? 7 : 1, arbitrary: anyFile },
  );
}

function anyStep(world: World): fc.Arbitrary<Step> {
  const one = oneRequest(world);
  return fc.record({
    user: fc.constantFrom('ann', 'ann', 'ann', 'ann', 'ben', 'ben', 'ben', 'cat', undefined),
    door: fc.constantFrom('inside' as const, 'inside' as const, 'http' as const),
    advance: fc.constantFrom(0, 0, 1, 1, 3, 1000, -2, -5000),
    send: fc.oneof(
      { weight: 12, arbitrary: one },
      { weight: 3, arbitrary: severalOf(one) },
      { weight: 2, arbitrary: fc.nat(5) },
      { weight: 1, arbitrary: fc.oneof(rebirth, handover, renewal) },
    ),
    defaults: rarely(defaults),
  });
}

/** What there is in the beginning; parents come first. */
const first = [
  'b',
  'b_',
  'b/groups/g',
  'b/groups/g_',
  'b/collections/c',
  'b/collections/c_',
  'b/collections/c/records/r',
  'b/collections/c/records/s',
  'b/collections/c/records/r_',
  'b_/collections/c',
  'b_/collections/c/records/r',
  'default/collections/c/records/r',
];

/** Something to begin with, and who may do what with it. */
const opening: fc.Arbitrary<readonly Step[]> = fc
  .tuple(...first.map((path) => fc.tuple(fc.constant(`/buckets/${path}`), content, shares)))
  .map((objects) => {
    const send = objects.map(([path, given, entries]) => {
      const whole = { ...given, entries, servers: [], id: 30, shape: 40 };
      return withBody({ method: 'PUT', path }, bodyFor(placeOf(path)!.kind, whole, false));
    });
    return [{ user: 'ann', door: 'inside', advance: 0, send }];
  });

/** Files that there are in the beginning, so that there is something to ask for. */
const firstFiles: readonly Step[] = ['b/collections/c/records/r', 'b/collections/c/records/s'].map((path) => ({
  user: 'ann',
  door: 'inside',
  advance: 1,
  send: {
    method: 'POST',
    path: `/buckets/${path}/attachment`,
    form: [{ name: 'attachment', filename: 'first.txt', type: 'text/plain', value: path.at(-1)! }],
  },
}));

/** A history; `size` is about how many requests it has at most. */
export function anyHistory(size: number, world: World): fc.Arbitrary<readonly (Step | Burst)[]> {
  const any = fc.oneof({ weight: 9, arbitrary: anyStep(world) }, { weight: 2, arbitrary: anyBurst(world) });
  return fc
    .tuple(opening, fc.array(any, { minLength: 1, maxLength: size, size: 'max' }))
    .map(([begin, rest]) => [...begin, ...(world.hasAttachments ? firstFiles : []), ...rest]);
}
