// GET, HEAD, PUT, PATCH and DELETE on an object: endpoints.md §5, in the order of errors.md §2.
import { attachmentIn } from './attachment-field.ts';
import { attributesOf, checkAttributes, chosenTime, readEnvelope } from './envelope.ts';
import { missing, Refusal, requireNone, stamps, uncached, type Expected, type Issue } from './exchange.ts';
import { isList, isSame, member, project, valueAt, withMember, type JsonMap } from './json.ts';
import { readPatch } from './patches.ts';
import { objectIn, parentOf, uriOf, type Place } from './places.ts';
import { readConditions, requireAbsent, requireConditions, unchanged } from './preconditions.ts';
import { pairsOf } from './query.ts';
import { mayAll, mayCreate, mayRead, mayWrite } from './rights.ts';
import { requirePossibleGroups } from './refused-ids.ts';
import { validated } from './schemas.ts';
import { faultsOfIndexes, uniqueIndexes } from './selectors.ts';
import type { Entries } from './store.ts';
import { objectAnswer, refused, requireParent, tombstone, wholeOf, withWriter, type Turn } from './turn.ts';

/** @throws Refusal, Collision */
export function answerObject(turn: Turn, place: Place): Expected {
  switch (turn.ask.method) {
    case 'PUT':
      return replace(turn, place);
    case 'PATCH':
      return modify(turn, place);
    case 'DELETE':
      return remove(turn, place);
    default:
      return read(turn, place);
  }
}

function read(turn: Turn, place: Place): Expected {
  const { store, person, ask } = turn;
  if (!mayRead(store, person, place)) throw refused(person);
  requireParent(turn, place);
  const issues: Issue[] = [];
  const conditions = readConditions(ask, issues);
  requireNone(issues);
  const item = store.find(uriOf(place));
  if (item === undefined) throw missing(110, place.id!, place.kind);
  const same = unchanged(conditions, item.lastModified);
  if (same !== undefined) return same;
  const whole = wholeOf(place.id!, item);
  requireConditions(conditions, item.lastModified, whole);
  const headers = { ...stamps(item.lastModified), ...uncached };
  const fields = pairsOf(ask).find(([name]) => name === '_fields')?.[1];
  if (fields === undefined || fields === '') return objectAnswer(turn, 200, place, headers);
  return { status: 200, headers, body: { data: project(whole, fields.split(',')) } };
}

/** Stores an object with its entries, tells the history, and shows it. */
export function write(
  turn: Turn,
  place: Place,
  what: { readonly data: JsonMap; readonly time: number | undefined; readonly entries: Entries },
): Expected {
  const { store, person, now } = turn;
  const uri = uriOf(place);
  const old = store.find(uri);
  const isNew = old === undefined;
  requireIndexes(place, what.data, old?.data);
  const data = validated(turn, place, what.data);
  requirePossibleGroups(turn, what.entries);
  requireUnique(turn, place, data, old?.data);
  const item = store.put(place.list, place.id!, data, now, what.time);
  const indexes = place.kind === 'collection' ? member(data, 'indexes') : undefined;
  if (isList(indexes) && indexes.length > 0) store.touch(`${uri}/records`, now);
  if (attachmentIn(old?.data) !== undefined && attachmentIn(data) === undefined) store.files.delete(uri);
  store.setEntries(uri, withWriter(what.entries, person));
  turn.record({
    action: isNew ? 'create' : 'update',
    place,
    data: wholeOf(place.id!, item),
    entries: store.entriesOf(uri),
    old: old?.data,
  });
  return objectAnswer(turn, isNew ? 201 : 200, place, stamps(item.lastModified));
}

/** Declared indexes are well-formed, or those stored. */
function requireIndexes({ kind }: Place, data: JsonMap, old: JsonMap | undefined): void {
  const declared = kind === 'collection' ? member(data, 'indexes') : undefined;
  if (declared === undefined || (old !== undefined && isSame(declared, member(old, 'indexes')))) return;
  requireNone(faultsOfIndexes(declared).map((place): Issue => ['body', `data.indexes${place}`]));
}

/**
 * No two records have the same values of the fields of a unique index, unless they had them before. The id of the other one is
 * shown to its readers.
 */
function requireUnique({ store, person }: Turn, place: Place, data: JsonMap, old: JsonMap | undefined): void {
  if (place.kind !== 'record') return;
  const collection = store.find(parentOf(place)!)?.data;
  for (const fields of uniqueIndexes(collection && member(collection, 'indexes'))) {
    const values = fields.map((field) => valueAt(data, field));
    if (values.includes(undefined)) continue;
    if (old !== undefined && fields.every((field, n) => isSame(valueAt(old, field), values[n]))) continue;
    const [holder] = [...store.list(place.list).live]
      .filter(
        ([id, item]) => id !== place.id && fields.every((field, n) => isSame(valueAt(item.data, field), values[n])),
      )
      .sort(([, a], [, b]) => b.lastModified - a.lastModified);
    if (holder === undefined) continue;
    const isShown = mayRead(store, person, objectIn(place, holder[0]));
    const details = { field: fields.join(), ...(isShown ? { record: { id: holder[0] } } : {}) };
    throw new Refusal(409, 122, details);
  }
}

