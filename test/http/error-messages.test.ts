// What errors say to the author of an application: the place of the fault, what is accepted, and what to send instead.
import { absent } from './match.ts';
import { describeScenarios, type Scenario } from './scenarios.ts';

const everyone = '"permissions":{"read":["system.Everyone"]}';

/** A body sent as it stands to a collection, and the description of the one detail of its refusal. */
function refused(name: string, raw: string, description: RegExp): Scenario {
  return {
    name,
    given: ['collection'],
    request: 'POST {R}',
    raw,
    headers: { 'Content-Type': 'application/json' },
    status: 400,
    errno: 107,
    body: { message: description, details: [{ location: 'body', name: '', description }] },
  };
}

describeScenarios('malformed JSON', [
  refused(
    'names line and column of the fault.',
    '{\n  "data": {\n    "title": oops\n  }\n}',
    /malformed JSON at line 3, column 14: expected a value, found oops$/,
  ),
  refused(
    'says when the body ends too early.',
    '{"data":',
    /line 1, column 9: expected a value, found the end of the text$/,
  ),
  refused(
    'explains a comma too many.',
    '{"data":{"a":1,}}',
    /column 16: .* found "}" \(JSON takes no comma before "}"\)$/,
  ),
  refused('explains single quotes.', "{'data':{}}", /column 2: .*\(JSON takes double quotes\)$/),
  refused('explains comments.', '// hi\n{}', /column 1: .*\(JSON has no comments\)$/),
  refused('names what follows the document.', '{"data":{}} x', /expected the end of the text, found x$/),
  refused('finds the line break in a text.', '{"data":{"a":"x\ny"}}', /column 16: a control character must be escaped/),
  refused('finds a text without end.', '{"data":{"a":"x}}', /column 14: this text has no closing double quote$/),
  refused('finds an unknown escape sequence.', String.raw`{"data":{"a":"\q"}}`, /column 15: unknown escape sequence/),
  refused(
    'names the place in a body that is read in steps.',
    `{"data":{"a":"${'x'.repeat(70_000)}",\n"b":}}`,
    /line 2, column 5: expected a value, found "}"$/,
  ),
  {
    name: 'repeats at most a word of the body.',
    given: ['collection'],
    request: 'POST {R}',
    raw: `{"data": ${'s3cret'.repeat(50)}`,
    headers: { 'Content-Type': 'application/json' },
    status: 400,
    text: /^[^]{0,300}$/,
  },
  {
    name: 'has one detail in a PATCH and in a batch.',
    given: ['record'],
    request: 'PATCH {R}/r {"data":',
    status: 400,
    body: { details: [{ location: 'body', name: '', description: /line 1, column 9/ }] },
    then: [
      {
        request: 'POST /batch {"requests":[}',
        status: 400,
        body: { details: [{ location: 'body', name: '', description: /line 1, column 14/ }] },
      },
    ],
  },
]);

describeScenarios('bodies without envelope', [
  {
    name: 'The answer shows the body with its attributes in data.',
    given: ['collection'],
    request: 'POST {R} {"title":"x","n":1}',
    status: 400,
    body: {
      message: 'body: unknown members: ["title","n"]. Put attributes in "data": {"data": {"title": "x", "n": 1}}',
    },
  },
  {
    name: 'The corrected body keeps data and permissions that were sent.',
    given: ['collection'],
    request: 'PUT {R}/x {"data":{"a":1},"b":2,"permissions":{"read":["x"]}}',
    status: 400,
    body: { message: /: \{"data": \{"a": 1, "b": 2\}, "permissions": \{"read": \["x"\]\}\}$/ },
  },
  {
    name: 'The corrected body is shortened.',
    given: ['collection'],
    request: `POST {R} {${Array.from({ length: 500 }, (_, i) => `"name${i}":"${'x'.repeat(500)}"`).join(',')}}`,
    status: 400,
    text: /^[^]{0,3000}$/,
  },
  {
    name: 'A PATCH and an entry of a batch get the same advice.',
    given: ['record'],
    request: 'PATCH {R}/r {"title":"x"}',
    status: 400,
    body: { message: /\{"data": \{"title": "x"\}\}$/ },
    then: [
      {
        request: 'POST /batch {"requests":[{"method":"PUT","path":"{R}/y","body":{"title":"x"}}]}',
        body: { responses: [{ status: 400, body: { message: /\{"data": \{"title": "x"\}\}$/ } }] },
      },
    ],
  },
  {
    name: 'A misspelt member is reported with the right name.',
    given: ['collection'],
    request: 'POST {R} {"dat":{}}',
    status: 400,
    body: { message: /did you mean "data"\?$/ },
  },
  {
    name: 'The type of a wrong value is reported.',
    given: ['collection'],
    request: 'POST {R} []',
    status: 400,
    body: { message: /expected a JSON object such as .*, not a list$/ },
    then: [{ request: 'POST {R} {"data":3}', status: 400, body: { message: /expected an object, not a number$/ } }],
  },
  {
    name: 'An unknown permission is refused with the names of those that exist.',
    given: ['collection'],
    request: 'POST {R} {"data":{},"permissions":{"reed":["x"]}}',
    status: 400,
    body: { message: /unknown permissions: \["reed"\]\. Allowed: .*\bread\b/ },
  },
  {
    name: 'The default media type of curl is reported, with the accepted type.',
    given: ['collection'],
    request: 'POST {R}',
    raw: '{"data":{}}',
    headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
    status: 415,
    body: { message: 'Content-Type must be application/json, not "application/x-www-form-urlencoded"' },
  },
  {
    name: 'A list of operations with the JSON type is refused with the right type.',
    given: ['record'],
    request: 'PATCH {R}/r []',
    status: 400,
    body: { message: /application\/json-patch\+json/ },
  },
]);

