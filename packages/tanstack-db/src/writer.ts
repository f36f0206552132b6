// Sends mutations to the service: with preconditions, in batches, one after the other for each record, and resolves conflicts.
import { CofferError, type Coffer, type ObjectList } from '@coffer/client';
import { parseRow, requireJson, serializeRow, type Codecs } from './codecs.ts';
import {
  attributesOf,
  ConflictError,
  differenceOf,
  isUnchanged,
  type Conflict,
  type ConflictStrategy,
} from './conflicts.ts';
import type { Incoming, Row } from './copy.ts';
import { isFailure, isMissing, isTaken } from './failures.ts';

/** What the adapter uses of a mutation of TanStack DB. */
export interface Mutation {
  readonly type: 'insert' | 'update' | 'delete';
  readonly key: unknown;
  readonly original: object;
  readonly modified: object;
  /** Absent after a restart of the outbox. */
  readonly syncMetadata?: Readonly<Record<string, unknown>>;
  readonly collection: object;
}

export interface WriterOptions {
  readonly client: Coffer;
  readonly list: ObjectList<Incoming>;
  readonly fields: Codecs;
  readonly onConflict: ConflictStrategy<Row>;
  /** Maximum number of mutations in one request. */
  readonly batchSize: number;
}

/** A mutation in the terms of the service. */
interface Write {
  readonly type: 'insert' | 'update' | 'delete';
  readonly id: string;
  /** Stored attributes before the mutation. */
  readonly base: Record<string, unknown>;
  /** Stored attributes after the mutation. */
  readonly local: Record<string, unknown>;
  /** Timestamp of the state before the mutation; unknown for rows that were created offline. */
  readonly revision: number | undefined;
  readonly mutation: Mutation;
}

/** How often a mutation is sent again because the record has changed meanwhile. */
const maxAttempts = 8;
/** Records whose own writes are remembered. */
const maxRemembered = 500;

type Records = ObjectList<Incoming>;

export class Writer {
  readonly #options: WriterOptions;
  /** The last write for each record: later ones wait for it. */
  readonly #pending = new Map<string, Promise<unknown>>();
  /** Timestamps that own writes have replaced, so that mutations based on them are no conflicts. */
  readonly #own = new Map<string, { readonly replaced: Set<number | undefined>; readonly latest: number }>();
  /** Outcomes by mutation. A transaction that is repeated would execute them again, over later changes of others. */
  readonly #settled = new WeakMap<Mutation, Incoming | undefined>();

  constructor(options: WriterOptions) {
    this.#options = options;
  }

