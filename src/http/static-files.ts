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
 * @throws ServiceError unknownPath when there is none, or when it is outside of the folder or hidden
 */
export async function serveFile(request: ServiceRequest, options: FileOptions): Promise<ServiceResponse> {
  const { root, path, cacheSeconds = 0, headers = {} } = options;
  const asked = Object.assign(Readable.from([]), { headers: request.headers, method: request.method });
  const encoded = `/${path.split('/').map(encodeURIComponent).join('/')}`;
  const found = await send(asked, encoded, { root, dotfiles: 'ignore', maxAge: cacheSeconds * 1000 });
  const isFile = found.type === 'file' || found.statusCode === 304;
  if (!isFile && found.statusCode !== 416 && found.statusCode !== 412) throw new ServiceError('unknownPath');
  const isEmpty = request.method === 'HEAD' || found.statusCode === 304;
  if (isEmpty) found.stream.destroy();
  return {
    status: found.statusCode,
    headers: { ...found.headers, ...headers },
    body: isEmpty ? '' : found.stream,
  };
}
