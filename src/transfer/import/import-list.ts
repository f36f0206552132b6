// Makes one list of the target equal to the source, and compares the two. Both are one walk over the two sides in the order of
// timestamps; a comparison writes nothing.
import type { ObjectPermissions } from '../../contracts/permission.ts';
import { formatAttributes, isTombstone, StoredObject, type StoredEntry } from '../../core/objects/stored.ts';
import { newestFirst } from '../../core/query/sort.ts';
import type { Stores } from '../../engine/unit-of-work.ts';
import { isSameEntry } from '../copy/copy-lists.ts';
import { formatPermissions } from '../copy/digest.ts';
import { compareTimes, sizeOf, walkEntries, walkPairs } from '../../maintenance/walk.ts';
import { withMembers } from '../../resources/group.ts';
import type { ApiRules } from './api-rules.ts';
import { isUnfit } from './entries.ts';
import { Findings, type ListReport } from './findings.ts';
import type { SourceList } from './lists.ts';
import { ChangesForgotten, type Source } from './source.ts';
import { ImportRefused } from './transport.ts';
import { writeChanges, type Change } from './write-changes.ts';

export interface ListWork {
  readonly source: Source;
  readonly target: Stores;
  readonly list: SourceList;
  readonly rules: ApiRules;
  /** Only these objects of the list. */
  readonly only?: readonly string[] | undefined;
  /** Called with the number of entries read at the source since the last call. */
  readonly onRead: (entries: number) => void;
  /** Called before objects are written. */
  readonly beforeWrite: () => Promise<void>;
}

/**
 * Writes the differences, then compares. Repeats both in full when differences are left, because of changes meanwhile or
 * because the target was not an earlier import.
 */
export async function importList(work: ListWork): Promise<ListReport> {
  const since = await findStart(work);
  try {
    await walk(work, { writes: true, since });
  } catch (error) {
    // The comparison finds what is missing, and the list is read in full then.
    if (!(error instanceof ChangesForgotten)) throw error;
  }
  const report = await compareList(work);
  if (report.compared.differences.length === 0) return report;
  await walk(work, { writes: true, since: undefined });
  return compareList(work);
}

/** Compares a list, without writing. */
export function compareList(work: ListWork): Promise<ListReport> {
  return walk(work, { writes: false, since: undefined });
}

/**
 * Returns the timestamp from which the list is read. Everything up to the clock of the target has been imported, because
 * entries are written in the order of timestamps and the clock comes last. Lists with children are few, and read from the
 * start, because their children depend on them.
 *
 * @throws ImportRefused when the target is newer than the source
 */
async function findStart({ source, target, list }: ListWork): Promise<number | undefined> {
  const { kind, parent } = list;
  const { reader } = target.storage;
  const clock = await reader.resourceTimestamp({ kind, parent });
  if (clock === undefined) return undefined;
  const state = await source.state(list);
  if (state?.timestamp !== undefined && clock > state.timestamp) {
    const query = { filters: [], includeDeleted: true, sort: newestFirst, limit: 1 };
    const [newest] = (await reader.listAll({ kind, parent }, query)).entries;
    if (newest !== undefined && newest.lastModified > state.timestamp) {
      throw new ImportRefused(
        `${list.name}: the target has ${newest.id} with a later timestamp than the source. The target has writes of its ` +
          'own, which another import would undo',
      );
    }
    return undefined;
  }
  return list.kind === 'record' || list.kind === 'history' ? clock : undefined;
}

/** The entries of both sides at one place of the list. */
interface Step {
  readonly ours: StoredEntry | undefined;
  readonly theirs: StoredEntry | undefined;
}

const stepsAtOnce = 200;
const charactersAtOnce = 8_000_000;

async function walk(
  work: ListWork,
  { writes, since }: { readonly writes: boolean; readonly since: number | undefined },
): Promise<ListReport> {
  const { target, list, only } = work;
  const findings = new Findings(list, work.rules);
  const state = writes ? undefined : await work.source.state(list);
  const ours = walkSource(work, since, findings);
  const theirs = walkEntries(target.storage.reader, list, only, since);
  let steps: Step[] = [];
  let characters = 0;
  for await (const [one, other] of walkPairs(ours, theirs, compareTimes)) {
    steps.push({ ours: one, theirs: other });
    characters += sizeOf(one ?? other);
    if (steps.length < stepsAtOnce && characters < charactersAtOnce) continue;
    await settle(work, steps, { writes, findings });
    steps = [];
    characters = 0;
  }
  await settle(work, steps, { writes, findings });
  const clock = findings.timestamp;
  if (writes) {
    if (clock !== undefined) await writeChanges(target, list, { changes: [], clock });
  } else await compareStates(work, state?.total, findings);
  return findings.report();
}

async function compareStates(
  { target, list, only }: ListWork,
  total: number | undefined,
  findings: Findings,
): Promise<void> {
  const { kind, parent } = list;
  const clock = await target.storage.reader.resourceTimestamp({ kind, parent });
  if (clock === undefined) findings.differ('the target has no such list');
  else if (findings.timestamp !== undefined && clock < findings.timestamp) {
    findings.differ(`the clock is ${findings.timestamp} at the source and ${clock} in the target`);
  }
  if (only === undefined && total !== undefined && total !== findings.liveAtSource) {
    findings.differ(`the source counts ${total} objects and shows ${findings.liveAtSource}`);
  }
}

