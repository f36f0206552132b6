// `GET /attachments/<bucket>/<collection>/<record>/<name>` returns files to readers of their records.
// `GET …/attachment/url` returns URLs for requests without credentials.
// Headers prevent browsers from running uploaded files: fixed media types, display of safe types only, and a sandbox.
import { ServiceError } from '../../core/errors.ts';
import { refusal } from '../../engine/access.ts';
import type { Context } from '../../engine/context.ts';
import { describeDocument, type OperationDescription } from '../../engine/description.ts';
import { forReading, plainText, type Endpoint } from '../../engine/endpoint.ts';
import { jsonResponse, type ResponseHeaders, type ServiceResponse } from '../../engine/exchange.ts';
import { recordIdsOf, locationOf, type AttachmentService } from './service.ts';
import { isDisplayable } from './file-types.ts';
import { findReadableFile } from './file-access.ts';
import { parseRecordUri, findLink, type Link, type RecordIds } from './file-links.ts';
import { openChecked } from './open-file.ts';
import type { UrlSigner } from './signed-urls.ts';

const policy = "default-src 'none'; img-src 'self'; media-src 'self'; style-src 'unsafe-inline'; sandbox";

export function servingEndpoints(attachments: AttachmentService): readonly Endpoint[] {
  const { signer } = attachments;
  const files = fileEndpoint(attachments);
  return signer === undefined ? [files] : [files, urlEndpoint(attachments, signer)];
}

function urlEndpoint(attachments: AttachmentService, signer: UrlSigner): Endpoint {
  return {
    name: 'attachment-url',
    tag: 'attachments',
    path: '/buckets/{bucket_id}/collections/{collection_id}/records/{record_id}/attachment/url',
    isResource: false,
    operations: forReading('get_attachment_url', {
      handle: (context) => signUrl(attachments, signer, context),
      describe: describeUrl,
    }),
  };
}

function describeUrl(): OperationDescription {
  const summary = 'Returns a URL of the file that needs no credentials for a limited time.';
  return {
    ...describeDocument(summary, 'The URL and its expiry.', {
      url: { type: 'string' },
      expires: { type: 'integer', description: 'Milliseconds since 1970 UTC.' },
    }),
    errors: [404],
  };
}

function fileEndpoint(attachments: AttachmentService): Endpoint {
  const handle = (context: Context): Promise<ServiceResponse> => serve(attachments, context);
  const exposes = ['ETag', 'Last-Modified', 'Accept-Ranges', 'Content-Range', 'Content-Disposition'];
  return {
    name: 'attachment-file',
    path: '/attachments/{*}',
    parameters: { '*': plainText },
    isResource: false,
    isForBrowsers: true,
    operations: forReading('get_attachment_file', handle, exposes),
  };
}

async function serve(attachments: AttachmentService, context: Context): Promise<ServiceResponse> {
  const { owner, location } = parsePath(context.parameters['*'] ?? '');
  const find = (current: Context): Promise<Link> => findReadableFile(attachments, current, owner, location);
  // A request without access does not wait for a place.
  const link = await find(context);
  return attachments.downloads.run(context, async (hasWaited) => {
    const findAgain = hasWaited ? () => inRenewed(context, find) : () => find(context);
    const opened = await openChecked(attachments.store, context, link, findAgain);
    const { status, headers, body } = opened.response;
    return { status, headers: { ...headers, ...headersOf(opened.link) }, body };
  });
}

/** Runs a task with the credentials, groups and permissions that the caller has now. */
async function inRenewed<T>({ renew }: Context, task: (context: Context) => Promise<T>): Promise<T> {
  const { context, end } = await renew();
  try {
    return await task(context);
  } finally {
    await end();
  }
}

function headersOf(link: Link): ResponseHeaders {
  return {
    'Content-Type': link.mimetype,
    'Content-Disposition': disposition(link),
    'Content-Security-Policy': policy,
    'X-Content-Type-Options': 'nosniff',
    // Permissions can change at any time.
    'Cache-Control': 'private, no-cache',
    // A signed URL must not leak to other sites.
    'Referrer-Policy': 'no-referrer',
  };
}

/** Returns the record and the name in the store from the path of a file. */
function parsePath(path: string): { readonly owner: RecordIds; readonly location: string } {
  const [bucket = '', collection = '', record = '', ...name] = path.split('/');
  const location = name.join('/');
  if (location === '') throw new ServiceError('unknownPath');
  return { owner: { bucket, collection, record }, location };
}

/**
 * Handles `GET …/attachment/url`: returns a URL of the file that works without credentials for a limited time.
 *
 * @throws ServiceError missingAuthToken, forbidden; unknownPath
 */
async function signUrl(attachments: AttachmentService, signer: UrlSigner, context: Context): Promise<ServiceResponse> {
  const { host } = attachments;
  const { ids, caller, unit } = context;
  if (caller.userId === undefined) throw refusal(caller);
  await host.objects.requireAllowed(context, { kind: 'record', ids }, 'read');
  const link = await findLink(unit.reader.storage, recordIdsOf(ids));
  const owner = link === undefined ? undefined : parseRecordUri(link.ownerUri);
  if (link === undefined || owner === undefined) throw new ServiceError('unknownPath');
  const { search, expires } = signer.sign(link);
  return jsonResponse(200, { url: locationOf(attachments, owner, link.location) + search, expires });
}

/** Returns the header with the name in ASCII for old clients, and in UTF-8 for others. */
function disposition({ mimetype, filename }: Link): string {
  const plain = filename.replaceAll(/[^\x20-\x7e]|["\\%]/g, '_');
  const exact = encodeURIComponent(filename.toWellFormed()).replaceAll(/['()*]/g, (mark) => {
    return `%${mark.charCodeAt(0).toString(16).toUpperCase()}`;
  });
  return `${isDisplayable(mimetype) ? 'inline' : 'attachment'}; filename="${plain}"; filename*=UTF-8''${exact}`;
}
