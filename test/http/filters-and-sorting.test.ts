// What filters find and how lists are sorted (docs/reference/http-api/lists.md).
import { absent, ids, unordered } from './match.ts';
import { describeScenarios, type RequestLine, type Scenario } from './scenarios.ts';

const numbers: readonly ('collection' | RequestLine)[] = [
  'collection',
  'PUT {R}/r1 {"data":{"n":1}}',
  'PUT {R}/r2 {"data":{"n":2}}',
  'PUT {R}/r3 {"data":{"n":10}}',
  'PUT {R}/r4 {"data":{"n":"2"}}',
  'PUT {R}/r5 {"data":{"n":null}}',
  'PUT {R}/r6 {"data":{}}',
  'PUT {R}/r7 {"data":{"n":1.5}}',
  'PUT {R}/r8 {"data":{"n":[1]}}',
  'PUT {R}/r9 {"data":{"n":{"a":1}}}',
];

/** One scenario for all queries on the same records: what each finds, without regard to order. */
function finds(name: string, given: Scenario['given'], table: Readonly<Record<string, string>>): Scenario {
  const steps = Object.entries(table).map(([query, found]) => ({
    request: `GET {R}?${query}`,
    status: 200,
    body: { data: unordered(...ids(found)) },
  }));
  return { name, ...(given === undefined ? {} : { given }), request: 'GET {R}', then: steps };
}

/** The same, in order. */
function sorts(name: string, given: Scenario['given'], table: Readonly<Record<string, string>>): Scenario {
  const steps = Object.entries(table).map(([query, found]) => ({
    request: `GET {R}?${query}`,
    status: 200,
    body: { data: ids(found) },
  }));
  return { name, ...(given === undefined ? {} : { given }), request: 'GET {R}', then: steps };
}

const all = 'r1 r2 r3 r4 r5 r6 r7 r8 r9';

