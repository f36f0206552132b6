// Queries as values. The query string parser produces them, the evaluator defines their meaning, and each backend compiles
// them to its own language. See docs/reference/http-api/lists.md#operators.
import type { JsonValue } from '../../base/json.ts';

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

export type Filter =
  /** `eq` `=`, `not` `≠`, `lt` `<`, `max` `<=`, `gt` `>`, `min` `>=` in the order over all types of `compareValues`. */
  | { readonly field: Field; readonly operator: Comparison; readonly value: JsonValue }
  | { readonly field: Field; readonly operator: 'in' | 'exclude'; readonly values: readonly JsonValue[] }
  /**
   * The lower-cased text contains the lower-cased `parts` in order, without overlap. The text starts with the first part
   * and ends with the last one; an empty part leaves that side open.
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

/** The values of the sort keys at the last object of a page, one for each key; `undefined` where the object had none. */
export type PagePosition = readonly (JsonValue | undefined)[];

/** Selects the objects of a list that match all filters and, when `ids` is given, have one of these ids. */
export interface Selection {
  readonly filters: readonly Filter[];
  /** The only ids to select, such as those of objects shared individually. Absent means no restriction. */
  readonly ids?: readonly string[] | undefined;
  /** Whether tombstones are selected too. A tombstone is matched as `{id, last_modified, deleted: true}`. */
  readonly includeDeleted?: boolean | undefined;
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
