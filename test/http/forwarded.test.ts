// Scheme and host of the service behind a proxy (docs/guides/operating.md).
import { describe, expect, it } from 'vitest';
import { compileTrusted, readForwarded } from '../../src/http/forwarded.ts';
import { startTestService } from '../../src/testing/index.ts';
import { describeScenarios, type Scenario } from './scenarios.ts';

const told = (name: string, headers: Readonly<Record<string, string>>, url: string): Scenario => ({
  name,
  request: 'nobody: GET /',
  headers,
  status: 200,
  body: { url },
});

describeScenarios(
  'behind a trusted proxy',
  [
    told('Nothing forwarded changes nothing.', {}, '{origin}/v1/'),
    told('The scheme is believed.', { 'X-Forwarded-Proto': 'https', Host: 'a.test' }, 'https://a.test/v1/'),
    told('The host is believed.', { 'X-Forwarded-Host': 'api.test:8443', Host: 'inner' }, 'http://api.test:8443/v1/'),
    told(
      'The last entry counts: the nearest proxy wrote it.',
      { 'X-Forwarded-Proto': 'http, https', 'X-Forwarded-Host': 'evil.test, api.test' },
      'https://api.test/v1/',
    ),
    told(
      'The standard header is understood.',
      { Forwarded: 'for=1.2.3.4;host=evil.test, for="[::1]";Proto=HTTPS;host="api.test:8443"' },
      'https://api.test:8443/v1/',
    ),
    told(
      'The standard header is ignored if the older ones are present.',
      { Forwarded: 'proto=https;host=evil.test', 'X-Forwarded-Proto': 'https', Host: 'api.test' },
      'https://api.test/v1/',
    ),
    told('The default port of http is left out.', { Host: 'a.test:80' }, 'http://a.test/v1/'),
    told(
      'The default port of https is left out.',
      { 'X-Forwarded-Proto': 'https', Host: 'a.test:443' },
      'https://a.test/v1/',
    ),
    told(
      'The default port of the other scheme stays.',
      { 'X-Forwarded-Proto': 'https', Host: '[::1]:80' },
      'https://[::1]:80/v1/',
    ),
    told(
      'A scheme that is none is ignored.',
      { 'X-Forwarded-Proto': 'javascript', Host: 'a.test' },
      'http://a.test/v1/',
    ),
    ...['a.test/x', 'a.test@b', '"><script>', 'a b', 'a.test:', ''].map((host) =>
      told(
        `The host ${JSON.stringify(host)} is ignored.`,
        { 'X-Forwarded-Host': host, Host: 'a.test' },
        'http://a.test/v1/',
      ),
    ),
  ],
  { settings: { trusted_proxies: '127.0.0.0/8' } },
);

const everything = {
  'X-Forwarded-Proto': 'https',
  'X-Forwarded-Host': 'evil.test',
  Forwarded: 'proto=https;host=evil.test',
  Host: 'a.test',
};

describeScenarios('without a trusted proxy', [told('Nobody is believed.', everything, 'http://a.test/v1/')]);

describeScenarios(
  'behind another proxy than the trusted one',
  [told('It is not believed.', everything, 'http://a.test/v1/')],
  { settings: { trusted_proxies: '10.0.0.0/8 ::1' } },
);

describeScenarios(
  'with a configured host',
  [told('Settings go before what proxies say.', everything, 'https://store.test/v1/')],
  { settings: { trusted_proxies: '127.0.0.1', http_scheme: 'https', http_host: 'store.test' } },
);

describe('trusted proxies', () => {
  it.each<readonly [string, string, boolean]>([
    ['127.0.0.1', '127.0.0.1', true],
    ['127.0.0.1', '::ffff:127.0.0.1', true],
    ['127.0.0.1', '127.0.0.2', false],
    ['10.0.0.0/8', '10.255.0.1', true],
    ['10.0.0.0/8', '11.0.0.1', false],
    ['fd00::/8', 'fd12::1', true],
    ['fd00::/8', 'fe12::1', false],
    ['loopback', '::1', true],
    ['0.0.0.0/0', '1.2.3.4', true],
  ])('%s and %s: %s.', (entry, address, expected) => {
    expect(compileTrusted([entry])(address)).toBe(expected);
  });

  it('An unknown peer is not trusted.', () => {
    expect(compileTrusted(['0.0.0.0/0', '::/0'])(undefined)).toBe(false);
  });

  it.each(['x', '10.0.0.0/33', '10.0.0.0/', '10.0.0/8', '::/129', '1.2.3.4/-1'])(
    '%s is reported at the start.',
    async (entry) => {
      expect(() => compileTrusted([entry])).toThrow(entry);
      await expect(startTestService({ settings: { trusted_proxies: entry } })).rejects.toThrow();
    },
  );

  it('Malformed headers are ignored.', () => {
    expect(readForwarded({ forwarded: ';;=;host;proto=;host=""' })).toEqual({});
    expect(readForwarded({ 'x-forwarded-proto': ',' })).toEqual({});
  });
});
