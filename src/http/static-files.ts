// Serves files of a folder, with media types, conditional requests and ranges, and without access outside the folder.
import { once } from 'node:events';
import { ReadStream } from 'node:fs';
import { Readable } from 'node:stream';
import { send } from '@fastify/send';
import { isAbsent } from '../base/system-errors.ts';
import { BackendUnavailable } from '../contracts/errors.ts';
import { ServiceError } from '../core/errors.ts';
import type { ResponseHeaders, ServiceRequest, ServiceResponse } from '../engine/exchange.ts';

export interface FileOptions {
  /** Folder of the files. */
  readonly root: string;
  /** Decoded path below the folder, without leading slash; `''` is the `index.html` of the folder. */
  readonly path: string;
  /** Cache time in seconds. */
  readonly cacheSeconds?: number;
  /** Headers of the response, which override those of the file. */
  readonly headers?: ResponseHeaders;
}

/**
 * Returns the response to a GET or HEAD for a file. If it has a body, the file is open: a deletion does not affect it.
 *
 * @throws ServiceError unknownPath when the file is missing, hidden or outside the folder; preconditionFailed;
 * rangeNotSatisfiable; BackendUnavailable when the file cannot be opened
 */
export async function serveFile(request: ServiceRequest, options: FileOptions): Promise<ServiceResponse> {
  const { root, path, cacheSeconds = 0, headers = {} } = options;
  const encoded = `/${path.split('/').map(encodeURIComponent).join('/')}`;
  const look = (range: string | undefined): ReturnType<typeof send> => {
    const asked = Object.assign(Readable.from([]), { headers: { ...request.headers, range }, method: request.method });
    return send(asked, encoded, { root, dotfiles: 'ignore', maxAge: cacheSeconds * 1000 });
  };
  const range = findRange(request);
  let found = await look(range);
  // The end of a file that is shorter is the whole file, and that of an empty one is no range.
  for (const whole of isSuffix.test(range ?? '') ? ['bytes=0-', undefined] : []) {
    if (found.statusCode !== 416) break;
    found.stream.destroy();
    found = await look(whole);
  }
  const isFile = found.type === 'file' || found.statusCode === 304;
  if (!isFile) {
    found.stream.destroy();
    throw fileRefusal(found.statusCode, found.headers);
  }
  const isEmpty = request.method === 'HEAD' || found.statusCode === 304;
  if (isEmpty) found.stream.destroy();
  else await whenOpen(found.stream);
  return {
    status: found.statusCode,
    headers: { ...found.headers, ...headers },
    body: isEmpty ? '' : found.stream,
  };
}

/** A range of the last bytes of a file, of at least one. */
const isSuffix = /^ *bytes= *-0*[1-9]\d* *$/;

/**
 * Returns the header `Range`; `undefined` if it depends on a weak ETag, whose bytes may differ from those the client has, and for
 * methods other than GET, which have no ranges (RFC 9110, 14.2).
 */
export function findRange({ method, headers }: ServiceRequest): string | undefined {
  const isWeak = headers['if-range']?.trimStart().startsWith('W/') === true;
  return method !== 'GET' || isWeak ? undefined : headers.range;
}

/** Waits until the file is open, because a response whose status is sent cannot become a 404. */
async function whenOpen(stream: Readable): Promise<void> {
  if (!(stream instanceof ReadStream) || !stream.pending) return;
  try {
    await once(stream, 'open');
  } catch (error) {
    // It was deleted after its properties were read.
    if (isAbsent(error)) throw new ServiceError('unknownPath');
    throw new BackendUnavailable('files', 'a file cannot be opened', { cause: error });
  }
}

/** Returns the error for a file that is not sent. 416 includes the length of the file. */
export function fileRefusal(status: number, headers: Readonly<Record<string, unknown>>): ServiceError {
  if (status === 412) return new ServiceError('preconditionFailed', { message: 'The file has changed.' });
  if (status !== 416) return new ServiceError('unknownPath');
  const [, range] = Object.entries(headers).find(([name]) => name.toLowerCase() === 'content-range') ?? [];
  return new ServiceError('rangeNotSatisfiable', {
    headers: typeof range === 'string' ? { 'Content-Range': range } : {},
  });
}
