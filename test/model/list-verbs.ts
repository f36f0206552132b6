// GET, HEAD, POST and DELETE on a list: endpoints.md §4, in the order of errors.md §2.
import { attributesOf, checkAttributes, chosenTime, readEnvelope } from './envelope.ts';
import { Refusal, requireNone, stamps, uncached, type Ask, type Expected, type Issue } from './exchange.ts';
import { historyRules } from './history.ts';
import { isMap, member, valueAt, type Json, type JsonMap } from './json.ts';
import { write } from './object-verbs.ts';
import { isGoodId, objectIn, parentOf, uriOf, type Place } from './places.ts';
import { readConditions, requireAbsent, requireConditions, unchanged } from './preconditions.ts';
import {
  checkQuery,
  decodeToken,
  filter,
  nextPage,
  pairsOf,
  readQuery,
  searching,
  selectPage,
  shown,
  type Query,
  type QueryRules,
} from './query.ts';
import { searchedFields } from './text.ts';
import { mayCreate, mayRead, selectable } from './rights.ts';
import { objectAnswer, refused, requireParent, tombstone, wholeOf, type Turn } from './turn.ts';

/** @throws Refusal, Collision */
export function answerList(turn: Turn, place: Place): Expected {
  switch (turn.ask.method) {
    case 'POST':
      return create(turn, place);
    case 'DELETE':
      return removeAll(turn, place);
    default:
      return read(turn, place);
  }
}

/** `{"code":"soft-eol",…}` for the old name of a parameter. */
function alerts(ask: Ask): Readonly<Record<string, string>> {
  return pairsOf(ask).some(([name]) => name === '_to') ? { alert: '*' } : {};
}

const day = 24 * 60 * 60 * 1000;

/** A list may have been moved ahead of the time; who follows it may say so. */
function rulesOf({ store, now }: Turn, place: Place): QueryRules {
  const horizon = Math.max(now, store.list(place.list).clock ?? 0) + day;
  return place.kind === 'history' ? { horizon, ...historyRules } : { horizon, textFields: ['id'] };
}

/** Everything in a list that the caller has to do with. */
function visible({ store }: Turn, place: Place, ids: 'all' | readonly string[], withGone: boolean): readonly JsonMap[] {
  const { live, gone } = store.list(place.list);
  const all = [
    ...[...live].map(([id, item]) => wholeOf(id, item)),
    ...(withGone ? [...gone].map(([id, lastModified]) => tombstone(id, lastModified)) : []),
  ];
  return ids === 'all' ? all : all.filter(({ id }) => ids.includes(id as string));
}

/** What comes before any answer about a list: access, the parent, conditions and parameters, in this order. */
function enter(turn: Turn, place: Place, right: 'read' | 'write') {
  const { store, person, ask } = turn;
  const ids = selectable(store, person, place, right);
  if (ids === undefined) throw refused(person);
  requireParent(turn, place);
  const issues: Issue[] = [];
  const conditions = readConditions(ask, issues);
  const rules = rulesOf(turn, place);
  requireNone([...issues, ...checkQuery(ask, rules)]);
  return { ids, conditions, rules };
}

/** @throws Refusal when words are searched where no index of words is declared */
function bound({ store, world }: Turn, place: Place, query: Query): Query {
  if (query.terms === undefined) return query;
  const collection = place.kind === 'record' ? store.find(parentOf(place)!)?.data : undefined;
  const fields = searchedFields(collection && member(collection, 'indexes'));
  if (fields === undefined || !world.searchesText) {
    throw new Refusal(400, 107, [{ location: 'querystring', name: '_q' }]);
  }
  return searching(query, fields);
}

function read(turn: Turn, place: Place): Expected {
  const { store, ask, now } = turn;
  const { ids, conditions, rules } = enter(turn, place, 'read');
  if (conditions.match !== undefined || conditions.noneMatch !== undefined) {
    const clock = store.touch(place.list, now);
    const same = unchanged(conditions, clock, alerts(ask));
    if (same !== undefined) return same;
    requireConditions(conditions, clock);
  }
  const query = bound(turn, place, readQuery(ask, rules));
  const headers = { ...stamps(store.touch(place.list, now)), ...uncached, ...alerts(ask) };
  if (ask.method === 'HEAD') {
    const total = String(filter(visible(turn, place, ids, false), query).length);
    const totals = { 'total-objects': total, 'total-records': total };
    return { status: 200, headers: { ...headers, ...totals }, body: undefined };
  }
  const { page, more } = selectPage(visible(turn, place, ids, query.withGone), query);
  return {
    status: 200,
    headers,
    nextPage: more ? nextPage(ask, place.list, query, page.at(-1)!) : undefined,
    body: { data: page.map((map) => shown(map, query)) },
  };
}

