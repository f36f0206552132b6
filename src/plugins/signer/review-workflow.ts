// The review workflow: executes the steps of the state machine after a change to a source collection, inside the
// transaction of the request.
import { getKey, type JsonObject } from '../../base/json.ts';
import type { Caller } from '../../engine/caller.ts';
import type { ChangeEvent } from '../../engine/events/event.ts';
import type { EventScope } from '../../engine/events/subscriber.ts';
import type { Change } from '../../engine/events/event.ts';
import { compareRecords, copyRecords, removeRecords } from './copy-records.ts';
import { ensureGroups, groupUris, mayCreateGroups, withPrincipals } from './groups.ts';
import { commentsToEmpty, editorComment, reviewerComment, withEmptied } from './comments.ts';
import { announceReview, type ReviewEvent } from './review-events.ts';
import { countDifferences } from './records.ts';
import { placeUri, targetsOf } from './routes.ts';
import {
  attributesOf,
  findCollection,
  forbidden,
  invalid,
  isSameAttribute,
  pluginCaller,
  type Work,
} from './service.ts';
import { decide, type Step } from './review-status.ts';
import { cleanUpTargets, ensureTarget, resignTargets } from './targets.ts';
import { trackingFields, writeSource, writtenStatus } from './review-attributes.ts';

/** A change to the source and the request that made it. */
export interface SourceEvent {
  readonly event: ChangeEvent;
  readonly change: Change;
  readonly scope: EventScope;
}

/** Executes the steps that a change to a source collection requires. */
export async function onSourceChange(work: Work, source: SourceEvent): Promise<void> {
  const { change } = source;
  if (change.action === 'delete') return onDeletion(work);
  const { old: before, new: after } = change;
  for (const field of trackingFields) {
    if (!isSameAttribute(before, after, field)) throw invalid(`${field} cannot be changed.`);
  }
  if (change.action === 'create') await onCreation(work, source, attributesOf(after));
  else if (!isSameAttribute(before, after, 'status')) {
    const from = hasEdits(work, source.scope) ? 'work-in-progress' : currentStatus(work, attributesOf(before));
    await carryOut(work, source, await decideStep(work, source, from, attributesOf(after)), from);
  }
}

/** Resets the status after a client changed records, because an earlier review no longer covers them. */
export async function onEdit(work: Work, change: Change): Promise<void> {
  await writeSource(work, { status: 'work-in-progress', actions: ['edit'], caller: change.caller });
}

async function onCreation(work: Work, source: SourceEvent, after: JsonObject): Promise<void> {
  const { route, options } = work;
  const { caller } = source.change;
  // The status after a creation is written below. A requested status is a transition from no status.
  const step = getKey(after, 'status') === undefined ? undefined : await decideStep(work, source, undefined, after);
  const hasGroups = await mayCreateGroups(work, caller);
  if (hasGroups) await ensureGroups(work, caller);
  for (const target of targetsOf(route)) {
    // Other users may have filled a target that exists before its source.
    if (!(await ensureTarget(work, target, caller))) await removeRecords(work, target);
    work.pending.sign({ options: work.options, target, source: after });
  }
  const { editors, reviewers } = groupUris(route.source, options);
  await writeSource(work, {
    status: step === 'edit' || hasEdits(work, source.scope) ? 'work-in-progress' : 'signed',
    actions: ['edit', 'signature'],
    caller,
    permissions: (stored) => withPrincipals(stored, 'write', hasGroups ? [editors, reviewers] : []),
  });
  if (step === 'approve' || step === 'rollBack') await carryOut(work, source, step, undefined);
}

/**
 * Cleans up the targets of a source that was deleted itself or with its bucket. If the same request has created it again, the
 * creation empties them.
 */
export async function onDeletion(work: Work): Promise<void> {
  if ((await findCollection(work, work.route.source)) === undefined) await cleanUpTargets(work);
}

