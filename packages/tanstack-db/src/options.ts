// The options of a collection of TanStack DB whose rows are the records of a collection of the service.
import type { Coffer, Selector } from '@coffer/client';
import type {
  BaseCollectionConfig,
  CollectionConfig,
  InferSchemaInput,
  InferSchemaOutput,
  StandardSchema,
  UtilsRecord,
} from '@tanstack/db';
import type { FieldCodec } from './codecs.ts';
import type { ConflictStrategy } from './conflicts.ts';
import type { Incoming, Row } from './copy.ts';
import type { RunOptions } from './run-options.ts';
import { SyncRun, type LiveStatus } from './sync-run.ts';
import { Waiting } from './waiting.ts';
import { Writer, type Mutation, type WriterOptions } from './writer.ts';

/** Schemas that TanStack DB accepts: those of Standard Schema. */
type Schema = StandardSchema<unknown>;

/**
 * How much of the list is in the collection.
 *
 * - `eager`: everything, from the start.
 * - `on-demand`: what live queries need.
 * - `progressive`: what live queries need at once, and everything in the background.
 */
export type CofferSyncMode = 'eager' | 'on-demand' | 'progressive';

export interface CofferCollectionConfig<T extends object, TSchema extends Schema = never> extends Omit<
  BaseCollectionConfig<T, string, TSchema, CofferUtils>,
  'getKey' | 'onInsert' | 'onUpdate' | 'onDelete' | 'utils' | 'syncMode'
> {
  /** The client, with credentials. */
  readonly client: Coffer;
  /** The records: `client.bucket('app').collection('todos')`, or another list of the client. A validator of it is not used. */
  readonly list: { readonly path: string };
  /** Default: `eager`. */
  readonly syncMode?: CofferSyncMode;
  /** Attributes whose values in rows differ from those that are stored, such as `{ due: isoDate }`. */
  readonly fields?: { readonly [K in keyof T & string]?: FieldCodec<NonNullable<T[K]>> };
  /** Limits the collection to records that match. */
  readonly filter?: Selector<Record<string, unknown>>;
  /** Whether rows have the attribute `last_modified`; default `true`. */
  readonly lastModified?: boolean;
  /** What to do if another client has changed the record meanwhile; default `merge`. */
  readonly onConflict?: ConflictStrategy<T>;
  /** What happens to the rows if the user may not read the list any more; default `clear`. */
  readonly whenRefused?: 'clear' | 'keep';
  /** Called with refusals, and failures of polls, reads and the store of a persisted collection. A stream that reconnects after a failure of the network does not call it. */
  readonly onError?: (error: unknown) => void;
  /** How changes arrive; default `auto`. `none` polls every `pollMs`, for servers without live updates. */
  readonly transport?: 'auto' | 'sse' | 'poll' | 'none';
  /** Milliseconds between polls where the server has no live updates; default 10,000. */
  readonly pollMs?: number;
  /** Milliseconds until a mutation counts as confirmed by its response alone; default 5,000. */
  readonly confirmTimeoutMs?: number;
  /** Milliseconds that rows remain after the last query that needs them; default 5,000. */
  readonly keepSubsetMs?: number;
  /** Maximum number of records in a page; default 1,000. */
  readonly pageSize?: number;
  /** Maximum number of mutations in a request; default 25, the limit of the service. */
  readonly batchSize?: number;
  /** For tests: the first complete copy becomes visible when the promise resolves. */
  readonly beforeReady?: () => Promise<void> | void;
}

/** Functions of a collection, in `collection.utils`. */
export interface CofferUtils extends UtilsRecord {
  /** Reads everything again. Resolves when the collection is current. */
  refetch: () => Promise<void>;
  /** Connects again at once, also after the service has refused access, for example after a new login. */
  retry: () => void;
  /** Resolves to `true` when all changes up to a timestamp are there, or to `false` after the time (default 5,000 ms). */
  awaitTimestamp: (timestamp: number, timeoutMs?: number) => Promise<boolean>;
  /** State of the connection. It remains `live` while the stream reconnects. */
  status: () => LiveStatus | 'idle';
  /** The error of the last attempt to connect. */
  lastError: () => unknown;
  /** The timestamp up to which the collection is current. */
  cursor: () => string | undefined;
  /** Sends mutations and waits until they are confirmed, for transactions with a `mutationFn` of your own. */
  persist: (mutations: readonly Mutation[]) => Promise<void>;
}

