// What follows from changes to source collections: the steps of the state machine, carried out inside the transaction of
// the request that asked for them.
import { formatJson, getKey, type JsonObject } from '../../base/json.ts';
import { entryValue, isTombstone } from '../../core/objects/stored.ts';
import type { Change, ChangeEvent } from '../../engine/events/event.ts';
import type { EventScope } from '../../engine/events/subscriber.ts';
import { compareRecords, publishRecords, restoreRecords } from './copy.ts';
import { ensureGroups, groupUris, withPrincipals } from './groups.ts';
import { forbidden, invalid } from './refusals.ts';
import { announceReview, type ReviewEvent } from './review-events.ts';
import { placeUri, targetsOf } from './routes.ts';
import { collectionPlace, pluginCaller, type Work } from './service.ts';
import { decide, type Step } from './status.ts';
import { cleanUpTargets, ensureTarget, resignTargets, signTarget } from './targets.ts';
import { trackingFields, writeSource, writtenStatus } from './tracking.ts';

/** What happened to the source, and in which request. */
export interface SourceEvent {
  readonly event: ChangeEvent;
  readonly change: Change;
  readonly scope: EventScope;
}

/** Carries out what a change of a source collection asks for. */
export async function onSourceChange(work: Work, source: SourceEvent): Promise<void> {
  const { change } = source;
  if (change.action === 'delete') return onDeletion(work);
  const [before, after] = [valueOf(change.old), valueOf(change.new)];
  for (const field of trackingFields) {
    if (textOf(before, field) !== textOf(after, field)) throw invalid(`${field} cannot be changed.`);
  }
  if (change.action === 'create') await onCreation(work, source, after);
  else if (textOf(before, 'status') !== textOf(after, 'status')) {
    const from = hasEdits(work, source.scope) ? 'work-in-progress' : presentStatus(work, before);
    await carryOut(work, source, await choose(work, source, from, after), from);
  }
}

/** Records were changed by somebody: whatever was said about them does not hold any more. */
export async function onEdit(work: Work, change: Change): Promise<void> {
  await writeSource(work, { status: 'work-in-progress', occasions: ['edit'], caller: change.caller });
}

async function onCreation(work: Work, source: SourceEvent, after: JsonObject): Promise<void> {
  const { service, actor, route, options } = work;
  const { caller } = source.change;
  // What a creation leads to is written below; a status that it asks for comes from none.
  const step = getKey(after, 'status') === undefined ? undefined : await choose(work, source, undefined, after);
  const { objects } = service.host;
  const bucket = objects.place('bucket', { bucket_id: route.source.bucket });
  await objects.requireAllowed({ unit: actor.unit, caller }, bucket, 'group:create');
  await ensureGroups(work, caller);
  for (const target of targetsOf(route)) {
    await ensureTarget(work, target);
    await signTarget(work, target, after);
  }
  const { editors, reviewers } = groupUris(route.source, options);
  await writeSource(work, {
    status: step === 'edit' ? 'work-in-progress' : 'signed',
    occasions: ['edit', 'signature'],
    caller,
    permissions: (stored) => withPrincipals(stored, 'write', [editors, reviewers]),
  });
  if (step === 'approve' || step === 'rollBack') await carryOut(work, source, step, undefined);
}

/** Of a collection, by its own deletion or by that of its bucket. */
export async function onDeletion(work: Work): Promise<void> {
  const { objects } = work.service.host;
  const found = await objects.find(work.actor, collectionPlace(objects, work.route.source));
  // It may have been created again in the same request.
  if (found === undefined) await cleanUpTargets(work);
}

/** Whether the request has changed records too, sooner or later: what was reviewed is not what is there. */
function hasEdits({ route }: Work, { unit }: EventScope): boolean {
  const parent = placeUri(route.source);
  return unit.events.current.some(
    (event) =>
      event.action !== 'read' &&
      event.kind === 'record' &&
      event.list.parent === parent &&
      event.changes.some(({ caller }) => caller !== pluginCaller),
  );
}