function create(turn: Turn, place: Place): Expected {
  const { store, person, ask, now } = turn;
  const issues: Issue[] = [];
  const { data, entries } = readEnvelope(ask.body, place.kind, issues);
  const sentId = data === undefined ? undefined : member(data, 'id');
  if (sentId !== undefined && !(typeof sentId === 'string' && isGoodId(sentId))) {
    throw new Refusal(400, 107, [{ location: 'path', name: null }]);
  }
  const object = objectIn(place, sentId ?? chosenId(turn, place));
  const old = sentId === undefined ? undefined : store.find(uriOf(object));
  const isAllowed = old === undefined ? mayCreate(store, person, place) : mayRead(store, person, object);
  if (!isAllowed) throw refused(person);
  requireParent(turn, place);
  const conditions = readConditions(ask, issues);
  if (data !== undefined) checkAttributes(data, place.kind, 'data.', issues);
  requireNone(issues);
  if (old !== undefined) {
    requireConditions(conditions, old.lastModified, wholeOf(object.id!, old));
    return objectAnswer(turn, 200, object, stamps(old.lastModified));
  }
  const touch = (): number => store.touch(place.list, now);
  requireAbsent(conditions, conditions.match === undefined ? undefined : touch(), touch);
  const given = new Map([...(entries ?? [])].map(([name, principals]) => [name, new Set(principals)]));
  return write(turn, object, {
    data: attributesOf(data ?? {}, place.kind),
    time: chosenTime(data, undefined),
    entries: given,
  });
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** The id that the service has generated, when it is one. */
function chosenId({ store, hint }: Turn, place: Place): string {
  const id = isMap(hint.body) ? valueAt(hint.body, 'data.id') : undefined;
  const form = place.kind === 'record' ? uuid : /^[a-zA-Z0-9][a-zA-Z0-9_-]{7}$/;
  const isFree = typeof id === 'string' && form.test(id) && store.find(`${place.list}/${id}`) === undefined;
  return isFree ? id : 'no-good-id';
}

function removeAll(turn: Turn, place: Place): Expected {
  const { store, ask, now } = turn;
  const { ids, conditions, rules } = enter(turn, place, 'write');
  const clock = store.touch(place.list, now);
  requireConditions(conditions, clock);
  const asked = readQuery(ask, rules);
  if (asked.nonce !== undefined && !store.nonces.has(asked.nonce)) {
    throw new Refusal(400, 107, [{ location: 'querystring', name: null }]);
  }
  const query = bound(turn, place, asked);
  if (asked.nonce !== undefined) store.nonces.delete(asked.nonce);
  const { page, more } = selectPage(visible(turn, place, ids, false), query);
  const gone = page.map(({ id }) => {
    const object = objectIn(place, id as string);
    const data = tombstone(object.id!, store.remove(place.list, object.id!, now));
    if (place.kind !== 'history') turn.record({ action: 'delete', place: object, data, entries: new Map() });
    return data;
  });
  if (more) store.nonces.add(givenNonce(turn));
  const newest = Math.max(0, ...gone.map((each) => each['last_modified'] as number));
  return {
    status: 200,
    headers: { ...stamps(newest === 0 ? clock : newest), ...alerts(ask) },
    nextPage: more ? nextPage(ask, place.list, query, page.at(-1)!) : undefined,
    body: { data: gone },
  };
}

/** The nonce in the token of the answer. */
function givenNonce({ hint }: Turn): string {
  const next = hint.headers['next-page'];
  const token = next === undefined ? null : new URL(next).searchParams.get('_token');
  const content = token === null ? undefined : decodeToken(token);
  const nonce: Json | undefined = content === undefined ? undefined : member(content, 'nonce');
  return typeof nonce === 'string' ? nonce : 'no nonce';
}
