// Reads request bodies up to a limit. Large ones wait for memory before they are read.
import type { IncomingMessage } from 'node:http';
import type { JsonLimits } from '../base/json.ts';
import { pause } from '../base/steps.ts';
import { invalidParameters, ServiceError } from '../core/errors.ts';
import { mediaType, RequestBody } from '../engine/exchange.ts';
import { JsonValueCounter } from './json-value-counter.ts';
import { bodyWeight, smallBytes, type RequestAccount } from './request-memory.ts';

export interface BodyLimits {
  readonly json: JsonLimits;
  readonly bodyLimitBytes: number;
}

/** Minimum size of bodies that are decoded in an event-loop turn of their own. */
const bytesOfTurn = 1_000_000;

/** Number of bytes of a large body that are received in one step of about a millisecond. */
const bytesOfStep = 131_072;

/** Methods whose bodies are ignored. */
const bodyless: readonly (string | undefined)[] = ['GET', 'HEAD', 'DELETE', 'OPTIONS', 'TRACE'];

/**
 * Returns the body of a request; without a promise when it is empty. The handlers of forms with files read and limit them as
 * streams.
 *
 * @throws ServiceError by rejection: unsupportedMediaType when the body is compressed; requestTooLarge as early as possible;
 *   badRequest when the client aborts; overloaded when other requests hold too much memory
 */
export function receiveBody(
  incoming: IncomingMessage,
  limits: BodyLimits,
  account: RequestAccount,
): RequestBody | Promise<RequestBody> {
  const { method, headers } = incoming;
  const { 'content-length': length, 'transfer-encoding': encoding, 'content-type': type } = headers;
  if (bodyless.includes(method) || (encoding === undefined && (length === undefined || length === '0'))) {
    return RequestBody.none;
  }
  const coding = headers['content-encoding'];
  if (coding !== undefined && !isPlain(coding)) return Promise.reject(unsupportedCoding());
  if (type !== undefined && mediaType(type) === 'multipart/form-data') return RequestBody.ofStream(incoming);
  const bytes = length === undefined ? undefined : Number(length);
  if (bytes !== undefined && bytes > limits.bodyLimitBytes) return Promise.reject(new ServiceError('requestTooLarge'));
  const isSmall = account.takeSmall(bytes ?? Math.min(smallBytes, limits.bodyLimitBytes));
  if (isSmall && bytes !== undefined) return readWhole(incoming, limits);
  return readLarge(incoming, limits, account, isSmall ? undefined : (bytes ?? limits.bodyLimitBytes));
}

/** Whether the header `Content-Encoding` names nothing that has to be undone. */
function isPlain(coding: string): boolean {
  return coding.split(',').every((name) => ['', 'identity'].includes(name.trim().toLowerCase()));
}

function unsupportedCoding(): ServiceError {
  const description = 'Compressed bodies are not accepted. Send the body without Content-Encoding';
  return invalidParameters([{ location: 'header', name: 'Content-Encoding', description }], 'unsupportedMediaType');
}

function readWhole(incoming: IncomingMessage, { json, bodyLimitBytes }: BodyLimits): Promise<RequestBody> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let received = 0;
    incoming.on('data', (chunk: Buffer) => {
      received += chunk.length;
      if (received <= bodyLimitBytes) {
        chunks.push(chunk);
        return;
      }
      chunks.length = 0;
      reject(new ServiceError('requestTooLarge'));
    });
    incoming.once('end', () => {
      resolve(RequestBody.ofBytes(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks), json));
    });
    incoming.once('error', (cause) => {
      reject(new ServiceError('badRequest', { cause }));
    });
  });
}

/**
 * Reads a body that may be large.
 *
 * @param reserved bytes to reserve before reading; `undefined` when the body may be small
 */
async function readLarge(
  incoming: IncomingMessage,
  { json, bodyLimitBytes }: BodyLimits,
  account: RequestAccount,
  reserved: number | undefined,
): Promise<RequestBody> {
  // An abort while the request waits is only reported to listeners.
  let failure: unknown;
  incoming.once('error', (error) => {
    failure = error;
  });
  if (reserved !== undefined) await account.receive(reserved);
  let isReserved = reserved !== undefined;
  // Filled while the body arrives: to join the chunks at the end would be one long step.
  let bytes = Buffer.allocUnsafeSlow(reserved ?? smallBytes);
  const values = new JsonValueCounter();
  let received = 0;
  let sinceTurn = 0;
  try {
    for await (const chunk of incoming.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      if (received + chunk.length > bodyLimitBytes) throw new ServiceError('requestTooLarge');
      if (!isReserved && received + chunk.length > smallBytes) {
        isReserved = true;
        await account.receive(bodyLimitBytes);
        const larger = Buffer.allocUnsafeSlow(bodyLimitBytes);
        larger.set(bytes.subarray(0, received));
        bytes = larger;
      }
      bytes.set(chunk, received);
      received += chunk.length;
      values.add(chunk);
      sinceTurn += chunk.length;
      if (sinceTurn < bytesOfStep) continue;
      sinceTurn = 0;
      // Bodies that arrive together take turns, so that all of them take one step of each turn of the event loop.
      await pause('normal');
    }
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    throw new ServiceError('badRequest', { cause: failure ?? error });
  }
  if (isReserved) await account.admitBody(bodyWeight(received, values.count));
  // To decode a large body takes some milliseconds. Other requests run before it.
  if (received > bytesOfTurn) await pause('normal');
  return RequestBody.ofBytes(bytes.subarray(0, received), json);
}
