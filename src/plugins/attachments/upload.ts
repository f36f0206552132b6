// `POST …/attachment`: stores a file, then writes the record by a request of its own through the same dispatch, so that
// permissions, schema, preconditions and events are those of any other write.
import { formatJson, setKey, type JsonObject, type MutableJsonObject } from '../../base/json.ts';
import { invalidParameters, notFound } from '../../core/errors.ts';
import type { PathIds } from '../../core/objects/object-id.ts';
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

/** How often the record may come and go while it is being written. */
const maxAttempts = 5;

/** Reads the form before anything is locked, once it is known that the caller may do this at all. */
export async function receiveUpload(attachments: AttachmentService, arrival: Arrival): Promise<void> {
  const { request, unit, caller, ids, isAlias } = arrival;
  // In a batch there are no forms; the handler says so.
  if (request.body.stream === undefined) return;
  if (isAlias) {
    // Whom it stands for is not known yet. The alias refuses those who have not said who they are.
    if (caller.userId === undefined) return;
  } else {
    await requireWriteAccess(attachments, { unit, caller, ids });
  }
  const { bucket, collection } = recordIdsOf(ids);
  const rules = isAlias ? attachments.rules.defaults : attachments.rules.of({ bucket, collection });
  await readUpload(attachments, request, rules.maxSizeBytes);
}

/** Those who may write the record when it exists, else those who may create it; before anything is sent. */
async function requireWriteAccess(
  { host }: AttachmentService,
  { unit, caller, ids }: Pick<Arrival, 'unit' | 'caller' | 'ids'>,
): Promise<void> {
  const kind = host.objects.kind('record');
  const actor = { unit, caller };
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

/** Stores the file that was received, and gives it to the record. */
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

/** The extension of a file, in lower case. */
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
 * Makes sure that the file goes when the unit of work is undone. When a commit failed nobody knows whether the record
 * has the file, so it stays, for `coffer attachments-clean` to find out.
 *
 * @returns what deletes it at once
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

/** Creates the record or changes it, whichever it takes by the time it is written. */
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
    const mayBeOtherwise = response.status === (exists ? 404 : 412);
    if (!mayBeOtherwise || attempt === maxAttempts || (await recordExists()) === exists) return response;
    // It has come or gone meanwhile. What the client demands is to be compared with what is there now.
    exists = !exists;
  }
}

/** Lets the attachment of a record be changed to this in the unit of work; see `changes.ts`. */
function allowAttachment({ uploaded }: AttachmentService, unit: UnitOfWork, uri: string, attachment: JsonObject): void {
  const known = uploaded.get(unit) ?? new Map<string, JsonObject>();
  uploaded.set(unit, known.set(uri, attachment));
}

const formHeaders: readonly string[] = ['content-length', 'content-encoding', 'transfer-encoding', 'expect'];

/** A request for the record by the same client and under the same conditions. */
export function recordRequest(
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

/** Those headers of an answer that say when the record was changed. */
export function timestampsOf({ headers }: ServiceResponse): ResponseHeaders {
  return Object.fromEntries(
    ['ETag', 'Last-Modified'].flatMap((name) => {
      const value = headers[name];
      return value === undefined ? [] : [[name, value] as const];
    }),
  );
}
