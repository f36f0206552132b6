// Plain and merge patches, and what the answers to patches show (docs/reference/http-api/objects.md#patch).
import { absent, anEtag, aTimestamp, only, unordered } from './match.ts';
import { describeScenarios } from './scenarios.ts';

const merge = { 'Content-Type': 'application/merge-patch+json' };

const json = { 'Content-Type': 'application/json-patch+json' };

const behave = (value: string): Record<string, string> => ({ 'Response-Behavior': value });

const shared = ['collection', 'PUT {R}/x {"data":{"a":1,"o":{"p":1,"q":2}},"permissions":{"read":["{bob}"]}}'] as const;

describeScenarios('plain patches', [
  {
    name: 'A patch of a missing object is 404.',
    given: ['collection'],
    request: 'PATCH {R}/x {"data":{}}',
    status: 404,
    errno: 110,
  },
  // Proves S-220.
  { name: 'A patch without a body is refused.', given: ['record'], request: 'PATCH {R}/r', issues: [['body', 'data']] },
  // Proves S-220.
  {
    name: 'A patch with an empty object is refused.',
    given: ['record'],
    request: 'PATCH {R}/r {}',
    issues: [['body', 'data']],
  },
  {
    name: 'A patch of empty data bumps.',
    given: ['collection', { request: 'PUT {R}/x {"data":{"a":1}}', save: 'x' }],
    request: 'PATCH {R}/x {"data":{}}',
    status: 200,
    body: { data: { a: 1 } },
    gives: { etag: anEtag },
    then: [{ request: 'GET {R}/x', headers: { 'If-Match': '{x.etag}' }, status: 412 }],
  },
  {
    name: 'A patch of empty permissions bumps.',
    given: ['collection', { request: 'PUT {R}/x {"data":{"a":1}}', save: 'x' }],
    request: 'PATCH {R}/x {"permissions":{}}',
    status: 200,
    then: [{ request: 'GET {R}/x', headers: { 'If-Match': '{x.etag}' }, status: 412 }],
  },
  {
    name: 'A patch replaces top-level attributes and keeps the others.',
    given: [...shared],
    request: 'PATCH {R}/x {"data":{"o":{"z":1},"n":null}}',
    body: { data: only({ id: 'x', last_modified: aTimestamp, a: 1, o: only({ z: 1 }), n: null }) },
  },
  // Proves S-066.
  {
    name: 'A patch replaces the permissions it names and keeps the others.',
    given: ['bucket', 'PUT {C} {"permissions":{"read":["{bob}"],"record:create":["{bob}"]}}'],
    request: 'PATCH {C} {"permissions":{"read":["{carol}"]}}',
    body: { permissions: only({ read: ['{carol}'], 'record:create': ['{bob}'], write: ['{alice}'] }) },
  },
  {
    name: 'An empty list empties a permission.',
    given: [...shared],
    request: 'PATCH {R}/x {"permissions":{"read":[]}}',
    body: { permissions: only({ write: ['{alice}'] }) },
  },
  {
    name: 'A permission that is null is left alone.',
    given: [...shared],
    request: 'PATCH {R}/x {"permissions":{"read":null}}',
    body: { permissions: { read: ['{bob}'] } },
  },
  // Proves S-062, S-100.
  {
    name: 'The caller of a patch becomes a writer.',
    given: ['PUT {B} {"permissions":{"write":["{bob}"]}}', 'PUT {C}', 'PUT {R}/x'],
    request: 'bob: PATCH {R}/x {"data":{"b":1}}',
    body: { permissions: { write: unordered('{alice}', '{bob}') } },
  },
  {
    name: 'A patch cannot change the id.',
    given: ['record'],
    request: 'PATCH {R}/r {"data":{"id":"s"}}',
    issues: [['body', 'id']],
  },
  { name: 'A patch may repeat the id.', given: ['record'], request: 'PATCH {R}/r {"data":{"id":"r"}}', status: 200 },
  {
    name: 'The result is checked, with names relative to the attributes.',
    given: ['bucket', 'PUT {G}/g'],
    request: 'PATCH {G}/g {"data":{"members":["x",1]}}',
    issues: [['body', 'members.1']],
  },
  {
    name: 'Members that are no list are refused.',
    given: ['bucket', 'PUT {G}/g'],
    request: 'PATCH {G}/g {"data":{"members":null}}',
    issues: [['body', 'members']],
  },
  {
    name: 'The shape of the body has the names as sent.',
    given: ['record'],
    request: 'PATCH {R}/r {"data":1}',
    issues: [['body', 'data']],
  },
  { name: 'A list needs its own media type.', given: ['record'], request: 'PATCH {R}/r []', issues: [['body', '']] },
]);

