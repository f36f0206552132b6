// What a sync run needs to know: the options of a collection, with their defaults.
import type { ObjectList } from '@coffer/client';
import type { Codecs } from './codecs.ts';
import type { Incoming } from './copy.ts';
import type { Condition } from './selector.ts';

export interface RunOptions {
  readonly list: ObjectList<Incoming>;
  readonly syncMode: 'eager' | 'on-demand' | 'progressive';
  readonly fields: Codecs;
  readonly lastModified: boolean;
  readonly filter?: Condition;
  readonly transport: 'auto' | 'sse' | 'poll' | 'none';
  readonly pollMs: number;
  readonly pageSize: number;
  readonly keepSubsetMs: number;
  readonly confirmTimeoutMs: number;
  readonly whenRefused: 'clear' | 'keep';
  readonly onError?: (error: unknown) => void;
  readonly beforeReady?: () => Promise<void> | void;
}