describeScenarios('empty bodies', [
  {
    name: 'A POST without body creates an object, with a warning about the body to send.',
    given: ['collection'],
    request: 'POST {R}',
    status: 201,
    gives: { warning: /^299 coffer "the request has no body, .* \{\\"data\\": \{\\"title\\": \\"New\\"\}\}"$/ },
    then: [{ request: 'POST {R} {"data":{}}', status: 201, gives: { warning: absent } }],
  },
  {
    name: 'A batch without body is refused with the expected form.',
    request: 'POST /batch',
    status: 400,
    body: { message: /as in \{"requests": \[\{"method": "GET", "path": "\/buckets"\}\]\}$/ },
  },
  {
    name: 'A PATCH without content is refused with the expected form.',
    given: ['record'],
    request: 'PATCH {R}/r',
    issues: [['body', 'data']],
    body: { message: /send "data" or "permissions" or both/ },
  },
]);

describeScenarios('PATCH without content', [
  ...['application/json', 'application/merge-patch+json', 'application/json-patch+json'].flatMap((type): Scenario[] => [
    {
      name: `is 404 for an object that does not exist (${type}).`,
      given: ['collection'],
      request: 'PATCH {R}/zz',
      headers: { 'Content-Type': type },
      status: 404,
      errno: 110,
    },
    {
      name: `is 412 for a precondition that does not hold (${type}).`,
      given: ['record'],
      request: 'PATCH {R}/r',
      headers: { 'Content-Type': type, 'If-Match': '"1"' },
      status: 412,
      errno: 114,
    },
    {
      name: `is 400 otherwise, and changes nothing (${type}).`,
      given: ['record', { request: 'GET {R}/r', save: 'r' }],
      request: 'PATCH {R}/r',
      headers: { 'Content-Type': type, 'If-Match': '{r.etag}' },
      issues: [['body', 'data']],
      then: [{ request: 'GET {R}/r', gives: { etag: '{r.etag}' } }],
    },
  ]),
  {
    name: 'is 404 with an empty object as well.',
    given: ['collection'],
    request: 'PATCH {R}/zz {}',
    status: 404,
  },
  {
    name: 'is 403 for callers without access, whether the object exists or not.',
    given: ['record'],
    request: 'bob: PATCH {R}/zz',
    status: 403,
    then: [{ request: 'bob: PATCH {R}/r', status: 403 }],
  },
]);

describeScenarios('ids and missing objects', [
  {
    name: 'A refused id is repeated, with a description of the allowed form.',
    given: ['collection'],
    request: 'PUT {R}/a.b',
    status: 400,
    body: {
      message: /the id "a\.b" is not allowed\. Allowed: letters, digits, "-" and "_", with a letter or digit first/,
    },
    then: [
      {
        request: 'POST {R} {"data":{"id":7}}',
        status: 400,
        body: { message: /the id 7 is not allowed\. Allowed: letters/ },
      },
      { request: `PUT {R}/${'a.'.repeat(300)}`, status: 400, text: /^[^]{0,700}$/ },
    ],
  },
  {
    name: 'A missing object is named.',
    given: ['collection'],
    request: 'GET {R}/zz',
    status: 404,
    body: { message: 'The record "zz" does not exist.', details: { id: 'zz', resource_name: 'record' } },
    then: [
      { request: 'DELETE {R}/zz', status: 404, body: { message: 'The record "zz" does not exist.' } },
      {
        request: `GET {R}/${'z'.repeat(500)}`,
        status: 404,
        body: { message: /^The record "z{60}…" does not exist\.$/ },
      },
    ],
  },
  {
    name: 'A missing parent is named.',
    given: ['bucket'],
    request: 'GET {B}/collections/nope/records',
    status: 404,
    errno: 111,
    body: { message: 'The collection "nope" does not exist.' },
    then: [{ request: 'PUT {B}/collections/nope/records/r', status: 404, body: { message: /^The collection "nope"/ } }],
  },
  {
    name: 'Callers without access learn nothing about what exists.',
    given: ['record'],
    request: 'bob: GET {R}/zz',
    status: 403,
    body: { message: 'Not allowed for this user.', details: absent },
    then: [
      { request: 'bob: GET {R}/r', status: 403, body: { message: 'Not allowed for this user.', details: absent } },
      { request: 'bob: GET {B}/collections/nope/records', status: 403, body: { details: absent } },
    ],
  },
]);