/** Creates the groups of a source anew if the request has created it before and after its deletion. */
export async function onRecreation(work: Work): Promise<void> {
  if ((await findCollection(work, work.route.source)) === undefined) return;
  const uri = placeUri(work.route.source);
  const creations = work.actor.unit.events.current.flatMap((event) => (event.action === 'create' ? event.changes : []));
  const creation = creations.findLast((change) => change.uri === uri);
  if (creation !== undefined && (await mayCreateGroups(work, creation.caller))) {
    await ensureGroups(work, creation.caller);
  }
}

/** Returns whether the request also changes records, before or after the status: a review does not cover those. */
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

/**
 * Returns the status before the change: the result of earlier changes in the same request, not their requested status.
 */
function currentStatus(work: Work, before: JsonObject): string | undefined {
  const written = writtenStatus(work);
  if (written.isKnown) return written.status;
  const status = getKey(before, 'status');
  return typeof status === 'string' ? status : undefined;
}

/**
 * Returns the step for the requested status.
 *
 * @throws ServiceError invalidPostedData, forbidden
 */
async function decideStep(
  work: Work,
  { change: { caller, old } }: SourceEvent,
  from: string | undefined,
  after: JsonObject,
): Promise<Step> {
  const { route, options } = work;
  const { editors, reviewers } = groupUris(route.source, options);
  const principals = await caller.allPrincipals();
  const stored = await findCollection(work, route.source);
  // Before the request, and after earlier changes of the same request.
  const requesters = [old, stored].map((each) => getKey(attributesOf(each), 'last_review_request_by'));
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
  const announce = async (name: ReviewEvent, emptied: readonly string[] = []): Promise<void> => {
    if (!work.actor.unit.events.wantsNamed(name)) return;
    const attributes = withEmptied(attributesOf(change.new), emptied);
    const difference = await compareRecords(work, route.source, route.destination);
    if (name === 'ReviewCanceled' && countDifferences(difference) === 0 && !(await hasReviewedChanges(work))) return;
    announceReview(work, { name, event: source.event, change, attributes, difference });
  };
  switch (step) {
    case 'reject':
      await announce('ReviewRejected');
      return writeSource(work, { status: 'work-in-progress', actions: [], caller });
    case 'edit':
      return writeSource(work, { status: 'work-in-progress', actions: [], caller });
    case 'requestReview': {
      const emptied = commentsToEmpty(route, source.event, change);
      await announce('ReviewRequested', emptied);
      if (route.preview !== undefined) await publish(work, [route.preview], caller);
      return writeSource(work, { status: 'to-review', actions: ['review_request'], caller, emptied });
    }
    case 'approve':
      await announce('ReviewApproved');
      await publish(work, targetsOf(route), caller);
      return writeSource(work, { status: 'signed', actions: ['review', 'signature'], caller });
    case 'resign':
      await resignTargets(work);
      return writeSource(work, { status: from, actions: ['signature'], caller });
    case 'rollBack':
      await announce('ReviewCanceled');
      await rollBack(work, caller);
      return writeSource(work, {
        status: 'signed',
        actions: ['edit'],
        caller,
        emptied: [editorComment, reviewerComment],
      });
  }
}

async function publish(work: Work, targets: ReturnType<typeof targetsOf>, caller: Caller): Promise<void> {
  const source = await findCollection(work, work.route.source);
  for (const target of targets) {
    await ensureTarget(work, target, caller);
    await copyRecords(work, work.route.source, target);
    work.pending.sign({ options: work.options, target, source: source?.attributes ?? {} });
  }
}

/** Returns whether the preview has changes that the destination does not have. */
async function hasReviewedChanges(work: Work): Promise<boolean> {
  const { destination, preview } = work.route;
  if (preview === undefined || (await findCollection(work, preview)) === undefined) return false;
  return countDifferences(await compareRecords(work, destination, preview)) > 0;
}

async function rollBack(work: Work, caller: Caller): Promise<void> {
  const { destination, source, preview } = work.route;
  await copyRecords(work, destination, source);
  if (preview === undefined) return;
  await ensureTarget(work, preview, caller);
  await copyRecords(work, destination, preview);
  work.pending.sign({ options: work.options, target: preview });
}
