// The local copy: writes what the service sends into the collection, each state of an object once, whatever its way.
import type { LoadSubsetOptions, SyncConfig } from '@tanstack/db';
import { isRemoval } from '@coffer/client';
import { parseRow, type Codecs } from './codecs.ts';

/** A row of a collection. */
export interface Row {
  readonly id: string;
}

/** An object, tombstone or marker as the service sends it. */
export interface Incoming {
  readonly id: string;
  readonly last_modified: number;
  readonly [name: string]: unknown;
}

/** What TanStack DB passes to `sync`. */
export type SyncParams<T extends object> = Parameters<SyncConfig<T, string>['sync']>[0];
export type { LoadSubsetOptions };

export interface CopyOptions {
  readonly fields: Codecs;
  /** Whether rows have the attribute `last_modified`. */
  readonly lastModified: boolean;
  /** Called when the collection or its store has lost a transaction; not again until everything is replaced. */
  readonly onLoss: (error: unknown) => void;
  /** Aborts with the run. */
  readonly ended: AbortSignal;
}

/** Result of a commit: `true`, or a promise while a mutation or the store of a persisted collection delays it. */
export type Receipt = true | Promise<void>;

/** Metadata of a row that is kept for preconditions. */
interface RowMetadata {
  readonly last_modified?: number;
}

type Scan = (options: { readonly metadataOnly: boolean }) => Promise<readonly { key: unknown; metadata?: unknown }[]>;

/** What persisted collections add to the metadata. Versions of TanStack DB differ in it. */
interface PersistedMetadata {
  readonly persistence?: { readonly hydrateBaseline: () => Promise<void>; readonly scanPersistedRows: Scan } | null;
  readonly row: { readonly scanPersisted?: Scan };
}

const cursorKey = 'coffer:cursor';

/** The rows of one sync run. */
export class Copy<T extends object> {
  readonly #params: SyncParams<T>;
  readonly #options: CopyOptions;
  /** `last_modified` by id of each object that the collection has, or will have once mutations are settled. */
  readonly #versions = new Map<string, number>();
  /** Recent removals: a page that was read before them must not bring the objects back. */
  readonly #removed = new Map<string, number>();
  #readers = 0;
  #isPersisted = false;
  /** Commits whose outcome is not known yet. */
  #pending = 0;
  /** Whether a transaction was lost. The position in the store stays before it, until everything is replaced. */
  #hasLoss = false;

  constructor(params: SyncParams<T>, options: CopyOptions) {
    this.#params = params;
    this.#options = options;
  }

  has(id: string): boolean {
    return this.#versions.has(id);
  }

  get hasLoss(): boolean {
    return this.#hasLoss;
  }

  /** Number of rows. */
  get size(): number {
    return this.#versions.size;
  }

  /** Learns which rows a persisted collection has from earlier runs. */
  async readPersisted(): Promise<void> {
    const metadata = this.#params.metadata as PersistedMetadata | undefined;
    await metadata?.persistence?.hydrateBaseline();
    const scan = metadata?.persistence?.scanPersistedRows ?? metadata?.row.scanPersisted;
    this.#isPersisted = scan !== undefined;
    for (const row of (await scan?.({ metadataOnly: true })) ?? []) {
      this.#versions.set(String(row.key), (row.metadata as RowMetadata | undefined)?.last_modified ?? 0);
    }
  }

  /** Whether the copy has seen this state of an object, a later one, or its removal. */
  hasReached(id: string, timestamp: number): boolean {
    return Math.max(this.#versions.get(id) ?? -1, this.#removed.get(id) ?? -1) >= timestamp;
  }

  /** Returns the cursor that a persisted collection has kept, if its rows belong to it. */
  storedCursor(source: string): string | undefined {
    const stored = this.#params.metadata?.collection.get(cursorKey) as CopyCursor | undefined;
    return stored?.source === source ? stored.cursor : undefined;
  }

  /**
   * Applies changes in one transaction. States that are older than those of the copy are ignored.
   *
   * @param keep returns whether an object that is not in the copy belongs into it
   * @param cursor to store with the rows
   */
  apply(changes: readonly Incoming[], options: ApplyOptions = {}): Receipt {
    const { keep = () => true, cursor } = options;
    const wanted = changes.filter((change) => this.#isNew(change));
    if (wanted.length === 0 && cursor === undefined) return true;
    return this.#transact(cursor, () => {
      for (const change of wanted) {
        if (isRemoval(change)) this.#remove(change.id, change.last_modified);
        else if (this.has(change.id) || keep(change)) this.#write(change);
      }
    });
  }

