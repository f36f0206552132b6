// Receives uploads before their request writes anything: checks the permission, reads the form and stores the file. A slow
// client or a slow store of files holds no locks.
import { invalidParameters, notFound } from '../../core/errors.ts';
import { isConfirmed, refusal, requireAllowed } from '../../engine/access.ts';
import type { Arrival } from '../../engine/endpoint.ts';
import type { RequestBody, ServiceRequest } from '../../engine/exchange.ts';
import { storedName } from './file-name.ts';
import { cleanMimetype, extensionOf } from './file-types.ts';
import { readForm, type Form } from './form.ts';
import { recordIdsOf, type AttachmentService } from './service.ts';

/** A stored file that is deleted when its request ends without a record for it. */
export interface ReceivedFile {
  readonly form: Form;
  /** Name in the store. */
  readonly name: string;
  readonly mimetype: string;
  isKept: boolean;
}

const received = new WeakMap<RequestBody, ReceivedFile>();

/** Returns the file of a request; `undefined` when its body is no form. */
export function findReceived({ body }: ServiceRequest): ReceivedFile | undefined {
  return received.get(body);
}

/** Stores the file of an upload, once for all attempts at the request. */
export async function receiveUpload(attachments: AttachmentService, arrival: Arrival): Promise<void> {
  const { host, store, deletions, mimetypes } = attachments;
  const { request, ids } = arrival;
  const { body } = request;
  // A batch contains no forms. The handler returns the error.
  if (body.stream === undefined || received.has(body)) return;
  const recordIds = recordIdsOf(ids);
  const rules = attachments.rules.of(recordIds);
  await requireUploadAccess(attachments, arrival);
  const form = await readUpload(attachments, request, rules.maxSizeBytes);
  const { filename } = form.file;
  const mimetype = mimetypes.get(requireExtension(attachments, filename)) ?? cleanMimetype(form.file.mimetype);
  // The form may have taken long.
  await requireUploadAccess(attachments, arrival);
  const now = host.clock.now();
  const requestedName = storedName(rules, { filename, recordId: recordIds.record, ids: recordIds, now });
  const name = await store.put(requestedName, { ...form.file, mimetype });
  const file: ReceivedFile = { form, name, mimetype, isKept: false };
  received.set(body, file);
  body.onRelease(async () => {
    if (!file.isKept) await deletions.delete(name);
  });
}

/**
 * Requires permission to write the existing record, or to create it.
 *
 * @throws ServiceError missingAuthToken, forbidden; missingParent
 */
export async function requireUploadAccess(
  { host: { objects } }: AttachmentService,
  { unit, caller, request, ids, createsParents }: Arrival,
): Promise<void> {
  const exists = async (kind: string): Promise<boolean> =>
    (await objects.find({ unit, caller, request }, { kind, ids })) !== undefined;
  const { create, write } = objects.kind('record').rules;
  const hasRecord = await exists('record');
  const hasParent = hasRecord || (await exists('collection'));
  if (hasParent || !createsParents) {
    await requireAllowed(hasRecord ? write : create, caller, unit.reader, ids);
    if (!hasParent) throw notFound('missingParent', 'collection', ids['collection_id']!);
    return;
  }
  // The caller will own the collection, so only an authorization policy can refuse.
  for (const kind of ['bucket', 'collection', 'record']) {
    if (await exists(kind)) continue;
    if (!(await isConfirmed(objects.kind(kind).rules.create, caller, unit.reader, ids))) throw refusal(caller);
  }
}

function readUpload({ host, store }: AttachmentService, request: ServiceRequest, fileBytes: number): Promise<Form> {
  const limits = {
    fileBytes,
    otherBytes: host.settings.get('max_body_size'),
    json: { maxDepth: host.settings.get('max_json_depth'), maxValues: host.settings.get('max_json_values') },
  };
  return readForm(request, () => store.spoolFolder(), limits);
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