  /**
   * Sends mutations, each until it has succeeded once. Returns the states that the records had then, with tombstones of
   * deleted ones.
   *
   * @throws CofferError or ConflictError of the first mutation that failed. Others may have been executed
   */
  async write(mutations: readonly Mutation[]): Promise<readonly Incoming[]> {
    const writes = mutations.filter((each) => !this.#settled.has(each)).map((mutation) => this.#writeOf(mutation));
    const { batchSize } = this.#options;
    const results: PromiseSettledResult<void>[] = [];
    for (let at = 0; at < writes.length; at += batchSize) {
      const chunk = writes.slice(at, at + batchSize);
      results.push(...(await this.#inTurn(chunk, () => this.#writeChunk(chunk))));
      // What comes after a failure may depend on it.
      if (results.some(({ status }) => status === 'rejected')) break;
    }
    const failures = results.filter((result) => result.status === 'rejected');
    // A conflict undoes the calls of its batch before it. It is the cause.
    const failed = failures.find(({ reason }) => isTaken(reason)) ?? failures[0];
    if (failed !== undefined) throw failed.reason;
    return mutations.flatMap((mutation) => this.#settled.get(mutation) ?? []);
  }

  async #writeChunk(writes: readonly Write[]): Promise<readonly PromiseSettledResult<void>[]> {
    const { client, list } = this.#options;
    let settled;
    try {
      settled =
        writes.length === 1
          ? await Promise.allSettled(writes.map((write) => this.#send(list, write)))
          : await client.batch((root) => writes.map((write) => this.#send(root.list<Incoming>(list.path), write)));
    } catch (error) {
      // Too much for one request. Alone, each may be accepted.
      if (writes.length === 1 || !isFailure(error, 400, 413)) throw error;
      const middle = Math.ceil(writes.length / 2);
      return [...(await this.#writeChunk(writes.slice(0, middle))), ...(await this.#writeChunk(writes.slice(middle)))];
    }
    return Promise.allSettled(
      writes.map(async (write, index) => {
        this.#settled.set(write.mutation, await this.#complete(write, settled[index]!));
      }),
    );
  }

  /** Runs after all earlier writes of the same records. */
  async #inTurn<R>(writes: readonly Write[], run: () => Promise<R>): Promise<R> {
    const earlier = writes.map(async ({ id }) => this.#pending.get(id));
    const turn = Promise.allSettled(earlier).then(run);
    for (const { id } of writes) this.#pending.set(id, turn);
    try {
      return await turn;
    } finally {
      for (const { id } of writes) if (this.#pending.get(id) === turn) this.#pending.delete(id);
    }
  }

  /** The first attempt. Returns `undefined` if there is nothing to write. */
  #send(list: Records, write: Write): Promise<Incoming | undefined> {
    const { id, type, local } = write;
    if (type === 'insert') return this.#put(list, id, local, undefined);
    const revision = this.#revisionOf(write);
    if (revision === undefined) return Promise.reject(new CofferError('http', 'unknown state', { status: 412 }));
    return type === 'update' ? this.#patch(list, write, revision) : this.#delete(list, id, revision);
  }

  /** Remembers the outcome, or resolves the conflict. */
  async #complete(write: Write, outcome: PromiseSettledResult<Incoming | undefined>): Promise<Incoming | undefined> {
    if (outcome.status === 'rejected') {
      if (isConflict(outcome.reason)) return this.#resolve(write, outcome.reason);
      throw outcome.reason;
    }
    const { value } = outcome;
    if (value !== undefined) this.#remember(write, value.last_modified);
    return value;
  }

  async #resolve(write: Write, refusal: CofferError): Promise<Incoming | undefined> {
    let server = refusal.existing;
    for (let attempt = 1; ; attempt++) {
      server ??= await this.#read(write.id);
      try {
        const result = await this.#settle(write, server);
        // Later mutations are not based on a state of others that has won.
        const isWritten = result !== undefined && result !== server && result['absent'] !== true;
        if (isWritten) this.#remember(write, result.last_modified);
        return result;
      } catch (error) {
        if (!isConflict(error)) throw error;
        if (attempt >= maxAttempts) throw new ConflictError(this.#conflictOf(write, server), 'keeps changing');
        server = error.existing;
      }
    }
  }

  /** Ends a conflict with the state of the service; throws the next one. */
  async #settle(write: Write, server: Incoming | undefined): Promise<Incoming | undefined> {
    const { list, onConflict } = this.#options;
    const { type, id, base, local } = write;
    if (type === 'delete' && server === undefined) return this.#absentState(write);
    if (server !== undefined) {
      // A write whose response was lost, or one that only this client has made meanwhile.
      if (type !== 'delete' && isUnchanged(local, server)) return server;
      if (type === 'update' && isUnchanged(base, server)) return this.#patch(list, write, server.last_modified);
      if (type === 'delete' && isUnchanged(base, server)) return this.#delete(list, id, server.last_modified);
    }
    const conflict = this.#conflictOf(write, server);
    const chosen =
      typeof onConflict === 'function' ? await onConflict(conflict as unknown as Conflict<Row>) : onConflict;
    if (typeof chosen !== 'string') {
      return this.#put(list, id, this.#storedOf(chosen), server?.last_modified);
    }
    switch (chosen) {
      case 'fail':
        throw new ConflictError(conflict);
      case 'client':
        return type === 'delete'
          ? this.#delete(list, id, server!.last_modified)
          : this.#put(list, id, local, server?.last_modified);
      case 'merge':
        if (type === 'delete' || server === undefined) break;
        return this.#patch(list, type === 'insert' ? { ...write, base: {} } : write, server.last_modified);
      case 'server':
        break;
    }
    return server ?? this.#absentState(write);
  }

  #conflictOf({ type, id, base, local }: Write, server: Incoming | undefined): Conflict {
    const rowOf = (stored: object): Record<string, unknown> => parseRow(stored, this.#options.fields);
    return {
      type,
      id,
      base: type === 'insert' ? undefined : rowOf(base),
      local: type === 'delete' ? undefined : rowOf(local),
      server: server === undefined ? undefined : rowOf(server),
    };
  }

  async #read(id: string): Promise<Incoming | undefined> {
    try {
      return await this.#options.list.get(id);
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }

  #put(list: Records, id: string, data: object, revision: number | undefined): Promise<Incoming> {
    const condition = revision === undefined ? ({ ifNoneMatch: '*' } as const) : { ifMatch: revision };
    return list.put(id, data as Incoming, condition);
  }

  #patch(list: Records, { id, base, local }: Write, revision: number): Promise<Incoming | undefined> {
    const { changed, removed } = differenceOf(base, local);
    if (changed.length + removed.length === 0) return Promise.resolve(undefined);
    const options = { ifMatch: revision };
    if (removed.length === 0) {
      return list.patch(id, Object.fromEntries(changed.map((name) => [name, local[name]])), options);
    }
    // Attributes that the record does not have cannot be removed: set them first.
    const set = [...changed, ...removed].map(
      (name) => ({ op: 'add', path: pointerTo(name), value: local[name] ?? null }) as const,
    );
    return list.patch(
      id,
      [...set, ...removed.map((name) => ({ op: 'remove', path: pointerTo(name) }) as const)],
      options,
    );
  }

  async #delete(list: Records, id: string, revision: number): Promise<Incoming> {
    return (await list.delete(id, { ifMatch: revision })) as unknown as Incoming;
  }

  #writeOf(mutation: Mutation): Write {
    const { type, original, modified, syncMetadata } = mutation;
    const known = [syncMetadata?.['last_modified'], (original as Partial<Incoming>).last_modified];
    return {
      type,
      id: String(mutation.key),
      base: this.#storedOf(original),
      local: this.#storedOf(modified),
      revision: known.find((value) => typeof value === 'number'),
      mutation,
    };
  }

  /** @throws CofferError of kind `validation` for values that JSON does not have, which no repetition stores */
  #storedOf(row: object): Record<string, unknown> {
    try {
      const stored = attributesOf(serializeRow(row, this.#options.fields));
      requireJson(stored);
      return stored;
    } catch (cause) {
      throw new CofferError('validation', `The row cannot be stored: ${(cause as Error).message}`, { cause });
    }
  }

  #revisionOf({ id, revision }: Write): number | undefined {
    const own = this.#own.get(id);
    return own?.replaced.has(revision) === true ? own.latest : revision;
  }

  /** The state of a record that others have deleted, since the last state that this client knew. */
  #absentState(write: Write): Incoming {
    return { id: write.id, last_modified: this.#revisionOf(write) ?? 0, absent: true };
  }

  #remember({ id, type, revision }: Write, latest: number): void {
    const own = this.#own.get(id);
    const isContinued = own !== undefined && (own.replaced.has(revision) || own.latest === revision);
    const replaced = isContinued && type !== 'insert' ? own.replaced : new Set<number | undefined>();
    replaced.add(revision);
    if (isContinued) replaced.add(own.latest);
    this.#own.delete(id);
    this.#own.set(id, { replaced, latest });
    if (this.#own.size > maxRemembered) this.#own.delete(this.#own.keys().next().value!);
  }
}

function isConflict(error: unknown): error is CofferError {
  return isFailure(error, 412) || isMissing(error);
}

function pointerTo(name: string): string {
  return `/data/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}
