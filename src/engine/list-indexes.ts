// Declared indexes of lists, as requests use them: which a list has, which are complete, and unique ones.
import { parseStoredJson, type JsonObject } from '../base/json.ts';
import { findMember } from '../base/json-text.ts';
import type { ListIndex, PageQuery, QueryReport, Selection, SortKey } from '../core/query/ast.ts';
import { ServiceError } from '../core/errors.ts';
import { parseIndexes, valuesOf } from '../core/index/definition.ts';
import { QueryPlanReport } from '../core/index/query-plan.ts';
import type { ListParameters } from '../core/query/parameters.ts';
import { planIndexes } from '../core/index/plan-index.ts';
import type { StoredObject } from '../core/objects/stored.ts';
import { equalValues } from '../core/query/compare.ts';
import { readEntryField, readField } from '../core/query/fields.ts';
import { newestFirst } from '../core/query/sort.ts';
import { isAllowed } from './access.ts';
import type { CompiledKind } from './compiled-kind.ts';
import { readStates, stateOf } from './index-states.ts';
import { idsWith, type Above, type Scope, type WriteOptions } from './scope.ts';
import type { Reader, Writer } from './unit-of-work.ts';

const none: readonly ListIndex[] = [];
const unsorted: readonly SortKey[] = [];

/** Indexes that objects declare for the lists below them. */
const declaredBy = new WeakMap<StoredObject, readonly ListIndex[]>();
/** Indexes by the JSON text that declares them, for objects that were read again. */
const declaredAs = new Map<string, readonly ListIndex[]>();
const maxDeclarations = 1000;
const maxDeclarationChars = 2000;

/** Returns the indexes that the attribute `indexes` of an object declares; none when it is malformed, as imported ones may be. */
export function indexesOf(object: StoredObject): readonly ListIndex[] {
  if (!object.text.includes('"indexes"')) return none;
  const known = declaredBy.get(object);
  if (known !== undefined) return known;
  const text = findMember(object.text, 'indexes');
  const indexes = text === undefined ? none : parseDeclaration(text);
  declaredBy.set(object, indexes);
  return indexes;
}

function parseDeclaration(text: string): readonly ListIndex[] {
  const known = declaredAs.get(text);
  if (known !== undefined) return known;
  const indexes = parseIndexes(parseStoredJson(text)) ?? none;
  if (text.length > maxDeclarationChars) return indexes;
  if (declaredAs.size >= maxDeclarations) declaredAs.clear();
  declaredAs.set(text, indexes);
  return indexes;
}

/** Returns the indexes of a list. */
export function declaredIndexes({ indexes }: Pick<CompiledKind, 'indexes'>, { object }: Above): readonly ListIndex[] {
  if (indexes !== 'parent') return indexes;
  return object === undefined ? none : indexesOf(object);
}

/** Whether writes to a list have to look for objects with the same values. */
export function hasUniqueIndex(kind: CompiledKind, above: Above): boolean {
  return declaredIndexes(kind, above).some(({ isUnique }) => isUnique);
}

/** Returns a query with the indexes of its list that are complete. */
export async function withIndexes<T extends Selection & Partial<Pick<PageQuery, 'sort'>>>(
  scope: Scope,
  above: Above,
  query: T,
): Promise<T> {
  const { kind, list, context, options } = scope;
  const declared = declaredIndexes(kind, above);
  if (declared.length === 0 || query.ids !== undefined) return query;
  const { sort = unsorted } = query;
  if (planIndexes({ ...query, indexes: declared }, sort) === undefined) return query;
  const indexes = await completeIndexes(scope, above, declared);
  if (indexes.length === 0) return query;
  const plans = planIndexes({ ...query, indexes }, sort) ?? [];
  options.indexing?.used(
    list,
    plans.map(({ index }) => index),
    context.now,
  );
  return { ...query, indexes };
}

/** Returns those of the declared indexes that are complete. */
async function completeIndexes(
  { list, context, options: { indexing } }: Scope,
  { object }: Above,
  declared: readonly ListIndex[],
): Promise<readonly ListIndex[]> {
  // What a unit of work has written may be rolled back.
  const known = context.unit.isWriting ? undefined : indexing?.complete;
  if (object !== undefined && known?.has(list, object.lastModified, context.now) === true) return declared;
  const states = await readStates(context.unit.reader.storage, list);
  if (declared.some((index) => stateOf(states, index) === undefined)) indexing?.wake(list);
  const complete = declared.filter((index) => stateOf(states, index)?.status === 'ready');
  if (complete.length < declared.length) return complete;
  if (object !== undefined) known?.add(list, object.lastModified, context.now);
  return declared;
}

/** Returns an empty report if the request wants one and the caller may write the object above the list, and so declare indexes. */
export async function reportFor(
  { kind, context }: Scope,
  { explain }: Pick<ListParameters, 'explain'>,
): Promise<QueryReport | undefined> {
  if (!explain) return undefined;
  const { caller, ids, unit } = context;
  const rule = kind.parent?.rules.write ?? kind.rules.writeList;
  return (await isAllowed(rule, caller, unit.reader, ids)) ? new QueryPlanReport() : undefined;
}

/** Maximum number of objects that are looked at to find the holder of values. */
const maxHolders = 2;

/**
 * Requires that no other object has the values of a unique index. Values that the object had before are not compared: where
 * objects shared them when the index was declared, the other attributes may still be changed.
 *
 * @param change.old the object before the write
 * @throws ServiceError notUnique
 */
export async function requireUnique(
  scope: Scope<WriteOptions>,
  writer: Writer,
  indexes: readonly ListIndex[],
  change: { readonly id: string; readonly attributes: JsonObject; readonly old: StoredObject | undefined },
): Promise<void> {
  for (const index of indexes) {
    if (!index.isUnique || hasSameValues(index, change)) continue;
    const holder = await findHolder(writer, scope.list, index, change);
    if (holder === undefined) continue;
    const field = index.fields.map((key) => key.field.name).join(',');
    const details = { field, ...((await maySee(scope, writer, holder)) ? { record: { id: holder } } : {}) };
    throw new ServiceError('notUnique', { message: `Another object of the list has the same ${field}.`, details });
  }
}

function hasSameValues(
  { fields }: ListIndex,
  { attributes, old }: { readonly attributes: JsonObject; readonly old: StoredObject | undefined },
): boolean {
  return (
    old !== undefined &&
    fields.every(({ field }) => equalValues(readField(attributes, field), readEntryField(old, field)))
  );
}

/** Returns the id of another object with the same values; `undefined` for values that none may share, or when one is missing. */
export async function findHolder(
  { storage }: Pick<Reader, 'storage'>,
  list: Scope['list'],
  index: ListIndex,
  { id, attributes }: { readonly id: string; readonly attributes: JsonObject },
): Promise<string | undefined> {
  const values = valuesOf(index, attributes);
  const filters = index.fields.flatMap(({ field }, number) => {
    const value = values[number];
    return value === undefined ? [] : [{ field, operator: 'eq' as const, value }];
  });
  if (filters.length < values.length) return undefined;
  const { entries } = await storage.listAll(list, { filters, sort: newestFirst, limit: maxHolders, indexes: [index] });
  return entries.find((entry) => entry.id !== id)?.id;
}

async function maySee(scope: Scope<WriteOptions>, reader: Reader, id: string): Promise<boolean> {
  const { kind, context } = scope;
  const parsed = kind.ids.parse(id);
  return parsed !== undefined && isAllowed(kind.rules.read, context.caller, reader, idsWith(scope, parsed));
}
