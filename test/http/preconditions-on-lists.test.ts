// Preconditions on lists, and malformed ones (docs/reference/http-api/preconditions.md).
import { absent, ids, only } from './match.ts';
import { describeScenarios, type Step } from './scenarios.ts';

const one: Step = { request: 'PUT {R}/x {"data":{"a":1}}', save: 'x' };

const list: Step = { request: 'GET {R}', save: 'l' };

const given = ['collection', one] as const;

const when = (value: string): Record<string, string> => ({ 'If-Match': value });

const unless = (value: string): Record<string, string> => ({ 'If-None-Match': value });

const existing = {
  errno: 114,
  error: 'Precondition Failed',
  details: only({ existing: only({ id: 'x', a: 1, last_modified: '{x.time}' }) }),
};

const bare = { errno: 114, details: absent };

describeScenarios('preconditions on lists', [
  {
    name: 'GET of an unchanged list is 304.',
    given: [...given, list],
    request: 'GET {R}',
    headers: unless('{l.etag}'),
    status: 304,
    gives: { etag: '{l.etag}' },
  },
  {
    name: 'HEAD of an unchanged list is 304.',
    given: [...given, list],
    request: 'HEAD {R}',
    headers: unless('{l.etag}'),
    status: 304,
  },
  {
    name: 'GET of a changed list is normal.',
    given: [...given, list, 'PUT {R}/y'],
    request: 'GET {R}',
    headers: unless('{l.etag}'),
    status: 200,
  },
  {
    name: 'GET with If-Match and another timestamp is 412 without details.',
    given: [...given, list, 'PUT {R}/y'],
    request: 'GET {R}',
    headers: when('{l.etag}'),
    status: 412,
    body: bare,
  },
  {
    name: 'GET with If-Match and the timestamp of the list proceeds.',
    given: [...given, list],
    request: 'GET {R}?_since=5',
    headers: when('{l.etag}'),
    status: 200,
  },
  {
    name: 'A list always exists.',
    given: [...given],
    request: 'GET {R}',
    headers: unless('*'),
    status: 412,
    then: [
      { request: 'DELETE {R}', headers: unless('*'), status: 412 },
      { request: 'GET {R}', headers: when('*'), status: 200 },
    ],
  },
  {
    name: 'DELETE of a changed list is refused.',
    given: [...given, list, 'PUT {R}/y'],
    request: 'DELETE {R}',
    headers: when('{l.etag}'),
    status: 412,
    then: [{ request: 'HEAD {R}', gives: { 'total-objects': '2' } }],
  },
  {
    name: 'DELETE of an unchanged list proceeds.',
    given: [...given, list],
    request: 'DELETE {R}',
    headers: when('{l.etag}'),
    status: 200,
    body: { data: ids('x') },
  },
  // Proves S-168.
  {
    name: 'POST with If-None-Match: * and no id creates.',
    given: ['collection'],
    request: 'POST {R}',
    headers: unless('*'),
    status: 201,
  },
  // Proves S-168.
  {
    name: 'POST with If-None-Match: * and a free id creates.',
    given: ['collection'],
    request: 'POST {R} {"data":{"id":"x"}}',
    headers: unless('*'),
    status: 201,
  },
  // Proves S-168.
  {
    name: 'POST with If-None-Match: * and an existing id is refused.',
    given: [...given],
    request: 'POST {R} {"data":{"id":"x"}}',
    headers: unless('*'),
    status: 412,
    body: existing,
  },
  {
    name: 'POST compares with the list when no object exists.',
    given: [...given, list],
    request: 'POST {R} {"data":{"id":"y"}}',
    headers: when('{l.etag}'),
    status: 201,
    then: [{ request: 'POST {R} {"data":{"id":"z"}}', headers: when('{l.etag}'), status: 412, body: bare }],
  },
  {
    name: 'POST of an existing id compares with the object.',
    given: [...given, 'PUT {R}/y'],
    request: 'POST {R} {"data":{"id":"x"}}',
    headers: when('{x.etag}'),
    status: 200,
    then: [{ request: 'POST {R} {"data":{"id":"x"}}', headers: when('"1000"'), status: 412, body: existing }],
  },
  {
    name: 'POST with If-Match: * is refused when no object exists.',
    given: ['collection'],
    request: 'POST {R}',
    headers: when('*'),
    status: 412,
  },
]);

describeScenarios('malformed preconditions', [
  ...['1000', 'W/"1000"', '"1000", "2000"', '""', 'abc', '"-5"', '*x', '"abc"'].flatMap((value) => [
    {
      name: `If-Match: ${value} is refused.`,
      given: [...given],
      request: 'GET {R}/x',
      headers: when(value),
      issues: [['header', 'If-Match']] as const,
    },
    {
      name: `If-None-Match: ${value} is refused.`,
      given: [...given],
      request: 'PUT {R}/x',
      headers: unless(value),
      issues: [['header', 'If-None-Match']] as const,
    },
  ]),
  {
    name: 'The syntax of headers comes before existence.',
    given: ['collection'],
    request: 'GET {R}/x',
    headers: when('abc'),
    issues: [['header', 'If-Match']],
  },
  {
    name: 'Access comes before the syntax of headers.',
    given: [...given],
    request: 'bob: GET {R}/x',
    headers: when('abc'),
    status: 403,
  },
]);
