// Opens files for downloads. A store can reuse the name of a deleted file for another one, so access is checked again when
// the file is open.
import { Readable } from 'node:stream';
import { blobQueryHeaders, type BlobQuery, type BlobStore } from '../../contracts/blobs.ts';
import { invalidParameters, ServiceError } from '../../core/errors.ts';
import type { Context } from '../../engine/context.ts';
import type { RequestHeaders, ServiceResponse } from '../../engine/exchange.ts';
import { fileRefusal, findRange, serveFile } from '../../http/static-files.ts';
import { isSameLink, type Link } from './file-links.ts';

/** Maximum number of attempts while the link changes concurrently. */
const maxAttempts = 3;

export interface OpenedFile {
  readonly link: Link;
  /** The body is a stream, or empty. */
  readonly response: ServiceResponse;
}

/**
 * Opens the file of a link and then checks access. The result counts only if the link has not changed meanwhile: otherwise the
 * opened file may be that of another record.
 *
 * @param link result of an earlier check
 * @param findAgain checks access to the location in the current state
 * @throws ServiceError the refusal of `findAgain`; unknownPath, preconditionFailed, rangeNotSatisfiable; overloaded when the
 * link changes in every attempt; BackendUnavailable
 */
export async function openChecked(
  store: BlobStore,
  context: Context,
  link: Link,
  findAgain: () => Promise<Link>,
): Promise<OpenedFile> {
  let expected = link;
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const opened = await openOrRefuse(store, context, expected.location);
    let isKept = false;
    try {
      const current = await findAgain();
      if (isSameLink(expected, current)) {
        if (opened instanceof ServiceError) throw opened;
        isKept = true;
        return { link: current, response: opened };
      }
      expected = current;
    } finally {
      if (!isKept && !(opened instanceof ServiceError)) close(opened);
    }
  }
  throw new ServiceError('overloaded');
}

function close({ body }: ServiceResponse): void {
  if (body instanceof Readable) body.destroy();
}

/** Returns refusals as values. They depend on the file, for example on its size, so access is checked first. */
async function openOrRefuse(
  store: BlobStore,
  context: Context,
  location: string,
): Promise<ServiceResponse | ServiceError> {
  try {
    return await open(store, context, location);
  } catch (error) {
    if (error instanceof ServiceError) return error;
    throw error;
  }
}

async function open({ access }: BlobStore, context: Context, location: string): Promise<ServiceResponse> {
  const { request, unit } = context;
  if (access.kind === 'folder') {
    if (!(await access.has(location))) throw new ServiceError('unknownPath');
    return serveFile(request, { root: access.root, path: location });
  }
  // A batch holds its locks until its end.
  if (unit.isWriting) throw fileAfterWrite();
  const method = request.method === 'HEAD' ? 'HEAD' : 'GET';
  const response = await access.fetch(location, { method, headers: conditionsOf(context) });
  if (response === undefined) throw new ServiceError('unknownPath');
  if (response.status >= 400) throw fileRefusal(response.status, response.headers);
  return { status: response.status, headers: response.headers, body: response.body ?? '' };
}

function fileAfterWrite(): ServiceError {
  const description = 'a batch cannot request a file of an object store after a write';
  return invalidParameters([{ location: 'path', name: null, description }]);
}

function conditionsOf({ request }: Context): BlobQuery['headers'] {
  const headers: RequestHeaders = { ...request.headers, range: findRange(request) };
  return Object.fromEntries(
    blobQueryHeaders.flatMap((name) => {
      const value = headers[name];
      return value === undefined ? [] : [[name, value] as const];
    }),
  );
}
