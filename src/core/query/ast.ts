// Queries as values: what the query string parser produces, the evaluator defines the meaning of, and each backend
// compiles to its own language. See docs/reference/http-api/lists.md#operators.
import type { JsonValue } from '../../base/json.ts';

/**
 * Where a value is found in an object. `id`, `last_modified` and `deleted` are members like any other here: they
 * come from the entry itself (`deleted` is `true` on tombstones; on live objects it is an ordinary attribute).
 */
export interface Field {
  /** As written by the client, `author.name`. */
  readonly name: string;
  /** Object keys to descend, at least one. Array elements are not addressable. */
  readonly path: readonly string[];
}

export type Comparison = 'eq' | 'not' | 'lt' | 'max' | 'gt' | 'min';

export type Filter =
  /** `eq` `=`, `not` `≠`, `lt` `<`, `max` `<=`, `gt` `>`, `min` `>=` in the order over all types of `compareValues`. */
  | { readonly field: Field; readonly operator: Comparison; readonly value: JsonValue }
  | { readonly field: Field; readonly operator: 'in' | 'exclude'; readonly values: readonly JsonValue[] }
  /**
   * The lower-cased text matches when it contains the lower-cased `parts` in order, without overlap; the first part
   * must stand at the very start and the last at the very end (an empty part there leaves that side open).
   */
  | { readonly field: Field; readonly operator: 'like'; readonly parts: readonly string[] }
  | { readonly field: Field; readonly operator: 'has'; readonly present: boolean }
  /** The stored array contains all (`contains`) or at least one (`contains_any`) of the values. */
  | { readonly field: Field; readonly operator: 'contains' | 'contains_any'; readonly values: readonly JsonValue[] };

export type Direction = 'ascending' | 'descending';

export interface SortKey {
  readonly field: Field;
  readonly direction: Direction;
}

/** The values of the sort keys at the last object of a page, one for each key; `undefined` where it had none. */
export type PagePosition = readonly (JsonValue | undefined)[];

/** Which objects of a list: all filters must match, and the id be in `ids` when given. */
export interface Selection {
  readonly filters: readonly Filter[];
  /** Only these ids (visibility of objects shared one by one). Absent: no restriction. */
  readonly ids?: readonly string[] | undefined;
  /** Whether tombstones take part; they must match all filters as `{id, last_modified, deleted: true}`. */
  readonly includeDeleted?: boolean | undefined;
}

export interface PageQuery extends Selection {
  /** Total order: the last key is always unique in the list (`last_modified`, or `id`). At least one. */
  readonly sort: readonly SortKey[];
  /** Continue strictly after this position. */
  readonly after?: PagePosition | undefined;
  /** Entries wanted, at least 1. */
  readonly limit: number;
  /**
   * Bytes that the texts of the entries may have together. A page ends early before the entry that would exceed them, but
   * never before its first; a backend reads little more than that. Absent: no limit.
   */
  readonly maxBytes?: number | undefined;
}
