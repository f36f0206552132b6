// Responses when a backend fails (docs/reference/http-api/errors.md).
import { BackendUnavailable } from '../../src/contracts/errors.ts';
import { definePlugin } from '../../src/http/plugin.ts';
import { absent, only } from './match.ts';
import { describeScenarios } from './scenarios.ts';

const refused = (): Error =>
  Object.assign(new Error('connect ECONNREFUSED db.internal:5432'), { code: 'ECONNREFUSED' });

class ConnectionError extends Error {
  override readonly name = 'ConnectionError';
}

const failures: readonly (readonly [string, Error])[] = [
  ['coded', new BackendUnavailable('storage', 'SELECT on db.internal failed', { cause: refused() })],
  ['named', new BackendUnavailable('permission', 'on db.internal', { cause: new ConnectionError('password=x') })],
  ['bare', new BackendUnavailable('cache', 'the cache at db.internal is closed')],
];

/** Kinds whose objects cannot be written, each for another reason. */
const failing = definePlugin({
  name: 'failing',
  setup: () => ({
    kinds: failures.map(([name, error]) => ({
      name,
      path: `/${name}`,
      flavour: 'user' as const,
      afterChange: () => Promise.reject(error),
    })),
  }),
});

const expected: readonly (readonly [string, string, RegExp])[] = [
  ['coded', 'the code of its error', /\(storage: ECONNREFUSED\)/],
  ['named', 'the class of its error', /\(permission: ConnectionError\)/],
  ['bare', 'its own class of error where it has no other', /\(cache: BackendUnavailable\)/],
];

describeScenarios(
  'backends that fail',
  expected.map(([path, what, message]) => ({
    // Proves S-230, S-231, S-233, S-234, S-237.
    name: `A 503 names the backend and ${what}, and no hosts or secrets.`,
    request: `POST /${path}`,
    status: 503,
    body: only({
      code: 503,
      errno: 201,
      error: 'Service Unavailable',
      message,
      info: 'https://help.example.org/',
    }),
    text: /^(?!.*(?:internal|SELECT|password))/s,
    gives: { 'retry-after': '3' },
    then: [{ request: `GET /${path}?_since=0`, status: 200, gives: { 'retry-after': absent }, body: { data: [] } }],
  })),
  { plugins: [failing], settings: { error_info_link: 'https://help.example.org/' } },
);
