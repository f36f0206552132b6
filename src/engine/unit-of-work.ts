// The unit of work of one outer request, as handlers, kinds, subscribers and plugins see it. An interface, so that events
// and kinds can name it without importing what implements it (`database-unit.ts`).
import type { ConditionalWrite, ExpectedObjects } from '../contracts/database.ts';
import type { PermissionBackend, PermissionReader, PermissionWriter } from '../contracts/permission.ts';
import type { ReadNeeds, RequireRoom, StorageBackend, StorageReader, StorageWriter } from '../contracts/storage.ts';
import type { ListKey, StoredObject } from '../core/objects/stored.ts';
import type { Action } from '../core/events/payload.ts';
import type { CommitListener } from './commit-listener.ts';
import type { ServiceRequest } from './exchange.ts';
import type { Change, ChangeEvent, FlushEvent, NamedEvent, ReadEvent, ResourceEvent } from './events/event.ts';
import type { TimestampOrder } from './timestamp-order.ts';

export interface Stores {
  readonly storage: StorageBackend;
  readonly permission: PermissionBackend;
  /** Learns of commits; absent: nothing does. */
  readonly commits?: CommitListener | undefined;
  /** Lists with one order of timestamps; absent: none. */
  readonly order?: TimestampOrder | undefined;
}

/** Each read of an object says what reserves memory for a long text, or that nothing does. */
export interface ReservingReader extends StorageReader {
  get(
    list: ListKey,
    id: string,
    requireRoom: RequireRoom | undefined,
    needs?: ReadNeeds,
  ): Promise<StoredObject | undefined>;
}

/** Requires the reservation as `ReservingReader` does, in a transaction. */
export interface ReservingWriter extends StorageWriter {
  readonly get: ReservingReader['get'];
}

export interface Reader {
  readonly storage: ReservingReader;
  readonly permission: PermissionReader;
}

export interface Writer extends Reader {
  readonly storage: ReservingWriter;
  readonly permission: PermissionWriter;
}

/** `undone`: the writes left no trace. `unknown`: a commit failed, and some of the writes may have been kept. */
export type Fate = 'undone' | 'unknown';

/**
 * One transaction over storage and permissions, with the events of what happened in it and the tasks at its end. The
 * request that it belongs to ends it: everything is committed, or nothing.
 */
export interface UnitOfWork {
  /** Reads committed state, or the state inside the transaction once `writer` has opened it. */
  readonly reader: Reader;
  /** Opens the transaction on the first call, and returns the same writer on later ones. May wait for other writers. */
  writer(): Promise<Writer>;
  /** Whether the transaction is open. A second one that the same code opens may wait for it without end. */
  readonly isWriting: boolean;
  /**
   * Returns the view for the checks of a write. In a batch on a remote backend it is the transaction, because later entries
   * repeat the checks and the backend caches the results. Otherwise it is `reader`, so refused requests wait for no writer.
   */
  readerForWrite(): Reader | Promise<Reader>;

  /**
   * Does slow work, such as hashing a password, before the unit of work locks anything, and returns its result. If it is
   * writing already, the request is undone, does the work, and runs again from its start.
   *
   * @param key of the work, such that another attempt at the request makes the same calls with the same keys
   * @throws WorkAwaited
   */
  ahead<T>(key: string, work: () => Promise<T>): Promise<T>;
  /** Returns whether an earlier attempt at the request has done work of the key ahead. */
  hasAhead(key: string): boolean;

  /** Events so far. Check `hasSubscribers` first: an event without subscribers need not be created. */
  readonly events: EventRecorder;
  /** Whether a subscriber wants events of this kind and action. */
  hasSubscribers(kind: string, action: Action): boolean;
  /** Whether a subscriber may read the attributes that an update of an object of this kind replaces. */
  readsReplaced(kind: string): boolean;
  /** Changes so far, in order, that subscribers to `RequestChanged` want and have not received yet. */
  readonly changes: readonly Change[];

  /** Runs a task after the commit. Its failures are logged and cannot change the response. */
  afterCommit(task: () => void | Promise<void>): void;
  /** Runs a task after a rollback, to undo effects outside the transaction. */
  onAbandon(task: (fate: Fate) => void | Promise<void>): void;
  /** Whether nothing will be committed. */
  readonly isRollbackOnly: boolean;
  /** Prevents the commit. The remaining entries of a batch still get their responses. */
  setRollbackOnly(): void;
  /** Declares that several requests share this unit of work, so that none of them commits by itself. */
  expectSeveral(): void;
  /** Announces objects that the transaction, which must be open, will write. See `Transaction.expect`. */
  expect(objects: ExpectedObjects): void;

  /** Whether the storage belongs to this process alone and ends with it. */
  readonly isPrivate: boolean;
  /** Whether a call may be a round trip to another machine, so that calls are better made together than in sequence. */
  readonly isRemote: boolean;
  /** Whether storage and permissions share one transaction, in which calls take effect in the order they are made. */
  readonly hasOneTransaction: boolean;
  /**
   * Returns whether `writeConditionally` may be called for an object of the list: the backend has single-statement writes,
   * nothing was written yet, and the list has its own order of timestamps.
   */
  canWriteConditionally(list: ListKey): boolean;
  /**
   * Writes one object in a single statement and commits it. Nothing may be written after it.
   *
   * @returns the timestamp of the write, or `undefined` when the state was not as expected and nothing was written
   */
  writeConditionally(write: ConditionalWrite): Promise<number | undefined>;
}

/** What handlers and subscribers do with the events of a unit of work. */
export interface EventRecorder {
  /**
   * The events that subscribers are receiving at the moment, in order: those of the request, or those that earlier
   * subscribers caused.
   */
  readonly current: readonly ResourceEvent[];
  /**
   * Adds an event, or merges its objects into the event of the same list and action. Reserves memory for objects that the
   * service itself has written: the request of the client says nothing about their size.
   *
   * @throws WorkAwaited; ServiceError requestTooLarge
   */
  add(event: ChangeEvent | ReadEvent): void;
  /**
   * Reserves memory for something that is kept until the end of the unit of work, in addition to what was reserved so before.
   *
   * @throws WorkAwaited; ServiceError requestTooLarge
   */
  reserve(request: Pick<ServiceRequest, 'memory'>, bytes: number): void;
  /** Adds an object that the service has copied, if a subscriber wants copies of its kind. */
  addCopy(change: Change): void;
  /** Adds the event that everything was deleted. Changes and copies that subscribers have not received are dropped. */
  addFlush(event: FlushEvent): void;
  /** Adds an event that a plugin has named. */
  addNamed(event: NamedEvent): void;
  /** Whether a subscriber wants events of this name. */
  wantsNamed(name: string): boolean;
  /** Calls subscribers with a deleted object while the objects below it still exist. */
  beforeCascade(change: Change): Promise<void>;
  /** Calls subscribers before everything is deleted. */
  beforeFlush(event: FlushEvent): Promise<void>;
}