describeScenarios('filters', [
  // Proves S-162.
  finds('Equality is typed.', numbers, {
    'n=1': 'r1',
    'n=1.0': 'r1',
    'n=2': 'r2',
    'n="2"': 'r4',
    'n=null': 'r5',
    'n=[1]': 'r8',
    'n={"a":1}': 'r9',
    'n=': '',
    'missing=null': '',
    'eq_n=2': 'r2',
    'n=[2]': '',
    'n={"a":2}': '',
  }),
  finds('Not finds what is missing.', numbers, {
    'not_n=1': 'r2 r3 r4 r5 r6 r7 r8 r9',
    'not_n=null': 'r1 r2 r3 r4 r6 r7 r8 r9',
    'not_missing=1': all,
  }),
  finds('Order compares across types.', numbers, {
    'min_n=2': 'r2 r3 r6 r8 r9',
    'max_n=2': 'r1 r2 r4 r5 r7',
    'lt_n=2': 'r1 r4 r5 r7',
    'gt_n=1': 'r2 r3 r6 r7 r8 r9',
    'gt_n=null': 'r1 r2 r3 r4 r6 r7 r8 r9',
    'lt_n=null': '',
    'gt_missing=1': all,
    'lt_missing=1': '',
    'gt_n="1"': 'r1 r2 r3 r4 r6 r7 r8 r9',
    'lt_n=true': 'r1 r2 r3 r4 r5 r7',
    'gt_n=[1]': 'r6 r9',
    'min_n={"a":1}': 'r6 r9',
  }),
  // Proves S-159, S-160.
  finds('Lists of values are split at commas.', numbers, {
    'in_n=1,2': 'r1 r2',
    'in_n="2",1': 'r1 r4',
    'in_n=[1]': 'r8',
    'in_n=null,10': 'r3 r5',
    'in_n=': '',
    'in_missing=1': '',
    'exclude_n=1,2': 'r3 r4 r5 r6 r7 r8 r9',
    'exclude_missing=1': all,
    'exclude_n=null': 'r1 r2 r3 r4 r6 r7 r8 r9',
    'in_id=r1,r9': 'r1 r9',
    'exclude_id=r1,r2,r3,r4,r5,r6,r7': 'r8 r9',
    'in_id=': '',
  }),
  finds('Presence can be asked for.', numbers, {
    'has_n=true': 'r1 r2 r3 r4 r5 r7 r8 r9',
    'has_n=1': 'r1 r2 r3 r4 r5 r7 r8 r9',
    'has_n=yes': 'r1 r2 r3 r4 r5 r7 r8 r9',
    'has_n=false': 'r6',
    'has_n=0': 'r6',
    'has_n=no': 'r6',
    'has_n.a=true': 'r9',
  }),
  finds('Filters are combined with and.', numbers, {
    'min_n=1&max_n=2': 'r1 r2 r7',
    'has_n=true&n=2': 'r2',
    'n=1&n=2': '',
    'n=1&n=1': 'r1',
    'not_n=1&not_n=2': 'r3 r4 r5 r6 r7 r8 r9',
    'in_n=1,2&in_n=2,10': 'r2',
  }),
  finds('Ids can be filtered.', numbers, {
    'id=r1': 'r1',
    'id="r1"': 'r1',
    'gt_id=r7': 'r8 r9',
    'min_id=r8': 'r8 r9',
    'lt_id=r2': 'r1',
    'not_id=r1': 'r2 r3 r4 r5 r6 r7 r8 r9',
    'id=1': '',
    'like_id=r': all,
    'like_id=*9': 'r9',
  }),
  finds(
    'Names with an underscore and no field are fields.',
    ['collection', 'PUT {R}/x {"data":{"min_age":3,"like":5,"in-x":7}}'],
    { 'eq_min_age=3': 'x', 'eq_min_age=4': '', 'min_age=1': 'x', 'like=5': 'x', 'in-x=7': 'x' },
  ),
  finds(
    'Texts are compared by case and code point.',
    [
      'collection',
      'PUT {R}/a {"data":{"s":"Apple"}}',
      'PUT {R}/b {"data":{"s":"apple"}}',
      'PUT {R}/c {"data":{"s":"10"}}',
      'PUT {R}/d {"data":{"s":"ａ"}}',
      'PUT {R}/e {"data":{"s":"😀"}}',
    ],
    {
      's=Apple': 'a',
      's="Apple"': 'a',
      's=10': '',
      's="10"': 'c',
      'lt_s=a': 'a c',
      'gt_s=apple': 'd e',
      [`gt_s=${encodeURIComponent('ａ')}`]: 'e',
      's=%F0%9F%98%80': 'e',
    },
  ),
  finds(
    'Query strings are form-decoded.',
    [
      'collection',
      'PUT {R}/a {"data":{"s":"a b"}}',
      'PUT {R}/b {"data":{"s":"a+b"}}',
      'PUT {R}/c {"data":{"s":"50%"}}',
    ],
    { 's=a+b': 'a', 's=a%20b': 'a', 's=a%2Bb': 'b', 's=50%25': 'c', '%73=a+b': 'a' },
  ),
  finds(
    'Booleans are booleans.',
    [
      'collection',
      'PUT {R}/a {"data":{"b":true}}',
      'PUT {R}/b {"data":{"b":"True"}}',
      'PUT {R}/c {"data":{"b":false}}',
    ],
    { 'b=true': 'a', 'b=True': 'b', 'b=false': 'c', 'lt_b=true': 'b c' },
  ),
  finds(
    'Text matching takes stars and nothing else.',
    [
      'collection',
      'PUT {R}/a {"data":{"s":"Hello World"}}',
      'PUT {R}/b {"data":{"s":"100% _x\\\\y"}}',
      'PUT {R}/c {"data":{"s":"1000"}}',
      'PUT {R}/d {"data":{"s":42}}',
      'PUT {R}/e {"data":{"s":["a","b"]}}',
      'PUT {R}/f {"data":{"s":null}}',
      'PUT {R}/g',
      'PUT {R}/h {"data":{"s":"ΟΔΥΣΣΕΥΣ 1e400ab"}}',
    ],
    {
      [`like_s=${encodeURIComponent('ΟΔΥΣ')}`]: 'h',
      [`like_s=${encodeURIComponent('οδυσσευς')}*`]: 'h',
      [`like_s=${encodeURIComponent('οδυσσευσ')}*`]: 'h',
      'like_s=1e400ab': 'h',
      'like_s=1e400': 'h',
      'like_s=hello': 'a',
      'like_s=hello*': 'a',
      'like_s=world*': '',
      'like_s=*WORLD': 'a',
      'like_s=h*o*w': '',
      'like_s=h*o*d': 'a',
      'like_s=100%25': 'b',
      'like_s=_': 'b',
      'like_s=%5C': 'b',
      'like_s=10': 'b c',
      'like_s="10"': 'b c',
      'like_s=42': 'd',
      'like_s=.': '',
      'like_s=(': '',
      'like_s=["a"': 'e',
    },
  ),
  finds(
    'Elements of arrays can be looked for.',
    [
      'collection',
      'PUT {R}/a {"data":{"t":["x","y",1]}}',
      'PUT {R}/b {"data":{"t":["x",{"p":1,"q":2}]}}',
      'PUT {R}/c {"data":{"t":"xyz"}}',
      'PUT {R}/d {"data":{"t":[]}}',
      'PUT {R}/e',
    ],
    {
      'contains_t=x': 'a b',
      'contains_t=["x","y"]': 'a',
      'contains_t=["x",1]': 'a',
      'contains_t=1': 'a',
      'contains_t="1"': '',
      'contains_t={"p":1}': 'b',
      'contains_t={"p":2}': '',
      'contains_t=x,y': '',
      'contains_t=[]': 'a b d',
      'contains_any_t=["y","zz"]': 'a',
      'contains_any_t=[]': '',
      'contains_any_t=x': 'a b',
    },
  ),
  finds(
    'Dots descend into objects.',
    [
      'collection',
      'PUT {R}/a {"data":{"p":{"name":"Eliot","k":1}}}',
      'PUT {R}/b {"data":{"p":{"name":"Ann","k":2}}}',
      'PUT {R}/c {"data":{"p":5}}',
      'PUT {R}/d {"data":{"p.name":"Eliot"}}',
      'PUT {R}/e {"data":{"p":[{"name":"Eliot"}]}}',
    ],
    {
      'p.name=Eliot': 'a',
      'min_p.k=2': 'b c d e',
      'has_p.k=true': 'a b',
      'has_p.k=false': 'c d e',
      'p.0.name=Eliot': '',
      'like_p.name=an': 'b',
    },
  ),
  finds('Other reserved names are ignored.', numbers, { '_expected="12"&n=1': 'r1', '_whatever=x': all }),
  // Proves S-156, S-157.
  finds(
    'Timestamps can be listed.',
    [
      'collection',
      'PUT {R}/a {"data":{"last_modified":1000}}',
      'PUT {R}/b {"data":{"last_modified":2000}}',
      'PUT {R}/c {"data":{"last_modified":3000}}',
    ],
    {
      'in_last_modified=1000,3000': 'a c',
      'in_last_modified="1000"': 'a',
      'exclude_last_modified=1000': 'b c',
      'last_modified=2000': 'b',
      'last_modified="2000"': 'b',
      'not_last_modified=2000': 'a c',
      'min_last_modified=2000': 'b c',
      '_since=1000': 'b c',
      '_since="1000"': 'b c',
      '_before=2000': 'a',
      '_since=1000&_before="3000"': 'b',
    },
  ),
  // Proves S-158, S-263.
  {
    name: 'The old name of _before works with a deprecation warning.',
    given: ['collection', 'PUT {R}/a {"data":{"last_modified":1000}}', 'PUT {R}/b'],
    request: 'GET {R}?_to=2000',
    body: { data: ids('a') },
    gives: { alert: /"code":"soft-eol"/ },
  },
  {
    name: 'Filters count on HEAD.',
    given: numbers,
    request: 'HEAD {R}?min_n=2&_limit=1',
    gives: { 'total-objects': '5', 'total-records': '5', 'next-page': absent },
  },
  // Proves S-128, S-131.
  {
    name: 'Buckets, collections and groups are filtered by any attribute.',
    given: [
      'PUT {B} {"data":{"k":"{b}"}}',
      'PUT {C} {"data":{"k":1}}',
      'PUT {B}/collections/d',
      'PUT {G}/g {"data":{"k":1,"members":["a"]}}',
      'PUT {G}/h',
    ],
    request: 'GET /buckets?k="{b}"',
    body: { data: ids('{b}') },
    then: [
      { request: 'GET {B}/collections?k=1', body: { data: ids('c') } },
      { request: 'GET {G}?contains_members=a', body: { data: ids('g') } },
    ],
  },
  { name: 'Filters are ignored on objects.', given: ['record'], request: 'GET {R}/r?a=2', status: 200 },
]);

