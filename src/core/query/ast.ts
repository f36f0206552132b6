// Queries as values. The query string parser produces them, the evaluator defines their meaning, and each backend compiles
// them to its own language. See docs/reference/http-api/lists.md#operators.
import type { JsonValue } from '../../base/json.ts';
import type { QueryBudget } from './budget.ts';

/**
 * The place of a value in an object. `id` and `last_modified` are members of the entry itself. `deleted` is `true` on
 * tombstones, and an ordinary attribute on live objects.
 */
export interface Field {
  /** The name as written by the client, such as `author.name`. */
  readonly name: string;
  /** Object keys to descend, at least one. Array elements are not addressable. */
  readonly path: readonly string[];
}

export type Comparison = 'eq' | 'not' | 'lt' | 'max' | 'gt' | 'min';

/** Names of the types of JSON values. */
export const jsonTypes = ['null', 'string', 'number', 'boolean', 'array', 'object'] as const;
export type JsonType = (typeof jsonTypes)[number];

/** A condition on one field. */
export type Condition =
  /** `eq` `=`, `not` `≠`, `lt` `<`, `max` `<=`, `gt` `>`, `min` `>=` in the order over all types of `compareValues`. */
  | { readonly field: Field; readonly operator: Comparison; readonly value: JsonValue }
  | { readonly field: Field; readonly operator: 'in' | 'exclude'; readonly values: readonly JsonValue[] }
  /**
   * The lower-cased text contains the lower-cased `parts` in order, without overlap. The text starts with the first part
   * and ends with the last one; these may be empty, which leaves that side open.
   */
  | { readonly field: Field; readonly operator: 'like'; readonly parts: readonly string[] }
  | { readonly field: Field; readonly operator: 'has'; readonly present: boolean }
  /** The stored array contains all (`contains`) or at least one (`contains_any`) of the values. */
  | { readonly field: Field; readonly operator: 'contains' | 'contains_any'; readonly values: readonly JsonValue[] }
  /** The value has one of the types. */
  | { readonly field: Field; readonly operator: 'type'; readonly types: readonly JsonType[] }
  /** The value is an array with this number of elements. */
  | { readonly field: Field; readonly operator: 'size'; readonly size: number }
  /** The value is an array, and one of its elements matches all filters. A field without path is the element itself. */
  | { readonly field: Field; readonly operator: 'elements'; readonly filters: readonly Filter[] };

/** A combination of conditions. Each branch matches when all of its filters do. */
export interface Combination {
  readonly field?: undefined;
  /** `or`: at least one branch matches. `nor`: none does. */
  readonly operator: 'or' | 'nor';
  readonly branches: readonly (readonly Filter[])[];
}

export type Filter = Condition | Combination;

export function isCombination(filter: Filter): filter is Combination {
  return filter.operator === 'or' || filter.operator === 'nor';
}

export type Direction = 'ascending' | 'descending';

export interface SortKey {
  readonly field: Field;
  readonly direction: Direction;
}

/** The values of the sort keys at the last object of a page, one for each key; `undefined` where the object had none. */
export type PagePosition = readonly (JsonValue | undefined)[];

/** An index as declared, and where its keys are. */
export interface ListIndex {
  /** At least one. The direction is that of the keys. */
  readonly fields: readonly SortKey[];
  /** Whether no two objects may have the same values of the fields. Objects that lack one of them are exempt. */
  readonly isUnique: boolean;
  /** Whether it is an index of words, for text search, and not one of values. */
  readonly isText: boolean;
  /** Number of the slot, from 0 to `indexSlots` - 1, or `wordSlot`. */
  readonly slot: number;
  /** First bytes of all keys of an index of values. Keys of an earlier index in the same slot begin with others. */
  readonly prefix: Buffer;
}

/** Receives how declared indexes were used for a query. */
export interface QueryReport {
  /** Notes that a search begins, or begins again. */
  begun(): void;
  /** Notes keys that were read from indexes. */
  read(keys: number): void;
  /**
   * Notes that indexes gave candidates.
   *
   * @param facts.residual number of conditions that the indexes do not cover
   * @param facts.isOrdered whether the indexes have the order of the page
   */
  found(
    indexes: readonly ListIndex[],
    facts: { readonly candidates: number; readonly residual: number; readonly isOrdered: boolean },
  ): void;
  /** Notes that the list is scanned, because the candidates do not fill the page. */
  scanned(): void;
  /** Returns one line for the client. */
  format(): string;
}

/** Selects the objects of a list that match all filters and, when `ids` is given, have one of these ids. */
export interface Selection {
  readonly filters: readonly Filter[];
  /** The only ids to select, such as those of objects shared individually. Absent means no restriction. */
  readonly ids?: readonly string[] | undefined;
  /** Whether tombstones are selected too. A tombstone is matched as `{id, last_modified, deleted: true}`. */
  readonly includeDeleted?: boolean | undefined;
  /** Declared indexes of the list that are complete. Default: none. */
  readonly indexes?: readonly ListIndex[] | undefined;
  /** Receives how declared indexes were used. */
  readonly report?: QueryReport | undefined;
  /** Limits the work of the whole query, which may be several reads. Default: unlimited. */
  readonly budget?: QueryBudget | undefined;
}

export interface PageQuery extends Selection {
  /** Total order: the last key is always unique in the list (`last_modified`, or `id`). At least one. */
  readonly sort: readonly SortKey[];
  /** The page starts strictly after this position. */
  readonly after?: PagePosition | undefined;
  /** Maximum number of entries, at least 1. */
  readonly limit: number;
  /**
   * Maximum total length of the entries' texts, in bytes. The page ends before the entry that would exceed it, but has at
   * least one entry. A backend reads little more than that. Absent means unlimited.
   */
  readonly maxBytes?: number | undefined;
}
