// Timestamps and tombstones (docs/reference/http-api/objects.md#timestamps).
import { absent, aTimestamp, ids, only } from './match.ts';
import { describeScenarios } from './scenarios.ts';

const far = 9_000_000_000_000;

describeScenarios('timestamps', [
  // Proves S-048.
  {
    name: 'ETag is the quoted timestamp, and Last-Modified the same in seconds.',
    given: ['collection'],
    request: 'PUT {R}/x {"data":{"last_modified":1500000000999}}',
    gives: { etag: '"1500000000999"', 'last-modified': 'Fri, 14 Jul 2017 02:40:00 GMT' },
  },
  {
    name: 'Every write is later than the one before.',
    given: ['collection', { request: 'PUT {R}/a', save: 'a' }, { request: 'PUT {R}/b', save: 'b' }],
    request: 'GET {R}?_since={a.time}',
    body: { data: ids('b') },
  },
  // Proves S-049, S-100.
  {
    name: 'A write that changes nothing assigns a new timestamp.',
    given: ['collection', { request: 'PUT {R}/a {"data":{"a":1}}', save: 'a' }, 'PUT {R}/a {"data":{"a":1}}'],
    request: 'GET {R}/a',
    headers: { 'If-Match': '{a.etag}' },
    status: 412,
  },
  {
    name: 'A past timestamp is honoured on creation and leaves the list alone.',
    given: ['collection', { request: 'PUT {R}/a', save: 'a' }],
    request: 'PUT {R}/x {"data":{"last_modified":1000}}',
    status: 201,
    body: { data: { last_modified: 1000 } },
    gives: { etag: '"1000"' },
    then: [{ request: 'GET {R}', gives: { etag: '{a.etag}' } }],
  },
  {
    name: 'Zero is honoured on creation.',
    given: ['collection'],
    request: 'POST {R} {"data":{"last_modified":0}}',
    status: 201,
    body: { data: { last_modified: 0 } },
  },
  {
    name: 'A future timestamp is honoured and advances the list.',
    given: ['collection'],
    request: `PUT {R}/x {"data":{"last_modified":${far}}}`,
    gives: { etag: `"${far}"` },
    then: [
      { request: 'PUT {R}/y', gives: { etag: `"${far + 1}"` } },
      { request: 'GET {R}', gives: { etag: `"${far + 1}"` } },
    ],
  },
  {
    name: 'The current timestamp of the list is bumped.',
    given: ['collection', { request: 'PUT {R}/x', save: 'x' }],
    request: 'PUT {R}/y {"data":{"last_modified":"{x.time}"}}',
    status: 201,
    save: 'y',
  },
  {
    name: 'A follower of a list whose clock is far ahead may request later changes.',
    given: [
      'collection',
      { request: `PUT {R}/x {"data":{"last_modified":${far}}}`, save: 'x' },
      { request: 'PUT {R}/y', save: 'y' },
    ],
    request: 'GET {R}?_since={x.time}',
    body: { data: ids('y') },
  },
  {
    name: 'A poll shows nothing while the list is unchanged, and then the changes.',
    given: ['collection', { request: 'PUT {R}/r', save: 'r' }, { request: 'DELETE {R}/r', save: 'd' }],
    request: 'GET {R}?_since={d.time}',
    status: 200,
    body: { data: [] },
    gives: { etag: '"{d.time}"', 'next-page': absent },
    then: [
      { request: 'GET {R}?_since={d.time}&_limit=1&_sort=-a&a=1', body: { data: [] }, gives: { etag: '"{d.time}"' } },
      { request: 'GET {R}?_since={d.time}&_before={d.time+1}', body: { data: [] }, gives: { etag: '"{d.time}"' } },
      { request: 'GET {R}?_since={r.time}', body: { data: [{ id: 'r', deleted: true }] } },
      { request: 'GET {R}?min_last_modified={d.time}', body: { data: [{ id: 'r', deleted: true }] } },
      { request: 'GET {R}?last_modified={d.time+1}', body: { data: [] }, gives: { etag: '"{d.time}"' } },
      { request: 'HEAD {R}?_since={d.time}', gives: { etag: '"{d.time}"', 'total-records': '0' } },
      { request: 'PUT {R}/s', save: 's' },
      { request: 'GET {R}?_since={d.time}', body: { data: ids('s') }, gives: { etag: '"{s.time}"' } },
      { request: 'GET {R}?_since={s.time}', body: { data: [] }, gives: { etag: '"{s.time}"' } },
    ],
  },
  {
    name: 'A poll of an unchanged list shows nothing to readers of single objects, and is refused to others.',
    given: [
      'collection',
      { request: 'PUT {R}/w', save: 'w' },
      { request: 'PUT {R}/x {"permissions":{"read":["{bob}"]}}', save: 'x' },
    ],
    request: 'bob: GET {R}?_since={x.time}',
    body: { data: [] },
    gives: { etag: '"{x.time}"' },
    then: [
      { request: 'bob: GET {R}?_since={w.time}', body: { data: ids('x') } },
      { request: 'carol: GET {R}?_since={x.time}', status: 403 },
    ],
  },
  {
    name: 'Timestamps far ahead of the time and of the list are still refused.',
    given: ['collection', 'PUT {R}/x'],
    request: `GET {R}?_since=${far}`,
    status: 400,
  },
  {
    name: 'The current timestamp of a future list is raised by one.',
    given: ['collection', `PUT {R}/x {"data":{"last_modified":${far}}}`],
    request: `PUT {R}/y {"data":{"last_modified":${far}}}`,
    status: 201,
    body: { data: { last_modified: far + 1 } },
  },
  // Proves S-233, S-237.
  {
    name: 'A timestamp that another object has is a conflict.',
    given: ['collection', 'PUT {R}/x {"data":{"last_modified":1000}}', 'PUT {R}/z'],
    request: 'PUT {R}/y {"data":{"last_modified":1000}}',
    status: 409,
    errno: 122,
    gives: { 'retry-after': '3' },
    then: [{ request: 'GET {R}/y', status: 404 }],
  },
  {
    name: 'A timestamp that a tombstone has is a conflict.',
    given: ['record', { request: 'DELETE {R}/r', save: 'x' }, 'PUT {R}/z'],
    request: 'PUT {R}/y {"data":{"last_modified":{x.time}}}',
    status: 409,
    errno: 122,
  },
  {
    name: 'An update with a later timestamp is honoured.',
    given: ['record'],
    request: `PATCH {R}/r {"data":{"last_modified":${far}}}`,
    body: { data: { last_modified: far } },
  },
  {
    name: 'An update with an older timestamp is bumped.',
    given: ['record'],
    request: 'PUT {R}/r {"data":{"last_modified":1000}}',
    body: { data: { last_modified: aTimestamp } },
  },
  {
    name: 'An update with its own timestamp is bumped.',
    given: ['collection', { request: 'PUT {R}/x', save: 'x' }],
    request: 'PUT {R}/x {"data":{"last_modified":{x.time}}}',
    then: [{ request: 'GET {R}/x', headers: { 'If-Match': '{x.etag}' }, status: 412 }],
  },
  {
    name: 'An update may be later than the object and earlier than the list.',
    given: ['collection', 'PUT {R}/x {"data":{"last_modified":1000}}', { request: 'PUT {R}/y', save: 'y' }],
    request: 'PUT {R}/x {"data":{"last_modified":2000}}',
    body: { data: { last_modified: 2000 } },
    then: [{ request: 'GET {R}', gives: { etag: '{y.etag}' } }],
  },
  // Proves S-047.
  {
    name: 'A timestamp that is a text is ignored.',
    given: ['collection'],
    request: 'PUT {R}/x {"data":{"last_modified":"1000"}}',
    status: 201,
    body: { data: { last_modified: aTimestamp } },
  },
  {
    name: 'A timestamp that is a float is ignored.',
    given: ['collection'],
    request: 'PUT {R}/x {"data":{"last_modified":1000.5}}',
    body: { data: { last_modified: aTimestamp } },
  },
  {
    name: 'A timestamp that is null is ignored.',
    given: ['collection'],
    request: 'PUT {R}/x {"data":{"last_modified":null}}',
    body: { data: { last_modified: aTimestamp } },
  },
  {
    name: 'A timestamp that is a boolean is ignored.',
    given: ['collection'],
    request: 'PUT {R}/x {"data":{"last_modified":true}}',
    body: { data: { last_modified: aTimestamp } },
  },
  {
    name: 'A negative timestamp is ignored.',
    given: ['collection'],
    request: 'PUT {R}/x {"data":{"last_modified":-5}}',
    body: { data: { last_modified: aTimestamp } },
  },
  {
    name: 'A timestamp beyond doubles is refused.',
    given: ['collection'],
    request: 'PUT {R}/x {"data":{"last_modified":9007199254740992}}',
    issues: [['body', 'data.last_modified']],
  },
  {
    name: 'A huge timestamp is refused.',
    given: ['collection'],
    request: 'POST {R} {"data":{"last_modified":12345678901234567890}}',
    issues: [['body', 'data.last_modified']],
  },
  {
    name: 'A huge timestamp in a patch is refused.',
    given: ['record'],
    request: 'PATCH {R}/r {"data":{"last_modified":12345678901234567890}}',
    status: 400,
    errno: 107,
  },
  {
    name: 'A change of permissions bumps.',
    given: ['collection', { request: 'PUT {R}/x', save: 'x' }, 'PATCH {R}/x {"permissions":{"read":["{bob}"]}}'],
    request: 'GET {R}?_since={x.time}',
    body: { data: ids('x') },
  },
]);

