// The configurations of Remote Settings start as they are, and sign, review and publish.
import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { isTrue, type Changeset } from '../support/signing.ts';
import { run, start, workingFolder, type RunningService } from './process.ts';

interface Instance extends RunningService {
  readonly publicKey: KeyObject;
}

/** Starts a service from one of the files, in a folder with a key. */
async function startFrom(name: string, environment: Readonly<Record<string, string>> = {}): Promise<Instance> {
  const cwd = folderFor(name);
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-384' });
  writeFileSync(join(cwd, 'ecdsa.private.pem'), privateKey.export({ type: 'pkcs8', format: 'pem' }));
  const service = await start(['--config', name], { cwd, environment });
  return { ...service, publicKey: createPublicKey(privateKey) };
}

function folderFor(name: string): string {
  const cwd = workingFolder();
  copyFileSync(fileURLToPath(new URL(`../settings/${name}`, import.meta.url)), join(cwd, name));
  return cwd;
}

interface Answer {
  readonly status: number;
  readonly body: { readonly data?: { readonly status?: string }; readonly [key: string]: unknown };
}

class Client {
  readonly #root: string;
  readonly #user: string | undefined;

  constructor({ url }: RunningService, user?: string) {
    this.#root = url.replace(/\/$/, '');
    this.#user = user;
  }

