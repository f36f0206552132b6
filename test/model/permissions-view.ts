// `/permissions`: the permissions of a caller, object by object. endpoints.md §7.
import { requireNone, uncached, type Expected } from './exchange.ts';
import type { JsonMap } from './json.ts';
import { idsOf, objectIn, placeOf, uriOf } from './places.ts';
import { checkQuery, filter, nextPage, readQuery, selectPage, shown, type QueryRules } from './query.ts';
import { expanded } from './rights.ts';
import type { Turn } from './turn.ts';

const fields = ['uri', 'resource_name', 'id', 'bucket_id', 'group_id', 'collection_id', 'record_id'];

/** @throws Refusal */
export function answerPermissions(turn: Turn): Expected {
  const { ask, now } = turn;
  const day = 24 * 60 * 60 * 1000;
  const rules: QueryRules = {
    horizon: now + day,
    knownFields: [...fields, 'last_modified'],
    listFields: ['permissions'],
    textFields: fields.filter((name) => name !== 'resource_name'),
    key: 'uri',
  };
  requireNone(checkQuery(ask, rules));
  const query = readQuery(ask, rules);
  const entries = entriesOf(turn);
  if (ask.method === 'HEAD') {
    const total = String(filter(entries, query).length);
    const totals = { 'total-objects': total, 'total-records': total };
    return { status: 200, headers: { ...uncached, ...totals }, body: undefined };
  }
  const { page, more } = selectPage(entries, query);
  return {
    status: 200,
    headers: uncached,
    nextPage: more ? nextPage(ask, '/permissions', query, page.at(-1)!) : undefined,
    body: { data: page.map((map) => shown(map, query)) },
  };
}

function entriesOf({ store, person }: Turn): readonly JsonMap[] {
  const entries: JsonMap[] = [];
  for (const [path, { live }] of store.lists) {
    const list = placeOf(path);
    if (list === undefined || list.kind === 'history') continue;
    for (const id of live.keys()) {
      const place = objectIn(list, id);
      const permissions = expanded(store, person, place);
      if (permissions.length === 0) continue;
      entries.push({ uri: uriOf(place), resource_name: place.kind, id, ...idsOf(place), permissions });
    }
  }
  if (person.settings.has('bucket_create_principals'))
    entries.push({ uri: '/', resource_name: 'root', permissions: ['bucket:create'] });
  return entries;
}
