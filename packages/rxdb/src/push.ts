// Writes documents to the service. Each write has the condition that the record is in the state that the collection assumes.
import { CofferError, type Coffer } from '@coffer/client';
import type { AnyList, AnyRow as Row, AnySelector, Fields } from './any.ts';
import { isFailure } from './failures.ts';
import type { LateStates } from './late.ts';
import type { LocalDocuments } from './local.ts';
import type { CofferPushOptions } from './options.ts';
import type { RecentRecords } from './recent.ts';
import type { Document, RecordData, Shape } from './shape.ts';
import { describeUnstorable } from './storable.ts';
import type { PushesUnderWay } from './under-way.ts';

/** A document on its way. */
interface Task {
  readonly id: string;
  readonly row: Row;
  readonly next: Document;
  readonly assumed: Document | undefined;
  /** The record, as far as known: `null` if it does not exist, `undefined` if unknown. */
  current: RecordData | null | undefined;
}

type Outcome = PromiseSettledResult<unknown>;
type Call = (list: AnyList) => Promise<unknown>;

/** Outcome of a push. */
interface Result {
  readonly conflicts: Document[];
  /** Documents whose state the service has now. */
  readonly reached: Task[];
  readonly errors: unknown[];
}

/** Where each attempt loses against another writer, the documents are sent again later. */
const maxRounds = 10;
const defaultBatchSize = 25;
/** Failures of a batch that one of its requests may have caused. */
const ofOne = new Set([400, 409, 413, 507]);
/** Failures that the same document causes again. Another one is 409 where another record has a unique value. */
const permanent = new Set([400, 403, 405, 413, 415, 507]);

export interface PusherContext {
  readonly client: Coffer;
  readonly path: string;
  readonly shape: Shape;
  readonly recent: RecentRecords;
  readonly late: LateStates;
  readonly local: LocalDocuments;
  readonly underWay: PushesUnderWay;
  readonly signal: AbortSignal;
  readonly onRefused: CofferPushOptions<Fields>['onRefused'];
  /** Limits the collection to records that match. */
  readonly filter?: AnySelector;
}

export class Pusher {
  readonly #context: PusherContext;
  #batchSize: Promise<number> | undefined;
  #queue: Promise<unknown> = Promise.resolve();
  /** Rows whose state was reached. RxDB passes them again if another one has failed, and others may have changed them since. */
  readonly #reached = new WeakSet<Row>();
  /** States that RxDB passes as edits, although the collection has what the service is known to have. */
  readonly #noEdits = new WeakSet<Document>();

  constructor(context: PusherContext) {
    this.#context = context;
  }

  /**
   * Writes documents, and returns the states of the service for those that conflict.
   *
   * @throws the first error that is no conflict, after all other documents were written
   */
  push(rows: readonly Row[]): Promise<Document[]> {
    const { underWay } = this.#context;
    const keys = this.#keysOf(rows);
    // After a pause, the previous call may still be running.
    const result = this.#queue.then(() => underWay.during(keys, () => this.#push(rows)));
    this.#queue = result.catch(() => undefined);
    return result;
  }

  /** Returns whether a state is an edit. If not, its conflict has nothing to resolve. */
  isEdit(state: Document): boolean {
    return !this.#noEdits.has(state);
  }

  #keysOf(rows: readonly Row[]): string[] {
    return rows.map(nextOf).flatMap((next) => (next === null ? [] : [this.#context.shape.keyOf(next)]));
  }

  async #push(rows: readonly Row[]): Promise<Document[]> {
    const result: Result = { conflicts: [], reached: [], errors: [] };
    try {
      await this.#writeAll(await this.#begin(rows, result), result);
    } finally {
      for (const { row, next } of result.reached) {
        this.#reached.add(row);
        this.#settle(row, next);
      }
      await this.#context.local.setKnown(result.reached.map(({ next }) => next));
    }
    if (result.errors.length > 0) throw result.errors[0];
    return result.conflicts;
  }

  async #writeAll(tasks: readonly Task[], result: Result): Promise<void> {
    let open = tasks;
    for (let round = 0; open.length > 0; round++) {
      if (round === maxRounds) throw new Error(`Records change faster than they can be written: ${open[0]!.id}`);
      await this.#lookUp(open, result);
      const writes: Task[] = [];
      for (const task of open) {
        if (task.current === undefined) continue;
        const outcome = await this.#decide(task);
        if (outcome === 'write') writes.push(task);
        else if (outcome === 'reached') result.reached.push(task);
        else result.conflicts.push(outcome);
      }
      open = await this.#write(writes, result);
    }
  }