  /** Makes the copy consist of these objects alone. `truncate` empties it first, as TanStack DB expects it after a resync. */
  replace(objects: readonly Incoming[], options: ReplaceOptions = {}): Receipt {
    if (options.truncate) this.#hasLoss = false;
    return this.#transact(options.cursor, () => {
      if (options.truncate) {
        this.#params.truncate({ markReady: true });
        this.#versions.clear();
        this.#removed.clear();
        for (const object of objects) this.#write(object);
        return;
      }
      const kept = new Set(objects.map(({ id }) => id));
      const until = Number(options.cursor?.cursor ?? 0);
      // Later states come from own writes and from subsets, and follow in the stream.
      for (const [id, version] of this.#versions)
        if (!kept.has(id) && !(version > until && options.keeps?.(id) === true))
          this.#remove(id, Math.min(version, until));
      for (const object of objects) if (this.#isNew(object)) this.#write(object);
    });
  }

  /** Removes rows, all by default. They are not deleted, and may come back. */
  forget(ids: Iterable<string> = this.#versions.keys(), cursor?: CopyCursor): void {
    const known = [...ids].filter((id) => this.has(id));
    if (known.length === 0) return;
    void this.#transact(cursor, () => {
      for (const id of known) {
        this.#params.write({ type: 'delete', key: id });
        this.#versions.delete(id);
      }
    });
  }

  /** Remembers removals while a page is read. Returns a function that ends it. */
  beginRead(): () => void {
    this.#readers++;
    return () => {
      if (--this.#readers === 0) this.#removed.clear();
    };
  }

  /** Returns the row of a stored object. */
  rowOf(object: Incoming): T {
    if (this.#options.lastModified) return parseRow<T>(object, this.#options.fields);
    const { last_modified: _, ...attributes } = object;
    return parseRow<T>(attributes, this.#options.fields);
  }

  #isNew({ id, last_modified }: Incoming): boolean {
    return !this.hasReached(id, last_modified);
  }

  #transact(cursor: CopyCursor | undefined, write: () => void): Receipt {
    const { begin, commit, metadata } = this.#params;
    begin();
    if (cursor === nowhere || (cursor !== undefined && !this.#hasLoss)) metadata?.collection.set(cursorKey, cursor);
    write();
    const receipt = commit();
    if (receipt !== true) void this.#watch(receipt);
    return receipt;
  }

  async #watch(receipt: Promise<void>): Promise<void> {
    this.#pending++;
    try {
      await receipt;
    } catch (error) {
      this.#lose(error);
    } finally {
      this.#pending--;
    }
  }

  #lose(error: unknown): void {
    if (this.#hasLoss || this.#options.ended.aborted) return;
    this.#hasLoss = true;
    // Later transactions are under way, with positions after the lost one.
    if (this.#pending > 1) void this.#transact(nowhere, () => undefined);
    this.#options.onLoss(error);
  }

  #write(object: Incoming): void {
    const { id, last_modified } = object;
    const isKnown = this.has(id);
    // Stores of persisted collections merge an update with the row that they have, and would keep removed attributes.
    if (isKnown && this.#isPersisted) this.#params.write({ type: 'delete', key: id });
    this.#params.write({ type: isKnown ? 'update' : 'insert', value: this.rowOf(object), metadata: { last_modified } });
    this.#versions.set(id, last_modified);
    this.#removed.delete(id);
  }

  #remove(id: string, timestamp: number): void {
    if (this.has(id)) this.#params.write({ type: 'delete', key: id });
    this.#versions.delete(id);
    this.#removed.set(id, timestamp);
    if (this.#readers === 0 && this.#removed.size > maxRemoved) this.#removed.clear();
  }
}

/** Applies changes to a complete copy that is not visible yet. */
export function collect(copy: Map<string, Incoming>, changes: readonly Incoming[]): void {
  for (const change of changes) {
    if (isRemoval(change)) copy.delete(change.id);
    else copy.set(change.id, change);
  }
}

/** Removals that are remembered while nothing is read, for mutations that wait for theirs. */
const maxRemoved = 1000;

/** A position in the changes of a list. */
export interface CopyCursor {
  /** Which list with which filter. */
  readonly source: string;
  readonly cursor: string;
}

/** Takes the place of a stored position whose rows are not all there. It is no number: stores that compare positions never skip it. */
export const nowhere: CopyCursor = { source: '', cursor: 'nowhere' };

interface ApplyOptions {
  readonly keep?: (object: Incoming) => boolean;
  readonly cursor?: CopyCursor | undefined;
}

interface ReplaceOptions {
  readonly cursor?: CopyCursor | undefined;
  readonly truncate?: boolean;
  /** Whether an object that is missing, and is later than the cursor, is one that this client has just written or read. */
  readonly keeps?: (id: string) => boolean;
}
