// The page for browsers that shows the description of the API: its files, its policy, and the setting that removes it.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestService, type TestService } from '../../src/testing/index.ts';

describe('the API page', () => {
  let service: TestService;

  beforeAll(async () => {
    service = await startTestService();
  });
  afterAll(() => service.close());

  it('loads files of the service alone, and runs no script of its own text', async () => {
    const { status, headers, text } = await service.request('GET', '/v1/docs');
    expect(status).toBe(200);
    expect(headers['content-type']).toMatch(/^text\/html/);
    const policy = headers['content-security-policy'] ?? '';
    expect(policy.split('; ')).toEqual(
      expect.arrayContaining(["default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'"]),
    );
    expect(policy).not.toContain('unsafe');
    expect(headers['x-content-type-options']).toBe('nosniff');
    const addresses = [...text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, address = '']) => address);
    expect(addresses).toContain('docs/swagger-ui-bundle.js');
    for (const address of addresses.filter((each) => each !== 'data:,')) {
      const found = await service.request('GET', `/v1/${address}`);
      expect([address, found.status]).toEqual([address, 200]);
    }
    expect(text).not.toMatch(/<script(?![^>]*\bsrc=)|\son\w+=|\sstyle=/);
  });

  it('redirects without the version, and with a trailing slash', async () => {
    const location = `${service.origin}/v1/docs`;
    expect(await service.request('GET', '/docs')).toMatchObject({ status: 307, headers: { location } });
    expect(await service.request('GET', '/v1/docs/')).toMatchObject({ status: 307, headers: { location } });
  });

  it.each(['../package.json', '%2e%2e/package.json', 'index.html', 'nothing.js', 'swagger-ui-bundle.js/..'])(
    'serves no other file: %s',
    async (name) => {
      const { status } = await service.request('GET', `/v1/docs/${name}`);
      expect(status).toBe(404);
    },
  );

  it('is read only', async () => {
    const { status, headers } = await service.request('POST', '/v1/docs', { body: {} });
    expect([status, headers['allow']]).toEqual([405, 'GET, HEAD, OPTIONS']);
  });

  it('is removed by api_docs_enabled', async () => {
    const without = await startTestService({ settings: { api_docs_enabled: 'false' } });
    try {
      expect((await without.request('GET', '/v1/docs')).status).toBe(404);
      expect((await without.request('GET', '/v1/docs/page.js')).status).toBe(404);
    } finally {
      await without.close();
    }
  });
});
