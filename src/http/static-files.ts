// Files of a folder as responses: media types, conditional and ranged requests, and no way out of the folder.
import { Readable } from 'node:stream';
import { send } from '@fastify/send';
import { ServiceError } from '../core/errors.ts';
import type { ResponseHeaders, ServiceRequest, ServiceResponse } from '../engine/exchange.ts';

export interface FileOptions {
  /** Folder that nothing outside of is served from. */
  readonly root: string;
  /** Decoded path below the folder, without leading slash; `''` is the `index.html` of the folder. */
  readonly path: string;
  /** Seconds for which clients may use it without asking. */
  readonly cacheSeconds?: number;
  /** Added to the answer; those the file itself gives are replaced. */
  readonly headers?: ResponseHeaders;
}

/**
 * The file as the response to a GET or HEAD.
 *
 * @throws ServiceError unknownPath when there is none, or when it is outside of the folder or hidden; preconditionFailed,
 * rangeNotSatisfiable
 */
export async function serveFile(request: ServiceRequest, options: FileOptions): Promise<ServiceResponse> {
  const { root, path, cacheSeconds = 0, headers = {} } = options;
  const asked = Object.assign(Readable.from([]), { headers: request.headers, method: request.method });
  const encoded = `/${path.split('/').map(encodeURIComponent).join('/')}`;
  const found = await send(asked, encoded, { root, dotfiles: 'ignore', maxAge: cacheSeconds * 1000 });
  const isFile = found.type === 'file' || found.statusCode === 304;
  if (!isFile) {
    found.stream.destroy();
    throw fileRefusal(found.statusCode, found.headers);
  }
  const isEmpty = request.method === 'HEAD' || found.statusCode === 304;
  if (isEmpty) found.stream.destroy();
  return {
    status: found.statusCode,
    headers: { ...found.headers, ...headers },
    body: isEmpty ? '' : found.stream,
  };
}

/** Why a file is not sent, from what its server says; by 416 it tells how long the file is. */
export function fileRefusal(status: number, headers: Readonly<Record<string, unknown>>): ServiceError {
  if (status === 412) return new ServiceError('preconditionFailed', { message: 'The file is another one by now.' });
  if (status !== 416) return new ServiceError('unknownPath');
  const [, range] = Object.entries(headers).find(([name]) => name.toLowerCase() === 'content-range') ?? [];
  return new ServiceError('rangeNotSatisfiable', {
    headers: typeof range === 'string' ? { 'Content-Range': range } : {},
  });
}
