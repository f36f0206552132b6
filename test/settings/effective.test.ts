// The settings in effect, for operators: their sources, and nothing that could be a secret.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { loadSettings } from '../../src/backends/load-settings.ts';
import { setting } from '../../src/settings/definition.ts';
import { withoutCredentials, type EffectiveSetting } from '../../src/settings/effective.ts';
import { optional, text } from '../../src/settings/readers.ts';

const secret = 'hunter2-s3cret';
const file = `[app:main]
userid_hmac_secret = ${secret}-of-at-least-32-characters-xxx
storage_backend = postgresql
storage_url = postgresql://zoltan:${secret}@db/coffer
paginate_by = 100
multiauth.policy.google.use = OpenIDConnectPolicy
multiauth.policy.google.client_secret = ${secret}
multiauth.policy.google.passphrase = ${secret}
event_listeners = hook
event_listeners.hook.use = webhook
event_listeners.hook.url = https://zoltan:${secret}@example.org/hook?key=${secret}
event_listeners.hook.secret = ${secret}
made_up_name = ${secret}
plugin_url = ftp://zoltan:${secret}/,x@y@host/a?b=${secret}
plugin_dsn = ${secret}
plugin_key = ${secret}
plugin_endpoint = https://zoltan:${secret}@host
record_create_principals = system.Authenticated
`;
const table = {
  plugin_url: setting(text(), 'A place.', { default: '' }),
  plugin_dsn: setting(text(), 'Another place.', { default: '' }),
  plugin_key: setting(optional(text()), 'A key.', { default: undefined }),
  plugin_endpoint: setting(text(), 'A URL without a name that warns.', { default: '' }),
  plugin_token_lifetime: setting(text(), 'A number in the name of a secret.', { default: '5' }),
};

describe('Effective settings', () => {
  let folder: string;
  let all: ReadonlyMap<string, EffectiveSetting>;

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'coffer-test-'));
    writeFileSync(join(folder, 'coffer.ini'), file);
    const settings = loadSettings({
      cwd: folder,
      environment: {
        SVC_HTTP_PORT: '9000',
        SVC_MAIL_PASSWORD: secret,
        SVC_EVENT_LISTENERS_HOOK_SECRET: secret,
        SVC_EVENT_LISTENERS_OTHER_SECRET: secret,
        SVC_MADE_UP: secret,
        PORT: '9001',
        OTHER_TOKEN: secret,
      },
      overrides: { log_level: 'warn' },
    });
    all = new Map(settings.listEffective([table], []).map((each) => [each.name, each]));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test.each([
    ['http_port', { value: '9000', source: 'environment', place: 'SVC_HTTP_PORT', default: '8888' }],
    ['log_level', { value: 'warn', source: 'command line', place: undefined }],
    ['paginate_by', { value: '100', source: 'file', place: 'coffer.ini line 5' }],
    ['readonly', { value: 'false', source: 'default', place: undefined }],
    ['storage_backend', { value: 'postgresql', isHidden: false }],
    ['record_create_principals', { value: 'system.Authenticated', isHidden: false, description: undefined }],
    ['event_listeners', { value: 'hook' }],
    ['event_listeners.hook.url', { value: 'https://***@example.org/hook?***' }],
    ['multiauth.policy.google.use', { value: 'OpenIDConnectPolicy' }],
    ['plugin_url', { value: 'ftp://***@host/a?***' }],
    ['plugin_endpoint', { value: 'https://***@host' }],
    ['plugin_token_lifetime', { value: '5' }],
  ])('%s has its value and its source.', (name, expected) => {
    expect(all.get(name)).toMatchObject({ isHidden: false, ...expected });
  });

  test.each([
    'userid_hmac_secret',
    'storage_url',
    'mail.password',
    'multiauth.policy.google.client_secret',
    'multiauth.policy.google.passphrase',
    'event_listeners.hook.secret',
    'SVC_EVENT_LISTENERS_OTHER_SECRET',
    'made_up_name',
    'SVC_MADE_UP',
    'plugin_dsn',
    'plugin_key',
  ])('The value of %s is hidden.', (name) => {
    expect(all.get(name)).toMatchObject({ value: undefined, isHidden: true });
  });

  test('No value contains a secret, and each name occurs once, in order.', () => {
    const values = [...all.values()];
    expect(JSON.stringify(values)).not.toContain(secret);
    expect(JSON.stringify(values)).not.toContain('zoltan');
    const names = values.map(({ name }) => name);
    expect(names).toEqual(names.toSorted());
    // Neither variables of other programs nor those of known settings are settings of their own.
    for (const name of ['OTHER_TOKEN', 'PORT', 'SVC_HTTP_PORT', 'SVC_MAIL_PASSWORD']) expect(names).not.toContain(name);
  });
});

test.each([
  ['redis+cluster://u:a,b@h1:1,h2:2/0', 'redis+cluster://***@h1:1,h2:2/0'],
  ['http://a:b@c http://d:e@f?g=h', 'http://***@c http://***@f?***'],
  ['http://localhost:* http://[::1]:*', 'http://localhost:* http://[::1]:*'],
  ['https://host/?a=b@c', 'https://***@c'],
  ['no URL: a@b', 'no URL: a@b'],
])('%s becomes %s.', (given, expected) => {
  expect(withoutCredentials(given)).toBe(expected);
});
