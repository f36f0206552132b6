// Types of objects, queries, options and live updates.
import type { Validator } from './validate.ts';

/** A timestamp in milliseconds: `last_modified` of an object, or an `ETag` with or without quotes. */
export type Revision = number | string;

/** An object as the service stores it. */
export type Stored<T> = T & { readonly id: string; readonly last_modified: number };

/** What remains of a deleted object. */
export interface Tombstone {
  readonly id: string;
  readonly last_modified: number;
  readonly deleted: true;
}

/** Marker of an object that has changed and does not match the filter (any more). */
export interface Gone {
  readonly id: string;
  readonly last_modified: number;
  readonly gone: true;
}

/** An entry of changes. `isRemoval` tells objects from removals. */
export type Change<T> = Stored<T> | Tombstone | Gone;

/** Attributes of an object that is written. `last_modified` is accepted, so that objects that were read fit, but not sent. */
export type Draft<T> = T & { readonly id?: string; readonly last_modified?: number };

/** Permission names and their principals. */
export type Permissions = Readonly<Record<string, readonly string[]>>;

/** An object with its permissions, which are `{}` unless the caller is one of its writers. */
export interface Entry<T> {
  readonly data: Stored<T>;
  readonly permissions: Permissions;
}

/** Conditions on one field. */
export type Condition<V> =
  | V
  | {
      readonly $eq?: V;
      readonly $ne?: V;
      readonly $lt?: V;
      readonly $lte?: V;
      readonly $gt?: V;
      readonly $gte?: V;
      readonly $in?: readonly V[];
      readonly $nin?: readonly V[];
      readonly $exists?: boolean;
      readonly $type?: string | readonly string[];
      readonly $startsWith?: string;
      readonly $like?: string;
      readonly $contains?: unknown;
      readonly $containsAny?: readonly unknown[];
      readonly $size?: number;
      readonly $elemMatch?: Readonly<Record<string, unknown>>;
      readonly $not?: Readonly<Record<string, unknown>>;
    };

/** Conditions as JSON, the parameter `_filter`. Paths with dots address members of nested objects. */
export type Selector<T> = {
  readonly [K in keyof Stored<T>]?: Condition<Stored<T>[K]>;
} & {
  readonly $and?: readonly Selector<T>[];
  readonly $or?: readonly Selector<T>[];
  readonly $nor?: readonly Selector<T>[];
  readonly $not?: Selector<T>;
  readonly [path: `${string}.${string}`]: unknown;
};

type Name<T> = keyof Stored<T> & string;

/** Name of an attribute, or a path into it. */
export type Field<T> = Name<T> | `${Name<T>}.${string}`;

/** Options of every operation. */
export interface CallOptions {
  /** Aborts the operation, its retries and their pauses. */
  readonly signal?: AbortSignal;
}

export interface ReadOptions<F extends string = string> extends CallOptions {
  /** Attributes of the result, `_fields`. Validators are not applied to a part of an object. */
  readonly fields?: readonly F[];
  /** Fails with 412 unless the object or list has this timestamp. */
  readonly ifMatch?: Revision;
}

type Head<F> = F extends `${infer H}.${string}` ? H : F;

/** An object with the selected attributes, or with all of them if none are selected. */
export type Picked<T, F> = [F] extends [never]
  ? Stored<T>
  : Stored<{ [K in keyof T as K extends Head<F> ? K : never]: K extends F ? T[K] : unknown }>;

/** Parameters of a list. */
export interface ListOptions<T, F extends string = Field<T>> extends ReadOptions<F> {
  readonly filter?: Selector<T>;
  /** Fields, each with `-` in front for descending order, `_sort`. */
  readonly sort?: readonly (Field<T> | `-${Field<T>}`)[];
  /** Maximum number of objects in a page, `_limit`. */
  readonly limit?: number;
  /** Also counts all matching objects, with a request of its own for each page. */
  readonly total?: boolean;
  /** Other parameters of the query string. */
  readonly params?: Readonly<Record<string, string>>;
}

export interface ChangesOptions<T, F extends string = Field<T>> extends ListOptions<T, F> {
  /** Changes after this timestamp, `_since`. 0: everything, with all known deletions. */
  readonly since: Revision;
  /** Changes before this timestamp, `_before`. */
  readonly before?: Revision;
  /** With `filter`: markers of changed objects that do not match, `_gone`. */
  readonly gone?: boolean;
}

