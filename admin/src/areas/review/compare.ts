// The difference between a source collection and its destination: records by id, and the attributes that are published.
import type { Api } from '../../core/api.ts';
import { displayText, indentJson, memberText, membersOf, withoutMembers } from '../../core/json-text.ts';
import { findObject, loadPage } from '../../core/objects.ts';
import { kinds, listPathOf, pathOf, type Place } from '../../core/places.ts';

export interface RecordChange {
  /** `''` for the attributes of the collection. */
  readonly id: string;
  readonly kind: 'added' | 'changed' | 'removed';
  readonly before: string;
  readonly after: string;
}

export interface Comparison {
  readonly changes: readonly RecordChange[];
  /** Whether all records were compared. */
  readonly isComplete: boolean;
}

/** Maximum number of records of each collection that are compared. */
export const comparedLimit = 5000;
const pageSize = 500;
/** Maximum number of requests for one collection; services may have smaller pages. */
const pagesLimit = 50;
/** Attributes of the source that are published with its records. */
const publishedAttributes = ['schema', 'attachment', 'displayFields', 'sort', 'flags'];

interface Records {
  readonly byId: ReadonlyMap<string, string>;
  readonly isComplete: boolean;
  readonly lastId: string;
}

export async function compareCollections(
  api: Api,
  source: Place,
  destination: Place,
  signal: AbortSignal,
): Promise<Comparison> {
  const [before, after, attributes] = await Promise.all([
    loadRecords(api, destination, signal),
    loadRecords(api, source, signal),
    compareAttributes(api, source, destination),
  ]);
  // Where one list is cut, ids beyond its end are unknown.
  const ends = [before, after].filter(({ isComplete }) => !isComplete).map(({ lastId }) => lastId);
  const isKnown = (id: string): boolean => ends.every((end) => id <= end);
  const ids = [...new Set([...before.byId.keys(), ...after.byId.keys()])].filter(isKnown).toSorted();
  const changes = ids.flatMap((id): readonly RecordChange[] => {
    const [old, now] = [before.byId.get(id), after.byId.get(id)];
    if (old === now) return [];
    const kind = old === undefined ? 'added' : now === undefined ? 'removed' : 'changed';
    return [{ id, kind, before: old ?? '', after: now ?? '' }];
  });
  return { changes: [...attributes, ...changes], isComplete: ends.length === 0 };
}

async function loadRecords(api: Api, collection: Place, signal: AbortSignal): Promise<Records> {
  const path = listPathOf(collection, kinds.record);
  const byId = new Map<string, string>();
  let query: string | undefined = `_sort=id&_limit=${pageSize}`;
  let lastId = '';
  for (let pages = 0; query !== undefined && pages < pagesLimit && byId.size < comparedLimit; pages += 1) {
    const page = await loadPage(api, path, query, signal);
    for (const row of page.rows) {
      lastId = displayText(memberText(row, 'id') ?? '""');
      byId.set(lastId, comparable(row));
    }
    query = page.next;
  }
  return { byId, isComplete: query === undefined, lastId };
}

/** Returns the attributes as text, in an order that does not depend on the writer. */
function comparable(row: string): string {
  const members = membersOf(withoutMembers(row, ['id', 'last_modified']));
  const sorted = members.toSorted((a, b) => (a.key < b.key ? -1 : 1));
  return indentJson(`{${sorted.map(({ keyText, text }) => `${keyText}:${text}`).join(',')}}`);
}

async function compareAttributes(api: Api, source: Place, destination: Place): Promise<readonly RecordChange[]> {
  const [after, before] = await Promise.all([source, destination].map((place) => publishedOf(api, place)));
  if (before === undefined || after === undefined || before === after) return [];
  return [{ id: '', kind: 'changed', before, after }];
}

async function publishedOf(api: Api, collection: Place): Promise<string | undefined> {
  const object = await findObject(api, pathOf(collection));
  if (object === undefined) return undefined;
  const others = membersOf(object.data)
    .map(({ key }) => key)
    .filter((key) => !publishedAttributes.includes(key));
  return comparable(withoutMembers(object.data, others));
}
