// The public interface of the adapter.
export { anyDate, bigintText, isoDate } from './codecs.ts';
export type { FieldCodec } from './codecs.ts';
export { ConflictError } from './conflicts.ts';
export type { Conflict, ConflictStrategy, Resolution } from './conflicts.ts';
export { cofferMutationFn } from './offline.ts';
export type { OfflineOptions } from './offline.ts';
export { cofferCollectionOptions } from './options.ts';
export type { CofferCollectionConfig, CofferSyncMode, CofferUtils } from './options.ts';
export type { LiveStatus } from './sync-run.ts';