/** The status before the change: where an earlier change of the same request has led, not where it asked to go. */
function presentStatus(work: Work, before: JsonObject): string | undefined {
  const written = writtenStatus(work);
  if (written.isKnown) return written.status;
  const status = getKey(before, 'status');
  return typeof status === 'string' ? status : undefined;
}

/** @throws ServiceError invalidPostedData, forbidden */
async function choose(
  work: Work,
  { change: { caller, old } }: SourceEvent,
  from: string | undefined,
  after: JsonObject,
): Promise<Step> {
  const { service, actor, route, options } = work;
  const { editors, reviewers } = groupUris(route.source, options);
  const principals = await caller.allPrincipals();
  const stored = await service.host.objects.find(actor, collectionPlace(service.host.objects, route.source));
  // As it was before the request, and as earlier changes of the request have left it.
  const requesters = [valueOf(old), valueOf(stored)].map((each) => getKey(each, 'last_review_request_by'));
  const decision = decide({
    from,
    to: getKey(after, 'status'),
    isReviewed: options.isReviewed,
    isEditor: principals.includes(editors),
    isReviewer: principals.includes(reviewers),
    isRequester: requesters.includes(caller.principal),
  });
  if (decision.kind === 'step') return decision.step;
  throw decision.kind === 'invalid' ? invalid(decision.message) : forbidden(decision.message);
}

async function carryOut(work: Work, source: SourceEvent, step: Step, from: string | undefined): Promise<void> {
  const { route } = work;
  const { change } = source;
  const { caller } = change;
  const attributes = valueOf(change.new);
  const announce = async (name: ReviewEvent): Promise<void> => {
    if (!work.actor.unit.events.wantsNamed(name)) return;
    const difference = await compareRecords(work, route.source, route.destination);
    announceReview(work, { name, event: source.event, change, attributes, difference });
  };
  switch (step) {
    case 'reject':
      await announce('ReviewRejected');
      return writeSource(work, { status: 'work-in-progress', occasions: [], caller });
    case 'edit':
      return writeSource(work, { status: 'work-in-progress', occasions: [], caller });
    case 'requestReview':
      await announce('ReviewRequested');
      if (route.preview !== undefined) await publish(work, [route.preview]);
      return writeSource(work, { status: 'to-review', occasions: ['review_request'], caller });
    case 'approve':
      await announce('ReviewApproved');
      await publish(work, targetsOf(route));
      return writeSource(work, { status: 'signed', occasions: ['review', 'signature'], caller });
    case 'resign':
      await resignTargets(work);
      return writeSource(work, { status: from, occasions: ['signature'], caller });
    case 'rollBack':
      await announce('ReviewCanceled');
      await rollBack(work);
      return writeSource(work, { status: 'signed', occasions: ['edit'], caller });
  }
}

async function publish(work: Work, targets: ReturnType<typeof targetsOf>): Promise<void> {
  const { service, actor, route } = work;
  const source = await service.host.objects.find(actor, collectionPlace(service.host.objects, route.source));
  for (const target of targets) {
    await ensureTarget(work, target);
    await publishRecords(work, route.source, target);
    await signTarget(work, target, source?.attributes ?? {});
  }
}

async function rollBack(work: Work): Promise<void> {
  const { destination, source, preview } = work.route;
  await restoreRecords(work, destination, source);
  if (preview === undefined) return;
  await ensureTarget(work, preview);
  await restoreRecords(work, destination, preview);
  await signTarget(work, preview);
}

function valueOf(entry: Change['new'] | undefined): JsonObject {
  return entry === undefined || isTombstone(entry) ? {} : entryValue(entry);
}

/** Something to compare attributes by. */
function textOf(attributes: JsonObject, field: string): string | undefined {
  const value = getKey(attributes, field);
  return value === undefined ? undefined : formatJson(value);
}
