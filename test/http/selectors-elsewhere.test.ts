// Selectors on lists other than records: the list of own permissions, the history, and objects above records.
import { ids, unordered } from './match.ts';
import { describeScenarios, type Step } from './scenarios.ts';

const selecting = (path: string, selector: object, query = ''): string =>
  `GET ${path}?_filter=${encodeURIComponent(JSON.stringify(selector)).replaceAll('%7BB%7D', '{B}').replaceAll('%7BR%7D', '{R}')}${query}`;
const refused = (path: string, selector: object, text: RegExp): Step => ({
  request: selecting(path, selector),
  status: 400,
  errno: 107,
  text,
});

describeScenarios(
  'selectors on the list of own permissions',
  [
    {
      name: 'The list accepts selectors on its fields, with other filters, sorts and pages.',
      given: ['record', 'PUT {R}/s', 'PUT {G}/g', 'PUT {B}x', 'PUT {B}x/collections/c'],
      request: selecting('/permissions', { $or: [{ resource_name: 'group' }, { record_id: 's' }] }, '&_sort=uri'),
      status: 200,
      body: { data: [{ uri: '{R}/s' }, { uri: '{G}/g' }] },
      then: [
        {
          request: selecting('/permissions', { resource_name: { $in: ['record', 'group'] } }, '&_sort=-uri&_limit=2'),
          body: { data: [{ uri: '{G}/g' }, { uri: '{R}/s' }] },
          save: 'page',
        },
        { request: 'GET {page.next}', body: { data: [{ uri: '{R}/r' }] } },
        {
          request: selecting('/permissions', { permissions: { $contains: 'group:create' }, uri: '{B}' }),
          body: { data: [{ uri: '{B}' }] },
        },
        {
          request: selecting('/permissions', { $nor: [{ uri: { $startsWith: '{B}/' } }] }, '&collection_id=c'),
          body: { data: [{ uri: '{B}x/collections/c' }] },
        },
        {
          request: selecting('/permissions', { record_id: { $exists: true } }, '&_fields=record_id'),
          body: { data: unordered({ record_id: 'r' }, { record_id: 's' }) },
        },
        refused('/permissions', { colour: 1 }, /colour/),
        refused('/permissions', { $or: [{ resource_name: 'group' }, { colour: { $gt: 1 } }] }, /colour/),
        refused('/permissions', { resource_name: { $regex: 'g' } }, /unknown operator/),
        { request: 'GET /permissions?_q=group', issues: [['querystring', '_q']] },
      ],
    },
    {
      name: 'A selector shows no objects that the caller has no permissions on.',
      given: ['record', 'bob: PUT {B}x'],
      request: `bob: ${selecting('/permissions', { $or: [{ uri: { $startsWith: '/buckets/' } }, { id: 'r' }] })}`,
      status: 200,
      body: { data: [{ uri: '{B}x' }] },
      then: [
        { request: `bob: ${selecting('/permissions', { uri: '{R}/r' })}`, body: { data: [] } },
        {
          request: `bob: ${selecting('/permissions', { $not: { uri: '{B}x' } }, '&has_bucket_id=true')}`,
          body: { data: [] },
        },
      ],
    },
  ],
  { settings: { experimental_permissions_endpoint: 'true' } },
);

const ofRecords = (all: string): object => ({ data: all.split(' ').map((id) => ({ record_id: id })) });

describeScenarios(
  'selectors on the history',
  [
    {
      name: 'The history accepts selectors on entries and on their objects.',
      given: [
        'collection',
        'PUT {R}/a {"data":{"n":1,"tags":["x"]}}',
        'PUT {R}/b {"data":{"n":2,"tags":["x","y"]}}',
        'PUT {R}/c {"data":{"n":"2"}}',
        'DELETE {R}/a',
      ],
      request: selecting(
        '{B}/history',
        { $or: [{ action: 'delete' }, { 'target.data.n': { $gt: 1 } }], resource_name: 'record' },
        '&_sort=last_modified',
      ),
      status: 200,
      body: ofRecords('b a'),
      then: [
        {
          request: selecting('{B}/history', { 'target.data.tags': { $contains: 'x' } }, '&_sort=uri'),
          body: ofRecords('a b'),
        },
        { request: selecting('{B}/history', { 'target.data': { n: '2', id: 'c' } }), body: { data: [] } },
        {
          request: selecting(
            '{B}/history',
            { record_id: { $exists: true }, action: { $ne: 'delete' } },
            '&_sort=-uri&_limit=2',
          ),
          body: ofRecords('c b'),
          save: 'page',
        },
        { request: 'GET {page.next}', body: ofRecords('a') },
        {
          request: selecting('{B}/history', { 'target.data.n': 2 }).replace('GET', 'HEAD'),
          gives: { 'total-objects': '1' },
        },
        refused('{B}/history', { colour: 1 }, /colour/),
        {
          request: selecting('{B}/history', { $nor: [{ record_id: 'b' }], record_id: { $exists: true } }).replace(
            'GET',
            'DELETE',
          ),
          status: 200,
        },
        { request: selecting('{B}/history', { record_id: { $exists: true } }), body: ofRecords('b') },
      ],
    },
    {
      name: 'A selector shows no entries of records that are not shared with the caller.',
      given: [
        'collection',
        'PUT {R}/a {"data":{"n":1},"permissions":{"read":["{bob}"]}}',
        'PUT {R}/b {"data":{"n":2}}',
      ],
      request: `bob: ${selecting('{B}/history', { $or: [{ 'target.data.n': 1 }, { 'target.data.n': 2 }] })}`,
      status: 200,
      body: ofRecords('a'),
      then: [
        {
          request: `bob: ${selecting('{B}/history', { 'target.data.n': { $gte: 0 } }).replace('GET', 'HEAD')}`,
          gives: { 'total-objects': '1' },
        },
      ],
    },
  ],
  { settings: { includes: 'history' } },
);

describeScenarios('selectors on the objects above records', [
  {
    name: 'Lists of buckets, collections and groups accept selectors.',
    given: [
      'PUT {B} {"data":{"city":"Ghent"}}',
      'PUT {C} {"data":{"n":1}}',
      'PUT {C}d {"data":{"n":2}}',
      'PUT {G}/g {"data":{"members":["x","y"]}}',
    ],
    request: selecting('/buckets', { city: 'Ghent', id: { $exists: true } }, '&id={b}'),
    status: 200,
    body: { data: ids('{b}') },
    then: [
      { request: selecting('{B}/collections', { n: { $gt: 1 } }), body: { data: ids('cd') } },
      { request: selecting('{B}/groups', { members: { $size: 2, $contains: 'y' } }), body: { data: ids('g') } },
      { request: selecting('{B}/groups', { members: { $elemMatch: { $eq: 'z' } } }), body: { data: [] } },
    ],
  },
]);
