// `GET /attachments/<bucket>/<collection>/<record>/<name>`: the files themselves, for those who may read their records.
// What somebody uploaded is never run: browsers are told what it is, to show only what cannot do anything, and to keep
// it away from everything else.
import type { BlobQuery } from '../../contracts/blobs.ts';
import { ServiceError } from '../../core/errors.ts';
import type { Context } from '../../engine/context.ts';
import { forReading, plainText, type Endpoint } from '../../engine/endpoint.ts';
import type { ResponseHeaders, ServiceResponse } from '../../engine/exchange.ts';
import { fileRefusal, serveFile } from '../../http/static-files.ts';
import type { Attachments } from './attachments.ts';
import { isShown } from './file-types.ts';
import { findKeptLink, findLink, recordUri, type Link } from './links.ts';

const policy = "default-src 'none'; img-src 'self'; media-src 'self'; style-src 'unsafe-inline'; sandbox";

export function servingEndpoint(attachments: Attachments): Endpoint {
  const handle = (context: Context): Promise<ServiceResponse> => serve(attachments, context);
  const exposes = ['ETag', 'Last-Modified', 'Accept-Ranges', 'Content-Range', 'Content-Disposition'];
  return {
    name: 'attachment-file',
    path: '/attachments/{*}',
    parameters: { '*': plainText },
    isResource: false,
    operations: forReading('get_attachment_file', handle, exposes),
  };
}

async function serve(attachments: Attachments, context: Context): Promise<ServiceResponse> {
  const { store } = attachments;
  const { request } = context;
  const link = await findReadable(attachments, context);
  const headers: ResponseHeaders = {
    'Content-Type': link.mimetype,
    'Content-Disposition': disposition(link),
    'Content-Security-Policy': policy,
    'X-Content-Type-Options': 'nosniff',
    // Who may read it can change at any time.
    'Cache-Control': 'private, no-cache',
  };
  const { access } = store;
  if (access.kind === 'folder') {
    if (!(await access.has(link.location))) throw new ServiceError('unknownPath');
    return serveFile(request, { root: access.root, path: link.location, headers });
  }
  const method = request.method === 'HEAD' ? 'HEAD' : 'GET';
  const answer = await access.fetch(link.location, { method, headers: conditionsOf(context) });
  if (answer === undefined) throw new ServiceError('unknownPath');
  if (answer.status >= 400) throw fileRefusal(answer.status, answer.headers);
  return { status: answer.status, headers: { ...answer.headers, ...headers }, body: answer.body ?? '' };
}

/**
 * The file of a record that the caller may read, or one that the record had, for those who may read the collection.
 *
 * @throws ServiceError missingAuthToken, forbidden; unknownPath
 */
async function findReadable({ host }: Attachments, context: Context): Promise<Link> {
  const [bucket = '', collection = '', record = '', ...name] = (context.parameters['*'] ?? '').split('/');
  const address = { bucket, collection, record };
  const location = name.join('/');
  if (location === '') throw new ServiceError('unknownPath');
  const place = host.objects.findPlace('record', { bucket_id: bucket, collection_id: collection, record_id: record });
  if (place === undefined) throw new ServiceError('unknownPath');
  // Asked first, so that nobody learns from the answer which files there are.
  await host.objects.requireAllowed(context, place, 'read');
  const { storage } = context.session.reader;
  const link = await findLink(storage, address);
  if (link?.location === location) return link;
  const kept = await findKeptLink(storage, address, location);
  if (kept?.kept === 'replaced' && kept.recordUri === recordUri(address)) {
    if (await host.objects.isAllowed(context, { kind: 'collection', ids: place.ids }, 'read')) return kept;
  }
  throw new ServiceError('unknownPath');
}

function conditionsOf({ request }: Context): BlobQuery['headers'] {
  const names = ['range', 'if-range', 'if-none-match', 'if-modified-since'] as const;
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = request.headers[name];
      return value === undefined ? [] : [[name, value] as const];
    }),
  );
}

/** With the name in plain characters for old clients, and as it is for all others. */
function disposition({ mimetype, filename }: Link): string {
  const plain = filename.replaceAll(/[^\x20-\x7e]|["\\%]/g, '_');
  const exact = encodeURIComponent(filename.toWellFormed()).replaceAll(/['()*]/g, (mark) => {
    return `%${mark.charCodeAt(0).toString(16).toUpperCase()}`;
  });
  return `${isShown(mimetype) ? 'inline' : 'attachment'}; filename="${plain}"; filename*=UTF-8''${exact}`;
}
