// Signing with a remote server. The tests run one that checks requests and signs them as Autograph does.
import { createHash, createHmac, sign, type KeyObject } from 'node:crypto';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startTestService, type TestClient, type TestService } from '../../src/testing/index.ts';
import { createKeys, dataOf, fetchChangeset, isTrue, setStatus, type SigningKeys } from '../support/signing.ts';

const secret = 'a key that both know';
const source = '/buckets/staging/collections/c';

describe('A signing server', () => {
  let keys: SigningKeys;
  let server: Server;
  let service: TestService;
  let alice: TestClient;
  /** Replaces the signing response of the server. */
  let fault: { readonly status: number; readonly body: string } | 'silence' | undefined;

  beforeEach(async () => {
    fault = undefined;
    keys = createKeys();
    server = createServer((request, response) => {
      void readBody(request).then((body) => {
        if (fault === 'silence') return;
        const { status, body: answer } = fault ?? answerTo(request, body, readFileSync(keys.privateFile));
        response.writeHead(status, { 'Content-Type': 'application/json' }).end(answer);
      });
    });
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    service = await startTestService({
      settings: {
        includes: 'changes signer',
        'signer.resources': '/buckets/staging -> /buckets/main',
        'signer.signer_backend': 'kinto_signer.signer.autograph',
        'signer.autograph.server_url': `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
        'signer.autograph.hawk_id': 'coffer',
        'signer.autograph.hawk_secret': secret,
        'signer.autograph.timeout_seconds': '0.5',
        heartbeat_timeout_seconds: '2',
      },
    });
    alice = service.asUser('alice');
    await alice.request('PUT', '/v1/buckets/staging');
    await alice.request('PUT', `/v1${source}`);
    await alice.request('PUT', `/v1${source}/records/a`, { body: { data: { title: 'é' } } });
    return async () => {
      await service.close();
      keys.remove();
    };
  });
  afterEach(
    () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  );

  it('signs and returns the URL of its certificates.', async () => {
    expect((await setStatus(alice, source, 'to-sign')).status).toBe(200);
    const changeset = await fetchChangeset(service, 'main', 'c');
    expect(isTrue(changeset, keys.publicKey)).toBe(true);
    expect(changeset.metadata.signature).toMatchObject({ x5u: 'https://example.org/chain.pem', mode: 'p384ecdsa' });
    expect(await service.request('GET', '/v1/__heartbeat__')).toMatchObject({ status: 200, body: { signer: true } });
  });

  it.each([
    { status: 401, body: '{}' },
    { status: 500, body: 'oops' },
    { status: 201, body: 'no json' },
    { status: 201, body: '[]' },
    { status: 201, body: '[{"signature":1}]' },
    { status: 201, body: '[{"signature":""}]' },
    { status: 201, body: '[{"signature":"no signature"}]' },
    { status: 201, body: `[{"signature":"c2lnbmVk","more":"${'x'.repeat(65_536)}"}]` },
    'silence' as const,
  ])('that fails leaves all collections unchanged.', async (wrong) => {
    const before = await fetchChangeset(service, 'main', 'c');
    fault = wrong;
    const refused = await setStatus(alice, source, 'to-sign');
    expect(refused).toMatchObject({ status: 503, body: { errno: 201 } });
    expect(refused.headers['retry-after']).toBeDefined();
    expect(refused.text).not.toContain('127.0.0.1');
    expect(await dataOf(alice, source)).toMatchObject({ status: 'work-in-progress' });
    expect(await fetchChangeset(service, 'main', 'c')).toEqual(before);
    expect(await service.request('GET', '/v1/__heartbeat__')).toMatchObject({ status: 503, body: { signer: false } });
    fault = undefined;
    expect((await setStatus(alice, source, 'to-sign')).status).toBe(200);
  });
});

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** Authenticates the request and signs its text. */
function answerTo(
  request: IncomingMessage,
  body: Buffer,
  key: Buffer | KeyObject,
): { readonly status: number; readonly body: string } {
  const header = request.headers.authorization ?? '';
  const parts = new Map([...header.matchAll(/(\w+)="([^"]*)"/g)].map(([, name, value]) => [name!, value!]));
  const hash = createHash('sha256')
    .update('hawk.1.payload\napplication/json\n')
    .update(body)
    .update('\n')
    .digest('base64');
  const [host, port] = request.headers.host!.split(':');
  const lines = ['hawk.1.header', parts.get('ts'), parts.get('nonce'), 'POST', '/sign/data', host, port, hash, '', ''];
  const mac = createHmac('sha256', secret).update(lines.join('\n')).digest('base64');
  const isFresh = Math.abs(Date.now() / 1000 - Number(parts.get('ts'))) < 60;
  if (request.url !== '/sign/data' || parts.get('id') !== 'coffer' || parts.get('mac') !== mac || !isFresh) {
    return { status: 401, body: '{"error":"who are you?"}' };
  }
  const [{ input }] = JSON.parse(body.toString()) as [{ input: string }];
  const bytes = Buffer.concat([Buffer.from('Content-Signature:\0'), Buffer.from(input, 'base64')]);
  const signature = sign('sha384', bytes, { key: key as Buffer, dsaEncoding: 'ieee-p1363' }).toString('base64url');
  const answer = { ref: '1', type: 'contentsignature', mode: 'p384ecdsa', signer_id: 's', signature };
  return { status: 201, body: JSON.stringify([{ ...answer, x5u: 'https://example.org/chain.pem' }]) };
}