  async #begin(rows: readonly Row[], result: Result): Promise<Task[]> {
    const { shape, recent, local, late } = this.#context;
    const tasks: Task[] = [];
    const keys = this.#keysOf(rows);
    const [stored, reported] = await Promise.all([local.find(keys), local.knownStates(keys)]);
    for (const row of rows) {
      const next = nextOf(row);
      // Withheld or reached in an earlier attempt.
      if (next === null || this.#reached.has(row)) continue;
      const key = shape.keyOf(next);
      const [present, ofService] = [stored, reported].map((states) => states.get(key));
      const isEdit = !(present && ofService && shape.hasState(present, shape.stateOf(ofService)));
      if (!isEdit) {
        this.#noEdits.add(next);
        if (!shape.hasState(present, next)) {
          // RxDB reads the documents that have changed, and what the service has of them later.
          result.conflicts.push(shape.stateOf(present));
          continue;
        }
        if (!late.mayHaveIgnored(key)) {
          withhold(row);
          continue;
        }
      }
      const assumed: Document | undefined = isEdit ? row.assumedMasterState : next;
      let id: string;
      try {
        id = shape.idOf(key);
      } catch (cause) {
        // Such as half of a surrogate pair. No record has it.
        const error = this.#unstorable(next, 'its primary key makes no id', cause);
        if (isEdit) await this.#refuse({ next, current: null }, error, result);
        else this.#settle(row, next);
        continue;
      }
      const isNew = assumed === undefined || assumed._deleted;
      let current: Task['current'];
      if (isNew) current = next._deleted ? undefined : null;
      else {
        const known = recent.get(id);
        if (known !== undefined && shape.isEqual(await shape.toDocument(known), assumed)) current = known;
      }
      tasks.push({ id, row, next, assumed, current });
    }
    return tasks;
  }

  /** Reads the records whose state is not known. */
  async #lookUp(tasks: readonly Task[], { conflicts, errors }: Result): Promise<void> {
    const unknown = tasks.filter(({ current }) => current === undefined);
    const outcomes = await this.#execute(
      unknown.map(
        ({ id }): Call =>
          (list) =>
            list.get(id, { signal: this.#context.signal }),
      ),
    );
    for (const [index, outcome] of outcomes.entries()) {
      const task = unknown[index]!;
      if (outcome.status === 'fulfilled') task.current = outcome.value as RecordData;
      // No record has an id that is refused with 400.
      else if (refusalOf(outcome.reason) === 400 || (await this.#isAbsent(task.id, outcome.reason)))
        task.current = null;
      else if (!this.isEdit(task.next) && permanent.has(refusalOf(outcome.reason))) this.#settle(task.row, task.next);
      else if (await this.#isReverted(task, outcome.reason)) {
        conflicts.push(task.assumed ?? this.#context.shape.toDeleted(task.next));
      } else errors.push(outcome.reason);
    }
  }

  /** Returns what to do: `write`, nothing because the wanted state is reached, or the state that conflicts. */
  async #decide({ id, current, next, assumed }: Task): Promise<'write' | 'reached' | Document> {
    const { shape, late, recent } = this.#context;
    const isNew = assumed === undefined || assumed._deleted;
    if (!current) {
      if (next._deleted) return 'reached';
      return isNew ? 'write' : shape.toDeleted(assumed);
    }
    const actual = await shape.toDocument(current);
    if (!isNew && !shape.isEqual(actual, next) && shape.isEqual(actual, assumed)) return 'write';
    late.reach(shape.keyFor(id), current.last_modified);
    recent.set(id, current);
    const { filter } = this.#context;
    if (filter === undefined || (await this.#isListed({ $and: [filter, { id }] })))
      return shape.isEqual(actual, next) ? 'reached' : actual;
    // The collection does not have it any more. RxDB may have ignored that because of the edit.
    if (next._deleted) return 'reached';
    return assumed?._deleted ? 'write' : shape.toDeleted(actual);
  }

  /** Returns whether the list has a record that matches. */
  async #isListed(filter: AnySelector): Promise<boolean> {
    const { client, path, signal } = this.#context;
    const selection = { filter, fields: ['id'] as const, limit: 1, signal };
    return (await client.list<object>(path).list(selection).page()).data.length > 0;
  }

  /**
   * Returns whether an error says that the record does not exist, in a list that exists. For callers whose rights come from single
   * objects, it does not exist if it is forbidden and they may read the list, which does not have it.
   */
  async #isAbsent(id: string, error: unknown): Promise<boolean> {
    if (refusalOf(error) !== 403) return isFailure(error) && error.status === 404 && error.errno === 110;
    try {
      return !(await this.#isListed({ id }));
    } catch (cause) {
      if (refusalOf(cause) === 403) return false;
      throw cause;
    }
  }

  /** Writes documents. Returns those whose record has changed meanwhile. */
  async #write(tasks: readonly Task[], result: Result): Promise<Task[]> {
    const { recent, late, shape } = this.#context;
    const { reached } = result;
    const calls: Call[] = [];
    const attempts: Task[] = [];
    for (const task of tasks) {
      const attributes = await shape.toAttributes(task.next, task.current);
      if (attributes === null) {
        withhold(task.row);
        continue;
      }
      const fault = task.next._deleted ? undefined : describeUnstorable(attributes);
      if (fault !== undefined) {
        await this.#refuse(task, this.#unstorable(task.next, fault), result);
        continue;
      }
      calls.push(this.#callFor(task, attributes));
      attempts.push(task);
    }
    const again: Task[] = [];
    for (const [index, outcome] of (await this.#execute(calls)).entries()) {
      const task = attempts[index]!;
      if (outcome.status === 'fulfilled') {
        const written = outcome.value as RecordData;
        reached.push(task);
        late.reach(shape.keyFor(task.id), written.last_modified);
        if (task.next._deleted) recent.delete(task.id);
        else recent.set(task.id, written);
        continue;
      }
      const error: unknown = outcome.reason;
      if (isFailure(error) && error.status === 412) {
        task.current = error.existing;
        again.push(task);
      } else if (task.current && (await this.#isAbsent(task.id, error))) {
        recent.delete(task.id);
        // Others have deleted it, later than its last known state.
        late.reach(shape.keyFor(task.id), task.current.last_modified + 1);
        task.current = null;
        again.push(task);
      } else {
        await this.#refuse(task, error, result);
      }
    }
    return again;
  }

  /** Returns the request that writes a document. */
  #callFor({ id, next, current }: Task, attributes: Fields): Call {
    const { signal } = this.#context;
    const condition = current ? { ifMatch: current.last_modified, signal } : { ifNoneMatch: '*' as const, signal };
    if (next._deleted) return (list) => list.delete(id, condition);
    return (list) => list.put(id, attributes, condition);
  }

  /** Called when it is known what the service has of a document. */
  #settle(row: Row, next: Document): void {
    const { late, shape } = this.#context;
    late.settle(shape.keyOf(next));
    if (!this.isEdit(next)) withhold(row);
  }

  #unstorable(next: Document, fault: string, cause?: unknown): CofferError {
    const key = this.#context.shape.keyOf(next);
    return new CofferError('validation', `The document "${key}" cannot be stored: ${fault}`, { cause });
  }

  /** Ends a write with its error, or undoes it. */
  async #refuse(task: Pick<Task, 'next' | 'current'>, error: unknown, { conflicts, errors }: Result): Promise<void> {
    if (await this.#isReverted(task, error)) conflicts.push(await this.#stateOf(task));
    else errors.push(error);
  }

  async #isReverted({ next }: Pick<Task, 'next'>, error: unknown): Promise<boolean> {
    const { onRefused, local, shape } = this.#context;
    if (!isFailure(error)) return false;
    const isTaken = error.status === 409 && (error.details as { field?: unknown } | undefined)?.field !== undefined;
    if (!isTaken && error.kind !== 'validation' && !permanent.has(refusalOf(error))) return false;
    const key = shape.keyOf(next);
    const stored = (await local.find([key])).get(key);
    // A later edit may be accepted. RxDB sends it after a conflict, which does not overwrite it.
    if (stored !== undefined && !shape.hasState(stored, next)) return true;
    return onRefused !== undefined && (await onRefused(error, next)) === 'revert';
  }

  /** Returns the state of the service before a write that it has refused. */
  async #stateOf({ current, next }: Pick<Task, 'next' | 'current'>): Promise<Document> {
    const { shape } = this.#context;
    return current ? shape.toDocument(current) : shape.toDeleted(next);
  }

