// Tests of signing: keys in files, a service that signs with them, and a client that verifies what it fetches as clients
// do, with canonical JSON of its own.
import { generateKeyPairSync, verify, type KeyObject } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { TestClient, TestResponse } from '../../src/testing/index.ts';

export interface SigningKeys {
  readonly privateFile: string;
  readonly publicFile: string;
  readonly publicKey: KeyObject;
  /** Settings that name the files. */
  readonly settings: Readonly<Record<string, string>>;
  remove(): void;
}

/** New keys in files of their own. */
export function createKeys(namedCurve = 'P-384'): SigningKeys {
  const folder = mkdtempSync(path.join(tmpdir(), 'coffer-keys-'));
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve });
  const [privateFile, publicFile] = [path.join(folder, 'private.pem'), path.join(folder, 'public.pem')];
  writeFileSync(privateFile, privateKey.export({ type: 'pkcs8', format: 'pem' }));
  writeFileSync(publicFile, publicKey.export({ type: 'spki', format: 'pem' }));
  return {
    privateFile,
    publicFile,
    publicKey,
    settings: { 'signer.ecdsa.private_key': privateFile, 'signer.ecdsa.public_key': publicFile },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

export interface SignedRecord {
  readonly id: string;
  readonly last_modified: number;
  readonly [attribute: string]: unknown;
}

export interface Changeset {
  readonly metadata: {
    readonly id: string;
    readonly signature?: { readonly signature: string; readonly mode: string; readonly x5u: string };
    readonly signatures?: readonly unknown[];
    readonly [attribute: string]: unknown;
  };
  readonly timestamp: number;
  readonly changes: readonly SignedRecord[];
}

/** The whole changeset of a collection. */
export async function fetchChangeset(client: TestClient, bucket: string, collection: string): Promise<Changeset> {
  const address = `/v1/buckets/${bucket}/collections/${collection}/changeset?_expected=0`;
  const { status, body, text } = await client.request('GET', address);
  if (status !== 200) throw new Error(`${address}: ${status} ${text}`);
  return body as Changeset;
}

/**
 * Whether the signature of a changeset is one of its records by the owner of the key.
 *
 * @param restore puts back into the canonical text what was taken out of the changeset so that JavaScript can hold it
 */
export function isTrue(
  { metadata, timestamp, changes }: Changeset,
  publicKey: KeyObject,
  restore: (text: string) => string = (text) => text,
): boolean {
  const records = [...changes].sort((a, b) => (a.id < b.id ? -1 : 1));
  const text = `Content-Signature:\0${restore(canonical({ data: records, last_modified: String(timestamp) }))}`;
  const signature = Buffer.from(metadata.signature?.signature ?? '', 'base64url');
  return verify('sha384', Buffer.from(text), { key: publicKey, dsaEncoding: 'ieee-p1363' }, signature);
}

/** As the clients write it that verify in browsers. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
    return `{${members.map(([key, member]) => `${ascii(key)}:${canonical(member)}`).join(',')}}`;
  }
  return typeof value === 'string' ? ascii(value) : JSON.stringify(value);
}

function ascii(text: string): string {
  let quoted = '';
  for (const unit of JSON.stringify(text).split('')) {
    const code = unit.charCodeAt(0);
    quoted += code < 128 ? unit : `\\u${`000${code.toString(16)}`.slice(-4)}`;
  }
  return quoted;
}

/** The id of a user, as groups and attributes have it. */
export async function userIdOf(client: TestClient): Promise<string> {
  const { body } = await client.request('GET', '/v1/');
  return (body as { user: { id: string } }).user.id;
}

/** Sets the status of a collection. */
export function setStatus(
  client: TestClient,
  uri: string,
  status: unknown,
  others: object = {},
): Promise<TestResponse> {
  return client.request('PATCH', `/v1${uri}`, { body: { data: { status, ...others } } });
}

/** Attributes of an object. */
export async function dataOf(client: TestClient, uri: string): Promise<Record<string, unknown>> {
  const { status, body, text } = await client.request('GET', `/v1${uri}`);
  if (status !== 200) throw new Error(`${uri}: ${status} ${text}`);
  return (body as { data: Record<string, unknown> }).data;
}