type Options<T extends object, TSchema extends Schema> = Omit<
  CollectionConfig<T, string, TSchema, CofferUtils>,
  'utils'
> & {
  utils: CofferUtils;
};

/** Returns options for `createCollection`, with rows of the type of a schema. */
export function cofferCollectionOptions<TSchema extends Schema>(
  config: CofferCollectionConfig<InferSchemaOutput<TSchema>, TSchema> & { readonly schema: TSchema },
): Options<InferSchemaOutput<TSchema>, TSchema> & { schema: TSchema; readonly input?: InferSchemaInput<TSchema> };
/** Returns options for `createCollection`. */
export function cofferCollectionOptions<T extends Row>(
  config: CofferCollectionConfig<T> & { readonly schema?: never },
): Options<T, never> & { schema?: never };
export function cofferCollectionOptions(given: unknown): unknown {
  const config = given as CofferCollectionConfig<Row>;
  const settings: Settings = { ...defaults, ...config, list: config.client.list<Incoming>(config.list.path) };
  const writer = new Writer(settings);
  const runs = new WeakMap<object, SyncRun<object>>();
  let latest: SyncRun<object> | undefined;
  const waiting = new Waiting();

  const persist = async (mutations: readonly Mutation[]): Promise<void> => {
    const owner = mutations[0]?.collection;
    const ids = mutations.map(({ key }) => String(key));
    const runOf = (): SyncRun<object> | undefined => (owner && runs.get(owner)) ?? latest;
    runOf()?.expect(ids);
    const states = await writer.write(mutations);
    // The outbox of a page that was just opened may be faster than its persisted rows, after which the run begins.
    await waiting.until(() => latest !== undefined, settings.confirmTimeoutMs);
    const run = runOf();
    run?.expect(ids);
    await run?.confirm(states);
  };
  const handler = ({ transaction }: { transaction: { mutations: readonly Mutation[] } }): Promise<void> =>
    persist(transaction.mutations);

  const utils: CofferUtils = {
    refetch: async () => latest?.refetch(),
    retry: () => latest?.retry(),
    awaitTimestamp: async (timestamp, timeoutMs = 5000) =>
      (await latest?.awaitTimestamp(timestamp, timeoutMs)) ?? false,
    status: () => latest?.status ?? 'idle',
    lastError: () => latest?.lastError,
    cursor: () => latest?.cursor,
    persist,
  };
  return {
    ...config,
    // TanStack DB requests subsets in this mode only.
    syncMode: settings.syncMode === 'eager' ? 'eager' : 'on-demand',
    getKey: (row: Row) => row.id,
    sync: {
      rowUpdateMode: 'full',
      sync: (params: ConstructorParameters<typeof SyncRun<object>>[0]) => {
        const run = new SyncRun(params, settings);
        runs.set(params.collection, run);
        latest = run;
        waiting.check();
        const { cleanup, loadSubset, unloadSubset } = run;
        return settings.syncMode === 'eager' ? { cleanup } : { cleanup, loadSubset, unloadSubset };
      },
    },
    onInsert: handler,
    onUpdate: handler,
    onDelete: handler,
    utils,
  };
}

type Settings = RunOptions & WriterOptions;

const defaults = {
  syncMode: 'eager',
  fields: {},
  lastModified: true,
  onConflict: 'merge',
  whenRefused: 'clear',
  transport: 'auto',
  pollMs: 10_000,
  confirmTimeoutMs: 5000,
  keepSubsetMs: 5000,
  pageSize: 1000,
  batchSize: 25,
} as const;
