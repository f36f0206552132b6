// Plugin `attachments`: a record can have a file, which is deleted with the record. See docs/guides/attachments.md.
import type { JsonObject } from '../../base/json.ts';
import { objectWith, type OperationDescription } from '../../engine/description.ts';
import type { Endpoint } from '../../engine/endpoint.ts';
import { preconditionHeaders } from '../../engine/list-parameters.ts';
import type { UnitOfWork } from '../../engine/unit-of-work.ts';
import { definePlugin, type PluginHost, type PluginParts } from '../../http/plugin.ts';
import { readVersion } from '../../settings/version.ts';
import { servesItself, type AttachmentService } from './service.ts';
import { subscribers } from './subscribers.ts';
import { Downloads } from './downloads.ts';
import { FileDeletions } from './file-deletions.ts';
import { parseExtensions, parseMimetypes } from './file-types.ts';
import { Rules } from './rules.ts';
import { servingEndpoints } from './serve.ts';
import { attachmentFamilies, attachmentSettings, readPlace } from './settings.ts';
import { createUrlSigner } from './signed-urls.ts';
import { receiveUpload } from './receive.ts';
import { removeAttachment, upload } from './upload.ts';

export const attachments = definePlugin({
  name: 'attachments',
  settings: attachmentSettings,
  families: attachmentFamilies,
  setup: setUp,
});

async function setUp(host: PluginHost): Promise<PluginParts> {
  const { settings, logger, versionPrefix, documentationUrl } = host;
  const values = settings.read(attachmentSettings);
  const place = readPlace(settings);
  const rules = new Rules(settings);
  const mimetypes = parseMimetypes(values['attachment.mimetypes']);
  const store = await host.openBlobStore(place);
  const baseUrl = withSlash(values['attachment.base_url']);
  const secret = settings.get('userid_hmac_secret');
  const lifetimeSeconds = values['attachment.url_lifetime_seconds'];
  const signsUrls = lifetimeSeconds > 0 && secret !== '' && servesItself(baseUrl, `${versionPrefix}/attachments/`);
  const parts: AttachmentService = {
    host,
    store,
    rules,
    deletions: new FileDeletions(store, logger),
    downloads: new Downloads({
      atOnce: values['attachment.max_downloads'],
      waitMs: values['attachment.download_wait_seconds'] * 1000,
    }),
    extensions: parseExtensions(values['attachment.extensions']),
    mimetypes,
    baseUrl,
    servingPath: `${versionPrefix}/attachments/`,
    signer: signsUrls ? createUrlSigner({ secret, lifetimeSeconds, clock: host.clock }) : undefined,
    uploaded: new WeakMap<UnitOfWork, Map<string, JsonObject>>(),
  };
  const shownUrl = withSlash(values['attachment.extra.base_url']) || baseUrl;
  return {
    capabilities: {
      attachments: {
        description: 'Adds file attachments to records.',
        url: documentationUrl('attachments'),
        version: readVersion(),
        ...(shownUrl === '' ? {} : { base_url: shownUrl }),
        ...(signsUrls ? { url_lifetime_seconds: lifetimeSeconds } : {}),
      },
    },
    endpoints: [
      attachmentEndpoint(parts),
      ...(servesItself(baseUrl, parts.servingPath) ? servingEndpoints(parts) : []),
    ],
    subscribers: subscribers(parts),
    healthChecks: {
      async attachments() {
        if (settings.get('readonly')) return null;
        await store.check();
        return true;
      },
    },
    start() {
      if (!host.objects.kinds.has('record'))
        throw new Error('The plugin attachments requires the resource kind record.');
    },
    async stop() {
      await parts.deletions.settled();
      await store.close();
    },
  };
}

function attachmentEndpoint(parts: AttachmentService): Endpoint {
  const exposes = ['ETag', 'Last-Modified', 'Location'];
  return {
    name: 'attachment',
    tag: 'attachments',
    path: '/buckets/{bucket_id}/collections/{collection_id}/records/{record_id}/attachment',
    isResource: false,
    operations: {
      POST: {
        id: 'create_attachment',
        exposes,
        describe: describeUpload,
        receive: (arrival) => receiveUpload(parts, arrival),
        handle: (context) => upload(parts, context),
      },
      DELETE: {
        id: 'delete_attachment',
        exposes,
        describe: describeRemoval,
        handle: (context) => removeAttachment(parts, context),
      },
    },
  };
}

function describeUpload(): OperationDescription {
  const json = { type: 'string', description: 'JSON.' };
  const form = {
    type: 'object',
    properties: { attachment: { type: 'string', format: 'binary' }, data: json, permissions: json },
    required: ['attachment'],
  };
  const schema = objectWith({
    filename: { type: 'string' },
    location: { type: 'string' },
    hash: { type: 'string' },
    mimetype: { type: 'string' },
    size: { type: 'integer' },
  });
  return {
    summary: 'Stores a file and attaches it to the record, which is created if it does not exist.',
    parameters: preconditionHeaders,
    body: { 'multipart/form-data': form },
    responses: {
      200: { description: 'The file of the record, which existed.', schema },
      201: { description: 'The file of the record, which the request created.', schema },
    },
    errors: [404, 409, 412],
  };
}

function describeRemoval(): OperationDescription {
  return {
    summary: 'Removes the file from the record.',
    parameters: preconditionHeaders,
    responses: { 204: { description: 'The record has no file any more.' } },
    errors: [404, 409, 412],
  };
}

function withSlash(url: string): string {
  return url === '' || url.endsWith('/') ? url : `${url}/`;
}
