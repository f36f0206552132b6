// Settings of the built-in kinds.

export interface ResourceOptions {
  /** Returns the value of a setting such as `bucket_cache_expires_seconds`, in seconds; `undefined` when it is not set. */
  readonly cacheSeconds: (key: string) => number | undefined;
  /** Maximum number of members per group; 0 means unlimited. */
  readonly maxMembers: number;
  /** Maximum number of declared indexes of a collection. */
  readonly maxIndexes: number;
  /** Maximum number of fields of a declared index. */
  readonly maxIndexFields: number;
  /** Whether JSON schemas are applied (`experimental_collection_schema_validation`). */
  readonly validatesSchemas: boolean;
}