describeScenarios('tombstones', [
  // Proves S-101.
  {
    name: 'Tombstones appear with a filter on the timestamp.',
    given: ['record', 'PUT {R}/s', { request: 'DELETE {R}/r', save: 'd' }],
    request: 'GET {R}?_since=0',
    body: { data: [only({ id: 'r', last_modified: '{d.time}', deleted: true }), { id: 's' }] },
  },
  {
    name: 'Tombstones appear with _before.',
    given: ['record', 'DELETE {R}/r', { request: 'PUT {R}/s', save: 's' }],
    request: 'GET {R}?_before={s.time}',
    body: { data: ids('r') },
  },
  {
    name: 'Tombstones appear with an equality on the timestamp.',
    given: ['record', { request: 'DELETE {R}/r', save: 'd' }],
    request: 'GET {R}?last_modified={d.time}',
    body: { data: [{ id: 'r', deleted: true }] },
  },
  {
    name: 'Tombstones appear with any filter on the timestamp.',
    given: ['record', { request: 'DELETE {R}/r', save: 'd' }],
    request: 'GET {R}?gt_last_modified=5',
    body: { data: ids('r') },
  },
  { name: 'Tombstones stay away without.', given: ['record', 'DELETE {R}/r'], request: 'GET {R}', body: { data: [] } },
  {
    name: 'Tombstones alone can be requested.',
    given: ['record', 'PUT {R}/s', 'DELETE {R}/r'],
    request: 'GET {R}?_since=0&deleted=true',
    body: { data: ids('r') },
  },
  {
    name: 'The mark alone shows no tombstone.',
    given: ['record', 'DELETE {R}/r'],
    request: 'GET {R}?deleted=true',
    body: { data: [] },
  },
  {
    name: 'A filter on an attribute excludes tombstones.',
    given: ['record', 'PUT {R}/s {"data":{"a":1}}', 'DELETE {R}/r'],
    request: 'GET {R}?_since=0&a=1',
    body: { data: ids('s') },
  },
  {
    name: 'A tombstone matches what missing fields match.',
    given: ['record', 'PUT {R}/s {"data":{"a":1}}', 'DELETE {R}/r'],
    request: 'GET {R}?_since=0&not_a=1',
    body: { data: ids('r') },
  },
  {
    name: 'Tombstones are not counted.',
    given: ['record', 'PUT {R}/s', 'DELETE {R}/r'],
    request: 'HEAD {R}?_since=0',
    gives: { 'total-objects': '1', 'total-records': '1' },
  },
  // Proves S-102.
  {
    name: 'PUT recreates a deleted object without its old data.',
    given: ['record', { request: 'DELETE {R}/r', save: 'd' }],
    request: 'PUT {R}/r {"data":{"b":1}}',
    status: 201,
    body: { data: { a: absent, b: 1 } },
    then: [
      { request: 'GET {R}?_since={d.time}', body: { data: [{ id: 'r', deleted: absent }] } },
      { request: 'GET {R}?_since=0&deleted=true', body: { data: [] } },
    ],
  },
  // Proves S-102.
  {
    name: 'POST recreates a deleted object.',
    given: ['record', 'DELETE {R}/r'],
    request: 'POST {R} {"data":{"id":"r"}}',
    status: 201,
  },
  {
    name: 'A deleted object has no permissions any more.',
    given: ['collection', 'PUT {R}/r {"permissions":{"read":["{bob}"]}}', 'DELETE {R}/r', 'PUT {R}/r'],
    request: 'bob: GET {R}/r',
    status: 403,
  },
  {
    name: 'DELETE accepts a later timestamp.',
    given: ['record'],
    request: `DELETE {R}/r?last_modified=${far}`,
    body: { data: { last_modified: far } },
    gives: { etag: `"${far}"` },
  },
  {
    name: 'DELETE accepts a quoted timestamp.',
    given: ['record'],
    request: `DELETE {R}/r?last_modified="${far}"`,
    body: { data: { last_modified: far } },
  },
  // Proves S-173.
  {
    name: 'DELETE ignores an earlier timestamp.',
    given: ['record'],
    request: 'DELETE {R}/r?last_modified=1000',
    body: { data: { last_modified: aTimestamp } },
  },
  {
    name: 'DELETE ignores a negative timestamp.',
    given: ['record'],
    request: 'DELETE {R}/r?last_modified=-5',
    body: { data: { last_modified: aTimestamp } },
  },
  {
    name: 'DELETE may be later than the object and earlier than the list.',
    given: ['collection', 'PUT {R}/x {"data":{"last_modified":1000}}', { request: 'PUT {R}/y', save: 'y' }],
    request: 'DELETE {R}/x?last_modified=2000',
    body: { data: { last_modified: 2000 } },
    then: [{ request: 'GET {R}', gives: { etag: '{y.etag}' } }],
  },
  {
    name: 'DELETE with the timestamp of another object is a conflict.',
    given: [
      'collection',
      'PUT {R}/x {"data":{"last_modified":1000}}',
      'PUT {R}/y {"data":{"last_modified":2000}}',
      'PUT {R}/z',
    ],
    request: 'DELETE {R}/x?last_modified=2000',
    status: 409,
    errno: 122,
  },
  // Proves S-172, S-217.
  ...['', 'abc', '12.4', '[1]', '""', '9007199254740992'].map((value) => ({
    name: `DELETE refuses the timestamp ${value || 'without text'}.`,
    given: ['record'],
    request: `DELETE {R}/r?last_modified=${value}`,
    issues: [['querystring', 'last_modified']] as const,
  })),
]);
