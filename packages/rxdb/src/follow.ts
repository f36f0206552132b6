// Follows the list from where the last pull has ended, and passes changes to RxDB.
import { isRemoval, type LiveOptions, type LiveUpdate, type ObjectList } from '@coffer/client';
import { Subject } from 'rxjs';
import type { RxReplicationPullStreamItem } from 'rxdb';
import type { Fields } from './any.ts';
import type { ChangeReader } from './changes.ts';
import { explain, rest } from './failures.ts';
import type { CofferCheckpoint } from './options.ts';

type Update = LiveUpdate<{ readonly id: string; readonly last_modified: number }>;

/** What a follower needs of the replication. */
export interface FollowerContext {
  readonly list: ObjectList<object>;
  readonly changes: ChangeReader;
  readonly options: Pick<LiveOptions<object>, 'filter' | 'transport'>;
  /** Milliseconds until another attempt after a failure. */
  readonly retryMs: () => number;
  readonly report: (error: Error) => void;
}

export class Follower {
  readonly items = new Subject<RxReplicationPullStreamItem<Fields, CofferCheckpoint>>();
  readonly #context: FollowerContext;
  #controller = new AbortController();
  /** Where the last pull has ended. */
  #begin: CofferCheckpoint = { since: '0' };
  /** Everything up to here was passed on. */
  #position = 0;
  /** Primary keys of a complete copy that is being received. */
  #copied: Set<string> | undefined;

  constructor(context: FollowerContext) {
    this.#context = context;
  }

  /** Follows the list from a checkpoint on, in place of what was followed before. */
  start(checkpoint: CofferCheckpoint): void {
    this.stop();
    this.#begin = checkpoint;
    this.#position = Number(checkpoint.since);
    this.#copied = undefined;
    const controller = new AbortController();
    this.#controller = controller;
    void this.#run(checkpoint.since, controller.signal);
  }

  stop(): void {
    this.#controller.abort();
  }

  /** Lets RxDB pull again after a pause, unless it does so before. The pull starts the follower. */
  async pullLater(): Promise<void> {
    this.stop();
    const { signal } = (this.#controller = new AbortController());
    await rest(this.#context.retryMs(), signal);
    if (isAborted(signal)) return;
    this.items.next('RESYNC');
    this.items.next('RESYNC');
  }

  async #run(since: string, signal: AbortSignal): Promise<void> {
    const { list, options, report } = this.#context;
    try {
      for await (const update of list.live({ ...options, since, signal })) {
        await this.#apply(update, signal);
      }
    } catch (error) {
      if (signal.aborted) return;
      report(explain(error) as Error);
      // The pull shows whether the list may be read again.
      await this.pullLater();
    }
  }

  async #apply({ changes, cursor, current, resync }: Update, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const reader = this.#context.changes;
    // A copy of single objects, whose cursor begins with a zero, begins anew with each restart.
    const reached = cursor.startsWith('0') ? 0 : Number(cursor);
    // Until a copy is complete, a restart has to begin before it.
    const begin = this.#position;
    if (resync !== undefined) {
      this.#copied = new Set();
      reader.forget();
    }
    const copied = this.#copied;
    // A pull may have passed on later states.
    const fresh = copied === undefined ? changes.filter((change) => change.last_modified > begin) : changes;
    const documents = await reader.read(fresh);
    for (const change of changes) if (!isRemoval(change)) copied?.add(reader.keyFor(change.id));
    let position = begin;
    if (current && copied !== undefined) {
      documents.push(...(await reader.removeOthers(copied, Number(cursor))));
      position = reached;
    } else if (copied === undefined) {
      position = Math.max(begin, reached);
    }
    if (isAborted(signal)) return;
    if (current) this.#copied = undefined;
    this.#position = position;
    if (documents.length > 0) this.items.next({ documents, checkpoint: { ...this.#begin, since: String(position) } });
  }
}

/** A signal may abort while a task waits, which the compiler does not assume. */
function isAborted(signal: AbortSignal): boolean {
  return signal.aborted;
}
