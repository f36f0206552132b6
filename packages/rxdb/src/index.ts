// The public interface of the plugin.
export { defaultIds } from './ids.ts';
export type {
  CofferCheckpoint,
  CofferPullOptions,
  CofferPushOptions,
  CofferReplicationOptions,
  IdMapping,
  Refusal,
} from './options.ts';
export { replicateCoffer } from './replicate.ts';