describeScenarios('sorting', [
  // Proves S-163.
  sorts('Types have an order, missing values come last.', numbers, {
    '_sort=n': 'r5 r4 r1 r7 r2 r3 r8 r9 r6',
    '_sort=%2Bn': 'r5 r4 r1 r7 r2 r3 r8 r9 r6',
    '_sort=-n': 'r6 r9 r8 r3 r2 r7 r1 r4 r5',
    '_sort=id': all,
    '_sort=-id': 'r9 r8 r7 r6 r5 r4 r3 r2 r1',
    '_sort=last_modified': all,
    '_sort=-last_modified': 'r9 r8 r7 r6 r5 r4 r3 r2 r1',
  }),
  sorts(
    'Ties go to the newest.',
    [
      'collection',
      'PUT {R}/a {"data":{"n":1,"m":1}}',
      'PUT {R}/b {"data":{"n":1,"m":2}}',
      'PUT {R}/c {"data":{"n":0,"m":3}}',
    ],
    {
      '_sort=n': 'c b a',
      '_sort=-n': 'b a c',
      '_sort=n,-m': 'c b a',
      '_sort=n,m': 'c a b',
      '_sort=n,last_modified': 'c a b',
      '_sort=unknown': 'c b a',
      '_sort=': 'c b a',
      '_sort=--n': 'c b a',
      '_sort=n$,m': 'a b c',
    },
  ),
  sorts(
    'Nested fields sort.',
    [
      'collection',
      'PUT {R}/a {"data":{"o":{"k":2}}}',
      'PUT {R}/b {"data":{"o":{"k":1}}}',
      'PUT {R}/c {"data":{"o":3}}',
    ],
    { '_sort=o.k': 'b a c', '_sort=-o.k': 'c a b' },
  ),
  sorts(
    'Arrays and objects have an order.',
    [
      'collection',
      'PUT {R}/a {"data":{"v":[1,"x"]}}',
      'PUT {R}/b {"data":{"v":["x",1]}}',
      'PUT {R}/c {"data":{"v":[]}}',
      'PUT {R}/d {"data":{"v":true}}',
      'PUT {R}/e {"data":{"v":{}}}',
      'PUT {R}/f {"data":{"v":[[],null]}}',
      'PUT {R}/g {"data":{"v":false}}',
    ],
    { '_sort=v': 'g d c b a f e' },
  ),
  {
    name: 'Repeated sorting is refused.',
    given: ['collection'],
    request: 'GET {R}?_sort=a&_sort=b',
    issues: [['querystring', '_sort']],
  },
]);
