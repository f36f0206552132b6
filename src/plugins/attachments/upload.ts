// `POST` and `DELETE …/attachment`. An upload stores the file, then writes the record with an internal request through
// the same dispatch. So permissions, schema, preconditions and events are the same as for any other write.
import { formatJson, setKey, type JsonObject, type MutableJsonObject } from '../../base/json.ts';
import { invalidParameters, notFound } from '../../core/errors.ts';
import type { PathIds } from '../../core/objects/object-id.ts';
import type { ObjectUri } from '../../core/objects/uris.ts';
import { requireAllowed } from '../../engine/access.ts';
import type { Context } from '../../engine/context.ts';
import type { Arrival } from '../../engine/endpoint.ts';
import {
  RequestBody,
  type RequestHeaders,
  type ResponseHeaders,
  type ServiceRequest,
  type ServiceResponse,
} from '../../engine/exchange.ts';
import type { UnitOfWork } from '../../engine/unit-of-work.ts';
import { recordIdsOf, locationOf, type AttachmentService } from './service.ts';
import { storedName } from './file-name.ts';
import { cleanMimetype, extensionOf } from './file-types.ts';
import { readForm, type Form } from './form.ts';
import { recordUri, unlinkRecord, writeLink } from './file-links.ts';
import { requireSize } from './spool.ts';

/** Maximum number of attempts while the record is created and deleted concurrently. */
const maxAttempts = 5;

/** Checks the permission of the caller and reads the form before anything is locked. */
export async function receiveUpload(attachments: AttachmentService, arrival: Arrival): Promise<void> {
  const { request, caller, ids, isAlias } = arrival;
  // A batch contains no forms. The handler returns the error.
  if (request.body.stream === undefined) return;
  if (isAlias) {
    // The target of the alias is not known yet. The alias refuses anonymous callers.
    if (caller.userId === undefined) return;
  } else {
    await requireWriteAccess(attachments, arrival);
  }
  const { bucket, collection } = recordIdsOf(ids);
  const rules = isAlias ? attachments.rules.defaults : attachments.rules.of({ bucket, collection });
  await readUpload(attachments, request, rules.maxSizeBytes);
}

/** Requires permission to write the existing record, or to create it. Called before the form is read. */
async function requireWriteAccess(
  { host }: AttachmentService,
  { unit, caller, request, ids }: Omit<Arrival, 'isAlias'>,
): Promise<void> {
  const kind = host.objects.kind('record');
  const actor = { unit, caller, request };
  const exists = (await host.objects.find(actor, { kind: 'record', ids })) !== undefined;
  await requireAllowed(exists ? kind.rules.write : kind.rules.create, caller, unit.reader, ids);
  if (exists || (await host.objects.find(actor, { kind: 'collection', ids })) !== undefined) return;
  throw notFound('missingParent', 'collection', ids['collection_id']!);
}

function readUpload({ host, store }: AttachmentService, request: ServiceRequest, fileBytes: number): Promise<Form> {
  const limits = {
    fileBytes,
    otherBytes: host.settings.get('max_body_size'),
    json: { maxDepth: host.settings.get('max_json_depth'), maxValues: host.settings.get('max_json_values') },
  };
  return readForm(request, () => store.spoolFolder(), limits);
}

/** Stores the received file and attaches it to the record. */
export async function upload(attachments: AttachmentService, context: Context): Promise<ServiceResponse> {
  const { request, unit, ids } = context;
  const recordIds = recordIdsOf(ids);
  const rules = attachments.rules.of(recordIds);
  await requireWriteAccess(attachments, context);
  const form = await readUpload(attachments, request, rules.maxSizeBytes);
  requireSize(form.file.sizeBytes, rules.maxSizeBytes);
  const { filename, sizeBytes, hash } = form.file;
  const mimetype =
    attachments.mimetypes.get(requireExtension(attachments, filename)) ?? cleanMimetype(form.file.mimetype);
  const requestedName = storedName(rules, { filename, recordId: recordIds.record, ids: recordIds, now: context.now });
  const name = await attachments.store.put(requestedName, { ...form.file, mimetype });
  const cleanUp = deleteOnRollback(attachments, unit, name);
  const location = locationOf(attachments, recordIds, name);
  const attachment = { filename, location, hash, mimetype, size: sizeBytes };
  const response = await writeRecord(attachments, context, form, attachment);
  if (response.status >= 400) {
    await cleanUp();
    return response;
  }
  const { storage } = await unit.writer();
  const replaced = await unlinkRecord(storage, recordIds, rules.keepsOldFiles ? 'replaced' : undefined);
  attachments.deletions.afterCommit(unit, replaced);
  await writeLink(storage, recordIds, { location: name, filename, mimetype });
  return {
    status: response.status,
    headers: {
      ...timestampsOf(response),
      Location: `${attachments.host.versionPrefix}${recordUri(recordIds)}`,
    },
    body: formatJson(attachment),
  };
}

/** Returns the extension of a file in lower case, and refuses extensions that are not accepted. */
function requireExtension({ extensions }: AttachmentService, filename: string): string {
  const extension = extensionOf(filename);
  if (extension !== '' && extensions?.has(extension) === false) {
    throw invalidParameters([
      { location: 'body', name: 'attachment', description: `files with the extension ${extension} are not accepted` },
    ]);
  }
  return extension;
}

/**
 * Deletes the file if the unit of work is rolled back. If the result of a commit is unknown, the file stays and `coffer
 * attachments-clean` decides later.
 *
 * @returns a function that deletes the file at once
 */
function deleteOnRollback({ deletions }: AttachmentService, unit: UnitOfWork, name: string): () => Promise<void> {
  let isDeleted = false;
  const remove = async (): Promise<void> => {
    if (isDeleted) return;
    isDeleted = true;
    await deletions.delete(name);
  };
  unit.onAbandon(async (fate) => {
    if (fate === 'undone') await remove();
  });
  return remove;
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