  async ask(method: string, path: string, body?: object): Promise<Answer> {
    const credentials = Buffer.from(`${this.#user}:a long password`).toString('base64');
    const response = await fetch(this.#root + path, {
      method,
      headers: {
        'Content-Type': 'application/json',
        ...(this.#user === undefined ? {} : { Authorization: `Basic ${credentials}` }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: (await response.json()) as Answer['body'] };
  }

  async setStatus(path: string, status: string): Promise<number> {
    return (await this.ask('PATCH', path, { data: { status } })).status;
  }

  async statusOf(path: string): Promise<string | undefined> {
    return (await this.ask('GET', path)).body.data?.status;
  }

  async changeset(bucket: string, collection: string): Promise<Changeset> {
    const path = `/buckets/${bucket}/collections/${collection}/changeset?_expected=0`;
    const { status, body } = await this.ask('GET', path);
    expect(status).toBe(200);
    return body as unknown as Changeset;
  }
}

/** An account, which logs in from then on. */
async function signUp(service: RunningService, name: string): Promise<Client> {
  const { status } = await new Client(service).ask('PUT', `/accounts/${name}`, {
    data: { password: 'a long password' },
  });
  expect(status).toBe(201);
  return new Client(service, name);
}

function warningsOf(service: RunningService): readonly string[] {
  return service.log.filter(({ Severity }) => Severity === 4).map(({ Type }) => Type);
}

describe('The local configuration of Remote Settings', () => {
  test('starts unchanged, and publishes what one user requested and another one approved.', async () => {
    const service = await startFrom('remote-settings-local.ini');
    const [ed, rae] = [await signUp(service, 'ed'), await signUp(service, 'rae')];
    const source = '/buckets/main-workspace/collections/search-config';
    expect((await ed.ask('PUT', source)).status).toBe(201);
    const group = '/buckets/main-workspace/groups/search-config-reviewers';
    expect((await ed.ask('PATCH', group, { data: { members: ['account:rae'] } })).status).toBe(200);
    expect((await ed.ask('PUT', `${source}/records/one`, { data: { title: 'first' } })).status).toBe(201);

    expect(await ed.setStatus(source, 'to-sign')).toBe(403);
    expect(await ed.setStatus(source, 'to-review')).toBe(200);
    const preview = await ed.changeset('main-preview', 'search-config');
    expect(preview.changes).toMatchObject([{ id: 'one', title: 'first' }]);
    expect(isTrue(preview, service.publicKey)).toBe(true);
    expect(await ed.setStatus(source, 'to-sign')).toBe(403);
    expect(await rae.setStatus(source, 'to-sign')).toBe(200);
    expect(await ed.statusOf(source)).toBe('signed');

    const anyone = new Client(service);
    const published = await anyone.changeset('main', 'search-config');
    expect(published.changes).toMatchObject([{ id: 'one', title: 'first' }]);
    expect(isTrue(published, service.publicKey)).toBe(true);
    const { changes } = await anyone.changeset('monitor', 'changes');
    const named = changes.map(({ bucket, collection }) => `${String(bucket)}/${String(collection)}`);
    // The addresses of the buckets end with a slash in the file.
    expect(named).toEqual(expect.arrayContaining(['main/search-config', 'blocklists/addons-bloomfilters']));
    expect(named.filter((name) => name.includes('workspace'))).toEqual([]);
  });

  test('needs no review when a name or a regular expression disables it.', async () => {
    const service = await startFrom('remote-settings-local.ini');
    const ed = await signUp(service, 'ed');
    const unreviewed = [
      ['staging', 'addons-bloomfilters', 'blocklists'],
      ['main-workspace', 'nimbus-preview', 'main'],
      ['main-workspace', 'quicksuggest-en-desktop', 'main'],
      ['main-workspace', 'quicksuggest-de-mobile', 'main'],
    ] as const;
    for (const [bucket, collection, destination] of unreviewed) {
      const source = `/buckets/${bucket}/collections/${collection}`;
      expect((await ed.ask('PUT', source)).status).toBeLessThan(300);
      expect((await ed.ask('PUT', `${source}/records/one`, { data: { n: 1 } })).status).toBe(201);
      expect(await ed.setStatus(source, 'to-sign')).toBe(200);
      const published = await ed.changeset(destination, collection);
      expect(published.changes).toMatchObject([{ id: 'one', n: 1 }]);
      expect(isTrue(published, service.publicKey)).toBe(true);
    }
    const { body } = await new Client(service).ask('GET', '/');
    expect(body).toMatchObject({
      capabilities: {
        signer: {
          resources: expect.arrayContaining([
            expect.objectContaining({
              source: { bucket: 'main-workspace', collection: 'quicksuggest-en-desktop' },
              destination: { bucket: 'main', collection: 'quicksuggest-en-desktop' },
              to_review_enabled: false,
            }),
          ]),
        },
      },
    });
    const reviewed = '/buckets/main-workspace/collections/quicksuggest-en-tablet';
    expect((await ed.ask('PUT', reviewed)).status).toBe(201);
    expect((await ed.ask('PUT', `${reviewed}/records/one`, { data: { n: 1 } })).status).toBe(201);
    expect(await ed.setStatus(reviewed, 'to-sign')).toBe(403);
  });

  test('shows the settings of signing and changes, and logs little.', async () => {
    const service = await startFrom('remote-settings-local.ini');
    const { body } = await new Client(service).ask('GET', '/');
    expect(body).toMatchObject({
      project_name: 'Remote Settings on this machine',
      capabilities: {
        accounts: {},
        attachments: { base_url: 'http://localhost:8888/attachments/' },
        changes: { collections: expect.arrayContaining(['/buckets/main']) },
        signer: { to_review_enabled: true, resources: expect.any(Array) },
      },
    });
    const { resources } = (body['capabilities'] as { readonly signer: { readonly resources: readonly unknown[] } })
      .signer;
    expect(JSON.stringify(resources)).not.toContain('(');
    expect(resources).toContainEqual(
      expect.objectContaining({
        source: { bucket: 'main-workspace', collection: 'nimbus-preview' },
        to_review_enabled: false,
      }),
    );
    expect(warningsOf(service).filter((line) => line.includes('deprecated'))).toHaveLength(1);
    expect(warningsOf(service).filter((line) => line.includes('unknown setting'))).toEqual([]);
  });
});

describe('The configuration of Remote Settings for tests', () => {
  const environment = { SVC_MULTIAUTH_POLICIES: '' };

  test('starts when policies are set to none, has anonymous callers only, as Kinto does, and publishes without credentials and reviews.', async () => {
    const service = await startFrom('remote-settings-testing.ini', environment);
    const anyone = new Client(service);
    const source = '/buckets/main-workspace/collections/product-integrity';
    expect((await anyone.ask('PUT', source)).status).toBe(201);
    expect((await anyone.ask('PUT', `${source}/records/one`, { data: { n: 1 } })).status).toBe(201);
    expect(await anyone.setStatus(source, 'to-sign')).toBe(200);
    const published = await anyone.changeset('main', 'product-integrity');
    expect(published.changes).toMatchObject([{ id: 'one', n: 1 }]);
    expect(isTrue(published, service.publicKey)).toBe(true);
    const { changes } = await anyone.changeset('monitor', 'changes');
    expect(changes.map(({ bucket }) => String(bucket)).toSorted()).toEqual(['main', 'main-preview']);
    expect(warningsOf(service).filter((line) => line.startsWith('INSECURE'))).toEqual([]);
    const user = new Client(service, 'ann');
    expect(await user.ask('GET', '')).toMatchObject({ body: expect.not.objectContaining({ user: expect.anything() }) });
  });

  test('does not start without that setting, and the error names it first.', async () => {
    const cwd = folderFor('remote-settings-testing.ini');
    const { code, err } = await run(['start', '--config', 'remote-settings-testing.ini'], { cwd });
    expect([code, err]).toEqual([
      1,
      expect.stringMatching(/userid_hmac_secret: multiauth\.policies is not set\. .*"multiauth\.policies ="/),
    ]);
    expect(err).toContain('userid_hmac_legacy_empty = true');
  });
});