/** One page of a list. */
export interface Page<C> {
  readonly data: readonly C[];
  /** Timestamp of the list, without quotes. That of the first page is the `since` of the next visit. */
  readonly etag: string;
  /** Where the next page begins; absent on the last one. */
  readonly next?: string;
  /** Number of all matching objects, if it was requested. */
  readonly total?: number;
  /** Timestamp up to which deletions are not known: the copy must be fetched again, without `since`. */
  readonly resync?: string;
}

export interface WriteOptions extends CallOptions {
  /** Timestamp of the object, for imports. `last_modified` in the data itself is not sent. */
  readonly lastModified?: number;
  /** Fails with 412 unless the object has this timestamp; `*`: unless it exists. */
  readonly ifMatch?: Revision;
  /** `*`: fails with 412 if the object exists. */
  readonly ifNoneMatch?: '*';
  /** Permissions to set. */
  readonly permissions?: Permissions;
  /**
   * An earlier call with the same arguments may have been executed. A 412 that this call itself explains counts as
   * success. The client sets it for its own retries.
   */
  readonly repeated?: boolean;
}

/** One operation of a JSON patch (RFC 6902), on `{ data, permissions }`. */
export type Operation =
  | { readonly op: 'add' | 'replace' | 'test'; readonly path: string; readonly value?: unknown }
  | { readonly op: 'remove'; readonly path: string }
  | { readonly op: 'move' | 'copy'; readonly path: string; readonly from: string };

type MergeValue<V> = V extends readonly unknown[] ? V : V extends object ? MergePatch<V> : V;

/** A merge patch (RFC 7396): `null` removes an attribute. */
export type MergePatch<T> = { readonly [K in keyof T]?: MergeValue<T[K]> | null };

/** How a list is followed. */
export interface LiveOptions<T, F extends string = Field<T>> extends CallOptions {
  /** Cursor from which to continue; 0 or absent: a complete copy first, then changes. */
  readonly since?: Revision;
  readonly filter?: Selector<T>;
  /** Attributes of the objects. */
  readonly fields?: readonly F[];
  /** `auto` begins with server-sent events, and polls where they do not get through. */
  readonly transport?: 'auto' | 'sse' | 'poll';
  /** Maximum number of changes that wait for the consumer; default 1000. Beyond it the service sends them again later. */
  readonly buffer?: number;
  /** `false` opens a connection for this list alone. By default, lists share one. */
  readonly shared?: boolean;
}

/** Why the consumer must drop its copy. */
export type ResyncReason = 'horizon' | 'access' | 'flushed';

/** What `live` yields. */
export interface LiveUpdate<S> {
  /** Objects, tombstones and markers, the oldest first. */
  readonly changes: readonly (S | Tombstone | Gone)[];
  /** Where to continue after a restart, once the changes are stored. */
  readonly cursor: string;
  /** Whether the copy is now complete up to the cursor. */
  readonly current: boolean;
  /** The copy must be dropped before the changes are applied: a complete one follows. */
  readonly resync?: ResyncReason;
}

/** How a list is bound to a type. */
export interface ListSettings<V extends Validator = Validator> {
  /** A Standard Schema validator of the attributes, without `id` and `last_modified`. */
  readonly schema?: V;
  /** When the validator is applied: to what is read, to what is written, or both (default). */
  readonly validate?: 'read' | 'write' | 'both';
}

/** Attributes of a collection that have a meaning. */
export interface CollectionData {
  readonly schema?: object;
  readonly indexes?: unknown;
  readonly cache_expires?: number;
  readonly [name: string]: unknown;
}

export interface GroupData {
  readonly members: readonly string[];
  readonly [name: string]: unknown;
}

/** An entry of the history of a bucket. */
export interface HistoryEntry {
  readonly uri: string;
  readonly resource_name: string;
  readonly action: 'create' | 'update' | 'delete';
  readonly date: string;
  readonly user_id: string | null;
  readonly target: { readonly data: Record<string, unknown>; readonly permissions?: Permissions };
  readonly bucket_id?: string;
  readonly collection_id?: string;
  readonly group_id?: string;
  readonly record_id?: string;
}

/** The file of a record. */
export interface AttachmentInfo {
  readonly filename: string;
  readonly location: string;
  readonly hash: string;
  readonly mimetype: string;
  readonly size: number;
}

/** The root view of the service. */
export interface ServiceInfo {
  readonly project_name: string;
  readonly project_version: string;
  readonly http_api_version: string;
  readonly url: string;
  readonly settings: Readonly<Record<string, unknown>>;
  readonly capabilities: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly user?: { readonly id: string; readonly principals: readonly string[]; readonly bucket?: string };
}