describeScenarios('merge patches', [
  {
    name: 'Objects are merged deeply, null removes.',
    given: [...shared],
    request: 'PATCH {R}/x {"data":{"a":null,"o":{"p":null,"z":[null]}}}',
    headers: merge,
    body: { data: only({ id: 'x', last_modified: aTimestamp, o: only({ q: 2, z: [null] }) }) },
  },
  {
    name: 'An object replaces a scalar.',
    given: [...shared],
    request: 'PATCH {R}/x {"data":{"a":{"b":1}}}',
    headers: merge,
    body: { data: { a: { b: 1 } } },
  },
  {
    name: 'Nulls inside a new object are left out.',
    given: ['record'],
    request: 'PATCH {R}/r {"data":{"n":{"b":null,"c":1}}}',
    headers: merge,
    body: { data: { n: only({ c: 1 }) } },
  },
  {
    name: 'An id that is null is nothing.',
    given: ['record'],
    request: 'PATCH {R}/r {"data":{"id":null}}',
    headers: merge,
    status: 200,
    body: { data: { id: 'r' } },
  },
  {
    name: 'A permission that is null is removed.',
    given: [...shared],
    request: 'PATCH {R}/x {"permissions":{"read":null}}',
    headers: merge,
    body: { permissions: only({ write: ['{alice}'] }) },
  },
  {
    name: 'Removing the writers leaves the caller.',
    given: [...shared],
    request: 'PATCH {R}/x {"permissions":{"write":null}}',
    headers: merge,
    body: { permissions: { write: ['{alice}'], read: ['{bob}'] } },
  },
  {
    name: 'A list is no merge patch.',
    given: ['record'],
    request: 'PATCH {R}/r []',
    headers: merge,
    issues: [['body', '']],
  },
  {
    name: 'Permissions by an inherited writer change only those named.',
    given: ['PUT {B} {"permissions":{"write":["{bob}"]}}', 'PUT {C}', 'PUT {R}/x {"permissions":{"read":["{carol}"]}}'],
    request: 'bob: PATCH {R}/x {"permissions":{"write":["{bob}"]}}',
    headers: merge,
    status: 200,
    body: { permissions: { read: ['{carol}'] } },
  },
]);

describeScenarios('what a patch answers', [
  {
    name: 'Light shows what changed.',
    given: [...shared],
    request: 'PATCH {R}/x {"data":{"a":2,"o":{"p":1,"q":2},"n":1}}',
    headers: behave('light'),
    status: 200,
    body: only({ data: only({ a: 2, n: 1 }) }),
    gives: { etag: anEtag },
  },
  {
    name: 'Light shows the timestamp when one was sent.',
    given: ['record'],
    request: 'PATCH {R}/r {"data":{"last_modified":9000000000000}}',
    headers: behave('light'),
    body: only({ data: only({ last_modified: 9_000_000_000_000 }) }),
  },
  {
    name: 'Diff shows what differs from what was sent.',
    given: ['bucket', 'PUT {C}'],
    request: 'PATCH {C} {"data":{"cache_expires":"12","a":1}}',
    headers: behave('diff'),
    status: 200,
    body: only({ data: { cache_expires: 12, a: absent } }),
  },
  {
    name: 'Diff shows the timestamp that was not honoured.',
    given: ['record'],
    request: 'PATCH {R}/r {"data":{"last_modified":1}}',
    headers: behave('diff'),
    body: only({ data: { last_modified: aTimestamp } }),
  },
  {
    name: 'Full is what is shown anyway.',
    given: ['record'],
    request: 'PATCH {R}/r {"data":{}}',
    headers: behave('full'),
    body: { data: { id: 'r', a: 1 }, permissions: {} },
  },
  {
    name: 'Another letter case is refused.',
    given: ['record'],
    request: 'PATCH {R}/r {"data":{}}',
    headers: behave('Light'),
    issues: [['header', 'Response-Behavior']],
  },
  {
    name: 'Light shows what a JSON patch changed, and the timestamp.',
    given: ['record'],
    request: 'PATCH {R}/r [{"op":"add","path":"/data/b","value":1}]',
    headers: { ...json, ...behave('light') },
    body: only({ data: only({ b: 1, last_modified: aTimestamp }) }),
  },
  {
    name: 'Diff shows the timestamp only after a JSON patch.',
    given: ['record'],
    request: 'PATCH {R}/r [{"op":"add","path":"/data/b","value":1}]',
    headers: { ...json, ...behave('diff') },
    body: only({ data: only({ last_modified: aTimestamp }) }),
  },
]);
