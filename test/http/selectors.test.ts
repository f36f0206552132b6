// Selectors: conditions as JSON in `_filter` (docs/reference/http-api/filtering.md).
import { ids, unordered } from './match.ts';
import { describeScenarios, type RequestLine, type Scenario } from './scenarios.ts';

const things: readonly ('collection' | RequestLine)[] = [
  'collection',
  'PUT {R}/r1 {"data":{"n":1,"s":"apple","tags":["red","round"],"o":{"k":1}}}',
  'PUT {R}/r2 {"data":{"n":2,"s":"Apple pie","tags":["red"],"o":{"k":2}}}',
  'PUT {R}/r3 {"data":{"n":"2","s":"banana","tags":[],"parts":[{"name":"a","size":1},{"name":"b","size":5}]}}',
  'PUT {R}/r4 {"data":{"n":null,"s":"\u{10ffff}z","parts":[{"name":"b","size":1}]}}',
  'PUT {R}/r5 {"data":{"numbers":[1,5,9]}}',
];

/** One scenario for all selectors on the same records: what each finds, without regard to order. */
function finds(name: string, table: Readonly<Record<string, string>>): Scenario {
  const steps = Object.entries(table).map(([selector, found]) => ({
    request: `GET {R}?_filter=${encodeURIComponent(selector)}`,
    status: 200,
    body: { data: unordered(...ids(found)) },
  }));
  return { name, given: things, request: 'GET {R}', then: steps };
}

function refuses(name: string, table: Readonly<Record<string, string>>): Scenario {
  const steps = Object.entries(table).map(([selector, message]) => ({
    request: `GET {R}?_filter=${encodeURIComponent(selector)}`,
    status: 400,
    errno: 107,
    text: new RegExp(message.replaceAll(/[$.[\]{}()+*?|^\\]/g, String.raw`\$&`)),
  }));
  return { name, given: ['collection'], request: 'GET {R}', then: steps };
}

