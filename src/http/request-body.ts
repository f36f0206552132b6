// Bodies as they arrive over a socket: read whole up to a limit, and no further than that.
import type { IncomingMessage } from 'node:http';
import type { JsonLimits } from '../base/json.ts';
import { ServiceError } from '../core/errors.ts';
import { mediaType, RequestBody } from '../engine/exchange.ts';

export interface BodyLimits {
  readonly json: JsonLimits;
  readonly bodyLimitBytes: number;
}

/** Their bodies mean nothing, so nobody waits for them. */
const bodyless: readonly (string | undefined)[] = ['GET', 'HEAD', 'TRACE'];

/**
 * The body of a request, at once when it has none. Forms hold files: whoever takes them reads them as they arrive, and
 * limits them.
 *
 * @throws ServiceError requestTooLarge, by rejection, as soon as that is known; badRequest when the client breaks off
 */
export function receiveBody(incoming: IncomingMessage, limits: BodyLimits): RequestBody | Promise<RequestBody> {
  const { method, headers } = incoming;
  const { 'content-length': length, 'transfer-encoding': encoding, 'content-type': type } = headers;
  if (bodyless.includes(method) || (encoding === undefined && (length === undefined || length === '0'))) {
    return RequestBody.none;
  }
  if (type !== undefined && mediaType(type) === 'multipart/form-data') return RequestBody.ofStream(incoming);
  if (Number(length) > limits.bodyLimitBytes) return Promise.reject(new ServiceError('requestTooLarge'));
  return readWhole(incoming, limits);
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
