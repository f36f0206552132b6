// What the built-in kinds take from the settings.

export interface ResourceOptions {
  /** Value of a setting such as `bucket_cache_expires_seconds`, in seconds; `undefined` when not set. */
  readonly cacheSeconds: (key: string) => number | undefined;
  /** Most members that a group may have; 0: no limit. */
  readonly maxPrincipals: number;
  /** Whether JSON schemas are applied (`experimental_collection_schema_validation`). */
  readonly validatesSchemas: boolean;
}
