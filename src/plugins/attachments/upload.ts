// `POST` and `DELETE …/attachment`. When an upload has stored the file (`receive.ts`), it writes the record with an internal
// request through the same dispatch. So permissions, schema, preconditions and events are the same as for any other write.
import { formatJson, setKey, type JsonObject, type MutableJsonObject } from '../../base/json.ts';
import type { PathIds } from '../../core/objects/object-id.ts';
import type { ObjectUri } from '../../core/objects/uris.ts';
import type { Context } from '../../engine/context.ts';
import {
  RequestBody,
  type RequestHeaders,
  type ResponseHeaders,
  type ServiceRequest,
  type ServiceResponse,
} from '../../engine/exchange.ts';
import type { UnitOfWork } from '../../engine/unit-of-work.ts';
import { recordIdsOf, locationOf, type AttachmentService } from './service.ts';
import { notMultipart, type Form } from './form.ts';
import { recordUri, unlinkRecord, writeLink } from './file-links.ts';
import { findReceived, requireUploadAccess, type ReceivedFile } from './receive.ts';

/** Maximum number of attempts while the record is created and deleted concurrently. */
const maxAttempts = 5;

/** Attaches the received file to the record. */
export async function upload(attachments: AttachmentService, context: Context): Promise<ServiceResponse> {
  const { request, unit, ids } = context;
  const recordIds = recordIdsOf(ids);
  const file = findReceived(request);
  if (file === undefined) {
    await requireUploadAccess(attachments, { ...context, createsParents: false });
    throw notMultipart();
  }
  const { form, name, mimetype } = file;
  const { filename, sizeBytes, hash } = form.file;
  const location = locationOf(attachments, recordIds, name);
  const attachment = { filename, location, hash, mimetype, size: sizeBytes };
  const response = await writeRecord(attachments, context, form, attachment);
  if (response.status >= 400) return response;
  const { storage } = await unit.writer();
  const { keepsOldFiles } = attachments.rules.of(recordIds);
  const replaced = await unlinkRecord(storage, recordIds, keepsOldFiles ? 'replaced' : undefined);
  attachments.deletions.afterCommit(unit, replaced);
  await writeLink(storage, recordIds, { location: name, filename, mimetype });
  keepWithRecord(file, unit);
  return {
    status: response.status,
    headers: {
      ...timestampsOf(response),
      Location: `${attachments.host.versionPrefix}${recordUri(recordIds)}`,
    },
    body: formatJson(attachment),
  };
}

/**
 * Keeps the file if the unit of work is committed. If the result of a commit is unknown, the file stays and `coffer
 * attachments-clean` decides later.
 */
function keepWithRecord(file: ReceivedFile, unit: UnitOfWork): void {
  unit.afterCommit(() => {
    file.isKept = true;
  });
  unit.onAbandon((fate) => {
    if (fate === 'unknown') file.isKept = true;
  });
}

/** Creates or changes the record, depending on whether it exists at the time of the write. */
async function writeRecord(
  attachments: AttachmentService,
  context: Context,
  { data = {}, permissions }: Form,
  attachment: JsonObject,
): Promise<ServiceResponse> {
  const { host } = attachments;
  const { unit, ids, request } = context;
  allowAttachment(attachments, unit, recordUri(recordIdsOf(ids)), attachment);
  const whole: MutableJsonObject = { ...data };
  setKey(whole, 'attachment', attachment);
  const value: JsonObject = { data: whole, ...(permissions === undefined ? {} : { permissions }) };
  const recordExists = async (): Promise<boolean> =>
    (await host.objects.find(context, { kind: 'record', ids })) !== undefined;
  let exists = await recordExists();
  for (let attempt = 1; ; attempt++) {
    const condition = exists ? {} : { 'if-none-match': '*' };
    const response = await context.dispatch(
      recordRequest(host.versionPrefix, request, ids, { method: exists ? 'PATCH' : 'PUT', value, condition }),
    );
    const mayHaveChanged = response.status === (exists ? 404 : 412);
    if (!mayHaveChanged || attempt === maxAttempts || (await recordExists()) === exists) return response;
    // The record was created or deleted meanwhile. The preconditions of the client apply to its current state.
    exists = !exists;
  }
}

/** Allows the subscriber in `subscribers.ts` to accept this attachment of the record in the unit of work. */
function allowAttachment(
  { uploaded }: AttachmentService,
  unit: UnitOfWork,
  uri: ObjectUri,
  attachment: JsonObject,
): void {
  const known = uploaded.get(unit) ?? new Map<string, JsonObject>();
  uploaded.set(unit, known.set(uri, attachment));
}

const formHeaders: readonly string[] = ['content-length', 'content-encoding', 'transfer-encoding', 'expect'];

/** Returns an internal request for the record with the same caller and preconditions. */
function recordRequest(
  versionPrefix: string,
  request: ServiceRequest,
  ids: PathIds,
  { method, value, condition = {} }: { method: string; value: JsonObject; condition?: RequestHeaders },
): ServiceRequest {
  const kept = Object.entries(request.headers).filter(([name]) => !formHeaders.includes(name));
  const { bucket, collection, record } = recordIdsOf(ids);
  const path = ['buckets', bucket, 'collections', collection, 'records', record].map(encodeURIComponent).join('/');
  return {
    ...request,
    method,
    target: `${versionPrefix}/${path}`,
    headers: {
      ...Object.fromEntries(kept),
      accept: 'application/json',
      'content-type': 'application/json',
      'response-behavior': 'full',
      ...condition,
    },
    body: RequestBody.ofValue(value),
  };
}

/** Returns the timestamp headers of a response. */
function timestampsOf({ headers }: ServiceResponse): ResponseHeaders {
  return Object.fromEntries(
    ['ETag', 'Last-Modified'].flatMap((name) => {
      const value = headers[name];
      return value === undefined ? [] : [[name, value] as const];
    }),
  );
}

/**
 * Handles `DELETE …/attachment`: removes the attribute from the record. The subscriber then removes the file, as for a
 * client that removes the attribute itself.
 */
export async function removeAttachment({ host }: AttachmentService, context: Context): Promise<ServiceResponse> {
  const value = { data: { attachment: null } };
  const request = recordRequest(host.versionPrefix, context.request, context.ids, { method: 'PATCH', value });
  const response = await context.dispatch(request);
  if (response.status >= 400) return response;
  return { status: 204, headers: timestampsOf(response), body: '' };
}