describeScenarios('selectors', [
  finds('Values are compared as by filters.', {
    '{}': 'r1 r2 r3 r4 r5',
    '{"n":1}': 'r1',
    '{"n":1.0}': 'r1',
    '{"n":"2"}': 'r3',
    '{"n":null}': 'r4',
    '{"n":{"$eq":2}}': 'r2',
    '{"n":{"$ne":2}}': 'r1 r3 r4 r5',
    '{"n":{"$gt":1}}': 'r2 r5',
    '{"n":{"$gte":1,"$lt":2}}': 'r1',
    '{"n":{"$lte":1}}': 'r1 r3 r4',
    '{"n":{"$in":[1,"2"]}}': 'r1 r3',
    '{"n":{"$nin":[1,"2"]}}': 'r2 r4 r5',
    '{"n":{"$exists":false}}': 'r5',
    '{"o":{"k":1}}': 'r1',
    '{"o.k":{"$gt":1},"s":{"$exists":true}}': 'r2 r3 r4',
    '{"id":"r1"}': 'r1',
    '{"id":{"$in":["r1","r5",7]}}': 'r1 r5',
  }),
  finds('Texts, arrays and types have operators of their own.', {
    '{"s":{"$like":"APPLE"}}': 'r1 r2',
    '{"s":{"$like":"app*"}}': 'r1 r2',
    '{"s":{"$startsWith":"app"}}': 'r1',
    '{"s":{"$startsWith":""}}': 'r1 r2 r3 r4',
    '{"s":{"$startsWith":"\u{10ffff}"}}': 'r4',
    '{"n":{"$startsWith":"2"}}': 'r3',
    '{"n":{"$startsWith":"1"}}': '',
    '{"tags":{"$contains":"red"}}': 'r1 r2',
    '{"tags":{"$contains":["red","round"]}}': 'r1',
    '{"tags":{"$containsAny":["round","blue"]}}': 'r1',
    '{"tags":{"$size":1}}': 'r2',
    '{"tags":{"$size":0}}': 'r3',
    '{"n":{"$type":"number"}}': 'r1 r2',
    '{"n":{"$type":["null","string"]}}': 'r3 r4',
    '{"parts":{"$elemMatch":{"name":"b","size":1}}}': 'r4',
    '{"parts":{"$elemMatch":{"size":{"$gt":3}}}}': 'r3',
    '{"parts":{"$elemMatch":{"$or":[{"size":5},{"name":"c"}]}}}': 'r3',
    '{"numbers":{"$elemMatch":{"$gt":8}}}': 'r5',
    '{"numbers":{"$elemMatch":{"$gt":9}}}': '',
    '{"numbers":{"$elemMatch":{"$not":{"$lt":9}}}}': 'r5',
  }),
  finds('Combinations join conditions.', {
    '{"$or":[{"n":1},{"s":"banana"}]}': 'r1 r3',
    '{"$and":[{"n":{"$exists":true}},{"tags":{"$contains":"red"}}]}': 'r1 r2',
    '{"$nor":[{"n":1},{"s":"banana"}]}': 'r2 r4 r5',
    '{"$not":{"n":{"$exists":true}}}': 'r5',
    '{"n":{"$not":{"$gt":1}}}': 'r1 r3 r4',
    '{"$or":[{"$and":[{"n":1},{"s":"apple"}]},{"$nor":[{"s":{"$exists":true}}]}],"tags":{"$exists":true}}': 'r1',
    '{"$or":[{}]}': 'r1 r2 r3 r4 r5',
  }),
  {
    name: 'A selector and other parameters are joined.',
    given: things,
    request: 'GET {R}',
    then: [
      {
        request: `GET {R}?_filter=${encodeURIComponent('{"$or":[{"n":1},{"n":2}]}')}&tags=["red"]`,
        status: 200,
        body: { data: ids('r2') },
      },
      {
        request: `GET {R}?_filter=${encodeURIComponent('{"s":{"$exists":true}}')}&_sort=s&_fields=n&_limit=1`,
        status: 200,
        gives: { 'next-page': /_filter=/ },
        body: { data: ids('r2') },
      },
      {
        request: `HEAD {R}?_filter=${encodeURIComponent('{"n":{"$gt":1}}')}`,
        status: 200,
        gives: { 'total-objects': '2' },
      },
      {
        request: `DELETE {R}?_filter=${encodeURIComponent('{"$or":[{"n":1},{"n":null}]}')}`,
        status: 200,
        body: { data: unordered(...ids('r1 r4')) },
      },
      { request: 'GET {R}', status: 200, body: { data: unordered(...ids('r2 r3 r5')) } },
    ],
  },
  refuses('Malformed selectors are refused with the place of the fault.', {
    'n=1': 'expected JSON',
    '[]': 'expected a JSON object',
    '{"n":{"$gte":1,"x":2}}': 'n: operators and other members do not mix',
    '{"n":{"$regex":"a"}}': 'n.$regex: unknown operator',
    '{"n":{"$gtt":1}}': 'did you mean $gt?',
    '{"$where":"1"}': '$where: unknown operator',
    '{"$or":[]}': '$or: expected an array of selectors',
    '{"$or":[{"n":1},7]}': '$or[1]: expected a JSON object',
    '{"$or":[{"n":{"$in":3}}]}': '$or[0].n.$in: expected an array of values',
    '{"n":{"$exists":1}}': 'n.$exists: expected true or false',
    '{"n":{"$size":-1}}': 'n.$size: expected a number of elements',
    '{"n":{"$type":"date"}}': 'n.$type: expected one or more of',
    '{"n":{"$not":3}}': 'n.$not: expected a JSON object',
    '{"n":{"$startsWith":3}}': 'n.$startsWith: expected a text',
    '{"last_modified":{"$like":"1"}}': 'not accepted for last_modified',
    '{"n":{"$elemMatch":{"$like":"1"}}}': 'n.$elemMatch.$like: not accepted',
    [`{"n":{"$in":${JSON.stringify(Array.from({ length: 1001 }, (_, n) => n))}}}`]: 'more than 1000 values',
    [`{"$or":[{"n":{"$in":${JSON.stringify(Array.from({ length: 600 }, (_, n) => n))}}},{"n":{"$nin":${JSON.stringify(Array.from({ length: 401 }, (_, n) => n))}}}]}`]:
      '$or[1].n.$nin: more than 1000 values',
    [`{"$or":[${Array.from({ length: 201 }, () => '{"n":1}').join()}]}`]: 'more than 200 conditions',
    [`${'{"$not":'.repeat(11)}{"n":1}${'}'.repeat(11)}`]: 'more than 10 levels',
    '{"n":"\\u0000"}': 'expected JSON',
  }),
]);
