// Signer that calls an Autograph server. The server holds the keys, receives the text, and returns the signature and
// the URL of the certificates.
import { randomBytes } from 'node:crypto';
import { defaultJsonLimits, isJsonObject, JsonSyntaxError, parseJson, type JsonValue } from '../../../base/json.ts';
import type { Clock } from '../../../base/clock.ts';
import { withoutSlashesAtEnd } from '../../../base/slashes-at-end.ts';
import { BackendUnavailable } from '../../../contracts/errors.ts';
import { formatHawkHeader, type HawkCredentials } from './hawk.ts';
import type { Signature, Signer } from './signer.ts';

export interface AutographOptions {
  readonly serverUrl: string;
  readonly credentials: HawkCredentials;
  readonly timeoutSeconds: number;
  readonly clock: Clock;
}

const contentType = 'application/json';
/** The collection keeps all of the response. */
const maxResponseBytes = 65_536;
const base64 = /^[A-Za-z0-9+/_-]+={0,2}$/;
/** The text as bytes, in base64, as a body, and as its bytes. */
const bytesPerChar = 8;

/** Creates a signer that calls the server. Any response without a signature becomes a `BackendUnavailable`. */
export function createAutographSigner(options: AutographOptions): Signer {
  const sign: Signer['sign'] = async (pieces) => [await requestSignature(options, await encode(pieces))];
  return {
    bytesPerChar,
    sign,
    async check() {
      await sign(['Sample text of a health check.']);
      return true;
    },
  };
}

/** Returns the whole text in base64, because the server takes it so. */
async function encode(pieces: AsyncIterable<string> | Iterable<string>): Promise<string> {
  const bytes: Buffer[] = [];
  for await (const piece of pieces) bytes.push(Buffer.from(piece, 'utf8'));
  return Buffer.concat(bytes).toString('base64');
}

/** @param input text in base64 */
async function requestSignature(options: AutographOptions, input: string): Promise<Signature> {
  const { serverUrl, credentials, timeoutSeconds, clock } = options;
  const url = `${withoutSlashesAtEnd(serverUrl)}/sign/data`;
  const body = JSON.stringify([{ input }]);
  const timestamp = Math.floor(clock.now() / 1000);
  const nonce = randomBytes(9).toString('base64url');
  const authorization = formatHawkHeader(credentials, { method: 'POST', url, contentType, body, timestamp, nonce });
  let response: { readonly status: number; readonly text: string };
  try {
    const fetched = await fetch(url, {
      method: 'POST',
      headers: { 'Content-Type': contentType, Authorization: authorization },
      body,
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutSeconds * 1000),
    });
    response = { status: fetched.status, text: await readLimited(fetched) };
  } catch (error) {
    throw unavailable(url, 'no connection, or no response in time', error);
  }
  if (response.status !== 200 && response.status !== 201)
    throw unavailable(url, `it responds with status ${response.status}`);
  return readSignature(url, response.text);
}

async function readLimited(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  const body: AsyncIterable<Uint8Array> | null = response.body;
  for await (const chunk of body ?? []) {
    size += chunk.length;
    if (size > maxResponseBytes) throw new Error(`The response is longer than ${maxResponseBytes} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function readSignature(url: string, text: string): Signature {
  let parsed: JsonValue;
  try {
    parsed = parseJson(text, { ...defaultJsonLimits, maxDepth: 20 });
  } catch (error) {
    if (error instanceof JsonSyntaxError) throw unavailable(url, 'the response is not JSON', error);
    throw error;
  }
  const [first] = Array.isArray(parsed) ? (parsed as readonly JsonValue[]) : [];
  if (!isJsonObject(first)) throw unavailable(url, 'the response contains no signature');
  const { signature, x5u = '', mode = 'p384ecdsa' } = first;
  if (typeof signature !== 'string' || !base64.test(signature) || typeof x5u !== 'string' || typeof mode !== 'string') {
    throw unavailable(url, 'the response contains no signature');
  }
  return { ...first, signature, x5u, mode };
}

function unavailable(url: string, reason: string, cause?: unknown): BackendUnavailable {
  const { origin, pathname } = new URL(url);
  const message = `The signing server ${origin}${pathname} failed: ${reason}`;
  return new BackendUnavailable('signer', message, { reason: `signing server: ${reason}`, cause });
}