  /** Sends requests, in batches that the service accepts. */
  async #execute(calls: readonly Call[]): Promise<Outcome[]> {
    const size = calls.length > 1 ? await this.#maxBatchSize() : 1;
    const outcomes: Outcome[] = [];
    for (let at = 0; at < calls.length; at += size) {
      outcomes.push(...(await this.#executeChunk(calls.slice(at, at + size))));
    }
    return outcomes;
  }

  async #executeChunk(calls: readonly Call[]): Promise<Outcome[]> {
    const { client, path, signal } = this.#context;
    if (calls.length > 1) {
      try {
        const outcomes = await client.batch((root) => calls.map((call) => call(root.list(path))), { signal });
        if (!outcomes.some((outcome) => outcome.status === 'rejected' && statusOf(outcome.reason) === 409)) {
          return outcomes;
        }
      } catch (error) {
        if (!ofOne.has(statusOf(error))) throw error;
      }
    }
    // One refused request undoes a batch. Alone, the others succeed.
    const outcomes: Outcome[] = [];
    for (const call of calls) {
      signal.throwIfAborted();
      outcomes.push(...(await Promise.allSettled([call(client.list(path))])));
    }
    return outcomes;
  }

  #maxBatchSize(): Promise<number> {
    this.#batchSize ??= this.#readBatchSize().catch((error: unknown) => {
      this.#batchSize = undefined;
      throw error;
    });
    return this.#batchSize;
  }

  async #readBatchSize(): Promise<number> {
    const { client, signal } = this.#context;
    const size = Number((await client.info({ signal })).settings['batch_max_requests']);
    return size >= 1 ? size : defaultBatchSize;
  }
}

/** Withholds a row: RxDB does not report it as sent. */
function withhold(row: Row): void {
  (row as { newDocumentState: unknown }).newDocumentState = null;
}

/** Returns the state that a row sends, or `null` if it is withheld. */
const nextOf = (row: Row): Document | null => row.newDocumentState;
/** Returns the status of a response of the service itself; 0 for that of a proxy. */
const refusalOf = (error: unknown): number => (isFailure(error) && error.isFromService ? error.status : 0);
const statusOf = (error: unknown): number => (isFailure(error) ? error.status : 0);