function replace(turn: Turn, place: Place): Expected {
  const { store, person, ask, now } = turn;
  const id = place.id!;
  const uri = uriOf(place);
  const old = store.find(uri);
  const issues: Issue[] = [];
  const conditions = readConditions(ask, issues);
  const isCreation = old === undefined || ask.headers['if-none-match'] === '*';
  if (!(isCreation ? mayCreate(store, person, place) : mayWrite(store, person, place))) throw refused(person);
  requireParent(turn, place);
  const { data, entries } = readEnvelope(ask.body, place.kind, issues);
  if (data !== undefined) checkAttributes(data, place.kind, 'data.', issues);
  requireNone(issues);
  if (old === undefined) {
    requireAbsent(conditions, store.list(place.list).gone.get(id), () => store.touch(place.list, now));
  } else if (isCreation && !mayRead(store, person, place)) {
    // Who may only create learns that something is there, and nothing about it.
    throw new Refusal(412, 114, undefined, stamps(store.touch(place.list, now)));
  } else requireConditions(conditions, old.lastModified, wholeOf(id, old));
  const sentId = data === undefined ? undefined : member(data, 'id');
  if (sentId !== undefined && sentId !== id) throw new Refusal(400, 107, [{ location: 'body', name: 'id' }]);
  const given = new Map([...(entries ?? [])].map(([name, principals]) => [name, new Set(principals)]));
  return write(turn, place, {
    data: data === undefined && old !== undefined ? old.data : attributesOf(data ?? {}, place.kind),
    time: chosenTime(data, old?.lastModified),
    entries: given.size > 0 ? given : store.entriesOf(uri),
  });
}

/** PATCH and DELETE: that an object does not exist may be known by those who may read the list. */
function requireChangeable({ store, person }: Turn, place: Place): void {
  if (mayWrite(store, person, place)) return;
  if (store.find(uriOf(place)) === undefined && mayAll(store, person, place, 'read')) return;
  throw refused(person);
}

/** 404 to a write. One with a condition has looked at the clock of the list. */
function absent({ store, ask, now }: Turn, { list, id, kind }: Place): Refusal {
  if (ask.headers['if-match'] !== undefined) store.touch(list, now);
  return missing(110, id!, kind);
}

function modify(turn: Turn, place: Place): Expected {
  const { store, ask } = turn;
  const id = place.id!;
  const uri = uriOf(place);
  requireChangeable(turn, place);
  requireParent(turn, place);
  const issues: Issue[] = [];
  const conditions = readConditions(ask, issues);
  const behaviour = ask.headers['response-behavior'] ?? 'full';
  if (!['full', 'light', 'diff'].includes(behaviour)) issues.push(['header', 'Response-Behavior']);
  const patch = readPatch(ask.headers['content-type'] ?? 'application/json', ask.body, place.kind, issues);
  requireNone(issues);
  const old = store.find(uri);
  if (old === undefined) throw absent(turn, place);
  const before = wholeOf(id, old);
  requireConditions(conditions, old.lastModified, before);
  const { sent, data, attributes, entries } = patch(before, store.entriesOf(uri));
  if (!isSame(member(data, 'id') ?? id, id)) throw new Refusal(400, 107, [{ location: 'body', name: 'id' }]);
  checkAttributes(attributes, place.kind, '', issues);
  requireNone(issues);
  const answer = write(turn, place, { data: attributes, time: chosenTime(data, old.lastModified), entries });
  if (behaviour === 'full') return answer;
  const after = (answer.body as { readonly data: JsonMap }).data;
  return { ...answer, body: { data: trim(sent, after, behaviour === 'light' ? before : sent) } };
}

/** Of the attributes sent, those that differ from what they are compared with. */
function trim(sent: JsonMap, after: JsonMap, reference: JsonMap): JsonMap {
  let trimmed: JsonMap = {};
  for (const key of Object.keys(sent)) {
    const value = member(after, key);
    if (!isSame(value, member(reference, key))) trimmed = withMember(trimmed, key, value);
  }
  return trimmed;
}

function remove(turn: Turn, place: Place): Expected {
  const { store, ask, now } = turn;
  const id = place.id!;
  requireChangeable(turn, place);
  requireParent(turn, place);
  const issues: Issue[] = [];
  const conditions = readConditions(ask, issues);
  const times = pairsOf(ask).filter(([name]) => name === 'last_modified');
  const [, text = ''] = times[0] ?? [];
  if (times.length > 0 && !/^(?:-?\d+|"-?\d+")$/.test(text)) issues.push(['querystring', 'last_modified']);
  requireNone(issues);
  const old = store.find(uriOf(place));
  if (old === undefined) throw absent(turn, place);
  requireConditions(conditions, old.lastModified, wholeOf(id, old));
  const time = Number(text.replaceAll('"', ''));
  const lastModified = store.remove(place.list, id, now, time > old.lastModified ? time : undefined);
  const data = tombstone(id, lastModified);
  turn.record({ action: 'delete', place, data, entries: new Map() });
  return { status: 200, headers: stamps(lastModified), body: { data } };
}
