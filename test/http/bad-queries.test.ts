// Queries that are refused (docs/reference/http-api/lists.md).
import { ids } from './match.ts';
import { describeScenarios } from './scenarios.ts';

const inDays = String(Date.now() + 10 * 86_400_000);

const bad: readonly (readonly [string, string | null])[] = [
  ['_since=-1', '_since'],
  ['_since=abc', '_since'],
  ['_since=', '_since'],
  ['_since="abc"', '_since'],
  ['_since=9223372036854775808', '_since'],
  ['_since=1.5', '_since'],
  ['_since=true', '_since'],
  ['_since=null', '_since'],
  [`_since=${inDays}`, '_since'],
  [`_before=${inDays}`, '_before'],
  ['_before=x', '_before'],
  ['_to=x', '_to'],
  ['_since=1&_since=2', '_since'],
  ['last_modified=abc', 'last_modified'],
  ['last_modified=-5', 'last_modified'],
  ['gt_last_modified=1.5', 'gt_last_modified'],
  ['in_last_modified=a', 'in_last_modified'],
  ['like_last_modified=1', 'like_last_modified'],
  ['gt_n=1e400', 'gt_n'],
  ['in_n=[-1e400]', 'in_n'],
  ['n=%201e400%20', 'n'],
  ['contains_last_modified=1', 'contains_last_modified'],
  ['contains_id=a', 'contains_id'],
  ['contains_any_id=a', 'contains_any_id'],
  ['in_id=1,2', 'in_id'],
  ['exclude_id=1', 'exclude_id'],
  ['has_n=maybe', 'has_n'],
  ['n=a%00b', 'n'],
  ['in_n=a,%00', 'in_n'],
  ['n%00=1', 'n\0'],
  [String.raw`n="\ud800"`, 'n'],
  ['_limit=-1', '_limit'],
  ['_limit=abc', '_limit'],
  ['_limit=1.5', '_limit'],
  ['_limit=9223372036854775809', '_limit'],
  ['_limit=1&_limit=2', '_limit'],
  ['_token=!!!', null],
  ['_token=1', null],
  ['_token=%20', null],
  ['_token=e30', null],
  ['_token=bnVsbA==', null],
  [`_token=${Buffer.from('{"last_object":[],"offset":1,"nonce":"x"}').toString('base64url')}`, null],
  [`_token=${Buffer.from('{"last_object":{},"offset":1,"nonce":"x"}').toString('base64url')}`, null],
];

describeScenarios('bad queries', [
  // Proves S-161.
  ...bad.map(([query, name]) => ({
    name: `A list refuses ${query.slice(0, 40)}.`,
    given: ['collection'] as const,
    request: `GET {R}?${query}`,
    issues: [['querystring', name]] as const,
  })),
  {
    name: 'Faults of a query come after those of access.',
    given: ['collection'],
    request: 'bob: GET {R}?_since=x',
    status: 403,
  },
  {
    name: 'A list deletion refuses a bad query and deletes nothing.',
    given: ['record'],
    request: 'DELETE {R}?_since=x',
    issues: [['querystring', '_since']],
    then: [{ request: 'GET {R}', body: { data: ids('r') } }],
  },
  {
    name: 'Several faults are reported at once.',
    given: ['collection'],
    request: 'GET {R}?_since=x&_limit=y',
    issues: [
      ['querystring', '_limit'],
      ['querystring', '_since'],
    ],
  },
  {
    name: 'Too many filters are refused.',
    given: ['collection'],
    request: `GET {R}?${Array.from({ length: 101 }, (_, index) => `f${index}=1`).join('&')}`,
    status: 400,
    errno: 107,
  },
]);