/** Yields the entries of the source in the order of timestamps. Those that cannot be stored are noted and left out. */
async function* walkSource(
  { source, list, only, onRead }: ListWork,
  since: number | undefined,
  findings: Findings,
): AsyncGenerator<StoredEntry> {
  let last: StoredEntry | undefined;
  let hasClock = true;
  const newest = (): number => last?.lastModified ?? since ?? 0;
  for await (const { entries, timestamp } of source.pages(list, since)) {
    hasClock = timestamp !== undefined;
    findings.timestamp = timestamp ?? newest();
    for (const entry of entries) {
      if (only !== undefined && !only.includes(entry.id)) continue;
      if (isUnfit(entry)) findings.refuse(entry);
      else if (last !== undefined && last.lastModified === entry.lastModified && last.id !== entry.id) {
        const { id, lastModified } = entry;
        const reason = `it has the timestamp of ${last.id} (${lastModified}); change one of them at the source`;
        findings.refuse({ id, lastModified, reason });
      } else {
        last = list.kind === 'group' && !isTombstone(entry) ? completeGroup(entry) : entry;
        yield last;
      }
    }
    onRead(entries.length);
  }
  if (hasClock) return;
  findings.refuseClock();
  findings.timestamp = newest();
}

/** Adds `members` to a group that Kinto stores without. */
function completeGroup(group: StoredObject): StoredObject {
  const { id, lastModified, attributes } = group;
  const completed = withMembers(attributes);
  return completed === attributes ? group : new StoredObject(id, lastModified, formatAttributes(completed));
}

async function settle(
  work: ListWork,
  steps: readonly Step[],
  { writes, findings }: { readonly writes: boolean; readonly findings: Findings },
): Promise<void> {
  if (steps.length === 0) return;
  const { source, target, list } = work;
  const live = steps.flatMap(({ ours }) => (ours === undefined || isTombstone(ours) ? [] : [ours]));
  const seen = await readSeen(work, live, findings);
  const uris = live.map(({ id }) => list.uriOf(id));
  const known = list.hasObjects ? await target.permission.reader.getObjectsPermissions(uris) : [];
  const knownOf = new Map(live.map(({ id }, index) => [id, known[index] ?? {}]));
  const listed = new Set(steps.flatMap(({ ours }) => (ours === undefined ? [] : [ours.id])));
  const doubtful = steps.flatMap(({ ours, theirs }) =>
    theirs === undefined || ours?.id === theirs.id || listed.has(theirs.id) ? [] : [theirs.id],
  );
  const changes: Change[] = [];
  for (const { ours, theirs } of steps) {
    if (ours === undefined) continue;
    const wanted = isTombstone(ours) ? undefined : seen.get(ours.id);
    if (wanted === 'moved') continue;
    const had = knownOf.get(ours.id) ?? {};
    const isSame = theirs !== undefined && isSameEntry(ours, theirs);
    const isAlike = wanted === undefined || formatPermissions(wanted) === formatPermissions(had);
    if (!isSame || !isAlike) changes.push({ put: ours, permissions: wanted, known: had });
    findings.compare(ours, { theirs, isSame, isAlike, wanted, had });
  }
  // An entry at another place may have been changed or deleted at the source, or be hidden from this user.
  const answers = list.hasObjects ? await source.objects(list, doubtful) : [];
  for (const [index, id] of doubtful.entries()) {
    const answer = answers[index];
    if (answer?.is === 'there') continue;
    if (answer?.is === 'hidden') {
      findings.hidden.push(list.uriOf(id));
      findings.differ(`the source does not show ${id} (${answer.status}), which the target has`);
    } else {
      changes.push({ gone: id });
      findings.compareExtra(id, steps.find(({ theirs }) => theirs?.id === id)?.theirs);
    }
  }
  if (!writes || changes.length === 0) return;
  const isAnyGone = changes.some((change) => 'gone' in change);
  await work.beforeWrite();
  await writeChanges(target, list, { changes, clock: 0, horizon: isAnyGone ? findings.timestamp : undefined });
}

/**
 * Returns the permissions of live objects. `undefined`: the source shows them neither at the object nor in the history.
 * `moved`: the object has changed since it was listed, and occurs again later.
 */
async function readSeen(
  { source, list }: ListWork,
  live: readonly StoredObject[],
  findings: Findings,
): Promise<ReadonlyMap<string, ObjectPermissions | 'moved' | undefined>> {
  if (!list.hasObjects || live.length === 0) return new Map();
  const answers = await source.objects(
    list,
    live.map(({ id }) => id),
  );
  const seen = new Map<string, ObjectPermissions | 'moved' | undefined>();
  const unseen: StoredObject[] = [];
  for (const [index, object] of live.entries()) {
    const answer = answers[index]!;
    if (answer.is === 'missing' || (answer.is === 'there' && answer.lastModified !== object.lastModified)) {
      seen.set(object.id, 'moved');
      findings.differ(`${object.id} was changed at the source during the import`);
    } else if (answer.is === 'there' && answer.permissions !== undefined) seen.set(object.id, answer.permissions);
    else unseen.push(object);
  }
  const wanted = unseen.map(({ id, lastModified }) => ({ uri: list.uriOf(id), lastModified }));
  const bucket = list.parent === '' ? undefined : list.parent.split('/')[2];
  const inHistory = source.hasHistory
    ? await Promise.all(
        // The history of a bucket contains its own changes too.
        bucket === undefined
          ? wanted.map(async (one) => (await source.permissionsInHistory(one.uri.split('/')[2]!, [one]))[0])
          : [source.permissionsInHistory(bucket, wanted)],
      ).then((found) => found.flat())
    : [];
  for (const [index, { id }] of unseen.entries()) {
    const found = inHistory[index];
    seen.set(id, found);
    if (found === undefined) findings.unseen.push(list.uriOf(id));
  }
  return seen;
}
