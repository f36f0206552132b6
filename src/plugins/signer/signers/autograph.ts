// Signing at a remote server that keeps the keys, Autograph: it gets the text and answers with the signature and the
// address of the certificates.
import { randomBytes } from 'node:crypto';
import { defaultJsonLimits, isJsonObject, JsonSyntaxError, parseJson, type JsonValue } from '../../../base/json.ts';
import type { Clock } from '../../../base/clock.ts';
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
const maxAnswerBytes = 1_000_000;

/** A signer that asks the server; every answer but a signature is a `BackendUnavailable`. */
export function createAutographSigner(options: AutographOptions): Signer {
  const sign: Signer['sign'] = async (text) => [await requestSignature(options, text)];
  return {
    sign,
    async check() {
      await sign('A sample to try the server with.');
      return true;
    },
  };
}

async function requestSignature(options: AutographOptions, text: string): Promise<Signature> {
  const { serverUrl, credentials, timeoutSeconds, clock } = options;
  const url = `${serverUrl.replace(/\/+$/, '')}/sign/data`;
  const body = JSON.stringify([{ input: Buffer.from(text, 'utf8').toString('base64') }]);
  const timestamp = Math.floor(clock.now() / 1000);
  const nonce = randomBytes(9).toString('base64url');
  const authorization = formatHawkHeader(credentials, { method: 'POST', url, contentType, body, timestamp, nonce });
  let answer: { readonly status: number; readonly text: string };
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'Content-Type': contentType, Authorization: authorization },
      body,
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutSeconds * 1000),
    });
    answer = { status: response.status, text: await readLimited(response) };
  } catch (error) {
    throw unavailable(url, 'it cannot be reached, or takes too long', error);
  }
  if (answer.status !== 200 && answer.status !== 201) throw unavailable(url, `it answers with ${answer.status}`);
  return readSignature(url, answer.text);
}

async function readLimited(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  const body: AsyncIterable<Uint8Array> | null = response.body;
  for await (const chunk of body ?? []) {
    size += chunk.length;
    if (size > maxAnswerBytes) throw new Error(`the answer is longer than ${maxAnswerBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function readSignature(url: string, text: string): Signature {
  let parsed: JsonValue;
  try {
    parsed = parseJson(text, { ...defaultJsonLimits, maxDepth: 20 });
  } catch (error) {
    if (error instanceof JsonSyntaxError) throw unavailable(url, 'the answer is no JSON', error);
    throw error;
  }
  const answers = Array.isArray(parsed) ? (parsed as readonly JsonValue[]) : [];
  const [first] = answers;
  if (!isJsonObject(first)) throw unavailable(url, 'the answer holds no signature');
  const { signature, x5u = '', mode = 'p384ecdsa' } = first;
  if (typeof signature !== 'string' || typeof x5u !== 'string' || typeof mode !== 'string') {
    throw unavailable(url, 'the answer holds no signature');
  }
  return { ...first, signature, x5u, mode };
}

function unavailable(url: string, reason: string, cause?: unknown): BackendUnavailable {
  const { origin, pathname } = new URL(url);
  const message = `The signing server ${origin}${pathname} cannot be used: ${reason}`;
  return new BackendUnavailable('signer', message, { reason: `signing server: ${reason}`, cause });
}