describeScenarios(
  'query parameters that do nothing',
  [
    ...(
      [
        ['_order=title', '_order is ignored; did you mean _sort'],
        ['_search=soup', '_search is ignored; did you mean _q'],
        ['_page=2', '_page is ignored; did you mean the address in the header Next-Page'],
        ['_limt=2', '_limt is ignored; did you mean _limit'],
        ['_sinse=2', '_sinse is ignored; did you mean _since'],
      ] as const
    ).map(([query, text]): Scenario => ({
      name: `warns of ${query}.`,
      given: ['record'],
      request: `GET {R}?${query}`,
      body: { data: [{ id: 'r' }] },
      gives: {
        warning: `299 coffer "the parameter ${text}?"`,
        'access-control-expose-headers': /\bWarning\b/,
      },
      then: [{ request: `HEAD {R}?${query}`, gives: { warning: /^299 coffer/, 'total-objects': '1' } }],
    })),
    ...(
      [
        ['gte_minutes=5', 'gte_minutes', 'min_minutes'],
        ['minutes__lte=5', 'minutes__lte', 'max_minutes'],
        ['minutes%5Bgte%5D=5', 'minutes%5Bgte%5D', 'min_minutes'],
        ['minutes_gte=5', 'minutes_gte', 'min_minutes'],
        ['neq_minutes=5', 'neq_minutes', 'not_minutes'],
        ['limit=5', 'limit', '_limit'],
        ['sort=title', 'sort', '_sort'],
        ['q=soup', 'q', '_q'],
      ] as const
    ).map(([query, name, meant]): Scenario => ({
      name: `warns of ${query} when nothing is found.`,
      given: ['record'],
      request: `GET {R}?${query}`,
      body: { data: [] },
      gives: { warning: `299 coffer "${name} filters by an attribute of that name; did you mean ${meant}?"` },
      then: [
        { request: `HEAD {R}?${query}`, gives: { warning: /^299 coffer/, 'total-objects': '0' } },
        { request: `DELETE {R}?${query}`, body: { data: [] }, gives: { warning: /^299 coffer/ } },
      ],
    })),
    {
      name: 'does not warn of a filter by an attribute that objects have.',
      given: ['collection', 'PUT {R}/r {"data":{"limit":5,"gte_minutes":3}}'],
      request: 'GET {R}?limit=5&gte_minutes=3',
      body: { data: [{ id: 'r' }] },
      gives: { warning: absent },
    },
    {
      name: 'does not warn of ordinary filters and cache-busting parameters.',
      given: ['record'],
      request: 'GET {R}?_=1&_t=2&_cb=3&_expected=4&_since=0&_limit=3&_sort=a&_fields=a&min_a=0&has_a=true&a=1',
      body: { data: [{ id: 'r' }] },
      gives: { warning: absent },
      then: [{ request: 'GET {R}?min_a=9&title=x&in_id=q', body: { data: [] }, gives: { warning: absent } }],
    },
    {
      name: 'refuses to delete by an unknown condition.',
      given: ['record'],
      request: 'DELETE {R}?_search=soup',
      issues: [['querystring', '_search']],
      body: { message: /did you mean _q\?/ },
      then: [{ request: 'GET {R}', body: { data: [{ id: 'r' }] } }, 'DELETE {R}?_=1'],
    },
    {
      name: 'warns of misspelt _fields of a single object, and of nothing else.',
      given: ['record'],
      request: 'GET {R}/r?_feilds=a&_order=a',
      gives: { warning: '299 coffer "the parameter _feilds is ignored; did you mean _fields?"' },
      then: [{ request: 'GET {R}/r?fields=a', gives: { warning: /did you mean _fields/ } }],
    },
    {
      name: 'quotes names safely, and not too many.',
      given: ['record'],
      request: `GET {R}?limit=1&x"\\,%0D%0Ay%5Bgte%5D=1&%C3%A9__gte=1&sort=1&${'a'.repeat(500)}__gte=1`,
      body: { data: [] },
      gives: { warning: /^(?:299 coffer "[\x21\x23-\x5b\x5d-\x7e ]*"(?:, |$)){3}$/ },
    },
    {
      name: 'warns inside of batches.',
      given: ['record'],
      request: 'POST /batch {"requests":[{"path":"{R}?_order=a"},{"path":"{R}?a=1"}]}',
      body: {
        responses: [
          { status: 200, headers: { Warning: /_sort/ } },
          { status: 200, headers: { Warning: absent } },
        ],
      },
    },
    {
      name: 'is 400 with a suggestion in lists whose attributes are known.',
      given: ['record'],
      request: 'GET {B}/history?gte_date=3',
      issues: [['querystring', 'gte_date']],
      body: { message: /did you mean min_date\?/ },
      then: [{ request: 'GET {B}/history?_order=date', gives: { warning: /did you mean _sort/ } }],
    },
    {
      name: 'reveals nothing to callers without access.',
      given: ['record', `PATCH {C} {${everyone.replace('Everyone', 'Authenticated')}}`],
      request: 'nobody: GET {R}?_order=a',
      status: 401,
      gives: { warning: absent },
    },
  ],
  { settings: { includes: 'history' } },
);
