// The memory of requests. Arriving bodies, requests in progress, and small requests each have a part of the budget, which
// prevents deadlocks: an arrived body holds a part of the first while it waits for the second, and holders of the second never
// wait for the first.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { getHeapStatistics } from 'node:v8';
import { ServiceError } from '../core/errors.ts';
import type { MemoryAccount, OpenConnection } from '../engine/exchange.ts';
import { WorkAwaited } from '../engine/work-ahead.ts';
import { addressGroup } from './address-group.ts';
import { ResponseSizes } from './response-sizes.ts';
import { clientAddress, type IsTrusted } from './forwarded.ts';
import { MemoryBudget, MemoryRefused, type Requester, type Reservation } from './memory-budget.ts';

export interface RequestMemoryOptions {
  /** Total bytes; 0 derives them from the heap limit. */
  readonly budgetBytes: number;
  readonly maxWaitMs: number;
  readonly maxWaiting: number;
  readonly isTrusted: IsTrusted;
  /** Called when a request is refused because other requests hold too much. */
  readonly onExhausted: () => void;
}

/** Maximum size of bodies and responses without a reservation of their own. */
export const smallBytes = 65_536;
/** Maximum memory per byte of a small body: JSON with many tiny values. */
const smallBodyExpansion = 30;
/** Memory per byte of a body in progress: the text, texts to store and to send, copies. */
const textExpansion = 8;
/** Memory per JSON value besides its text: the value, its slot in an object, and copies of both. */
const bytesPerValue = 110;
/** Memory per byte of a response while it is built: rows, joined texts, and the bytes to send. */
export const responseExpansion = 4;

const partOfReceiving = 1 / 4;
const partOfSmall = 1 / 8;

const partOfHeap = 1 / 2;
const maxDerivedBytes = 402_653_184;

/** Returns the default budget: half of the heap limit, at most 384 MiB. */
export function derivedBudgetBytes(heapLimitBytes: number = getHeapStatistics().heap_size_limit): number {
  return Math.min(Math.floor(heapLimitBytes * partOfHeap), maxDerivedBytes);
}

/** Returns the memory of a body in progress. */
export function bodyWeight(bytes: number, values: number): number {
  return bytes * textExpansion + values * bytesPerValue;
}

export class RequestMemory {
  readonly receiving: MemoryBudget;
  readonly working: MemoryBudget;
  readonly responseSizes = new ResponseSizes(smallBytes);
  readonly #isTrusted: IsTrusted;
  #freeForSmall: number;

  constructor({ budgetBytes, maxWaitMs, maxWaiting, isTrusted, onExhausted }: RequestMemoryOptions) {
    const total = budgetBytes === 0 ? derivedBudgetBytes() : budgetBytes;
    const ofReceiving = Math.floor(total * partOfReceiving);
    const ofSmall = Math.floor(total * partOfSmall);
    const limits = { maxWaitMs, maxWaiting, onExhausted };
    this.receiving = new MemoryBudget({ ...limits, totalBytes: ofReceiving });
    this.working = new MemoryBudget({ ...limits, totalBytes: total - ofReceiving - ofSmall });
    this.#freeForSmall = ofSmall;
    this.#isTrusted = isTrusted;
  }

  /** Opens the empty account of a request. */
  open(incoming: IncomingMessage): RequestAccount {
    return new RequestAccount(this, incoming);
  }

  requesterOf(incoming: IncomingMessage): Requester {
    const address = addressGroup(clientAddress(incoming, this.#isTrusted));
    return { name: incoming.headers.authorization ?? address, address };
  }

  /** Returns what reserves memory for the unsent part of a response that goes on. It never waits. */
  reserverOf(incoming: IncomingMessage): OpenConnection['reserve'] {
    const requester = this.requesterOf(incoming);
    return (bytes) => {
      const reservation = this.working.open(requester);
      // A single object may take the whole budget, so that stored data stays usable.
      if (!reservation.tryGrow(Math.min(bytes, this.working.totalBytes))) return undefined;
      return () => {
        reservation.release();
      };
    };
  }

  /** Takes memory for a small body, if it is free. */
  takeSmall(bytes: number): boolean {
    if (bytes > this.#freeForSmall) return false;
    this.#freeForSmall -= bytes;
    return true;
  }

  giveSmall(bytes: number): void {
    this.#freeForSmall += bytes;
  }

  /**
   * Counts an unsent response without a reservation until it is sent. Closes the connection when unsent responses exceed the
   * budget.
   */
  holdUnsent(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const reservation = this.working.open(this.requesterOf(incoming));
    if (!reservation.tryGrow(outgoing.writableLength)) {
      incoming.socket.destroy();
      return;
    }
    void whenSent(incoming.socket, outgoing).then(() => {
      reservation.release();
    });
  }
}

/** The memory of one request, from its first byte to the last byte of its response. */
export class RequestAccount implements MemoryAccount {
  readonly #memory: RequestMemory;
  readonly #incoming: IncomingMessage;
  #small = 0;
  #ofBody = 0;
  #kept = 0;
  #receiving: Reservation | undefined;
  #working: Reservation | undefined;

  constructor(memory: RequestMemory, incoming: IncomingMessage) {
    this.#memory = memory;
    this.#incoming = incoming;
  }

  /** Takes memory for a body of this size, if it is small and memory is free. */
  takeSmall(bytes: number): boolean {
    const weight = bytes * smallBodyExpansion;
    if (bytes > smallBytes || !this.#memory.takeSmall(weight - this.#small)) return false;
    this.#small = weight;
    return true;
  }

  /** @throws ServiceError overloaded */
  holdSmall(bytes: number): void {
    if (this.takeSmall(bytes)) return;
    if (!this.#ofReceiving().tryGrow(bytes * smallBodyExpansion - this.#small)) throw exhausted();
  }

  endSmall(): void {
    this.#giveSmall();
    this.#endReceiving();
  }

  /**
   * Reserves memory for a large body that will arrive.
   *
   * @throws ServiceError requestTooLarge or overloaded
   */
  async receive(bytes: number): Promise<void> {
    await translating(this.#ofReceiving(), bytes);
  }

  /**
   * Reserves memory for the work on an arrived large body.
   *
   * @throws ServiceError requestTooLarge or overloaded
   */
  async admitBody(weight: number): Promise<void> {
    this.#ofBody = weight;
    await translating(this.#ofWork(), weight);
    this.#endReceiving();
  }

  /** @throws ServiceError requestTooLarge or overloaded */
  reserve(bytes: number): Promise<void> | undefined {
    return translating(this.#ofWork(), this.#ofBody + bytes);
  }

  /** @throws ServiceError requestTooLarge or overloaded */
  reserveNow(bytes: number): void {
    const all = this.#ofBody + bytes;
    if (all > this.#memory.working.totalBytes) throw tooLarge();
    if (!this.#ofWork().tryGrow(all)) throw exhausted();
  }

  /**
   * Reserves memory for work on stored text. A single request may use the whole budget, so that stored data stays usable.
   *
   * @throws WorkAwaited
   */
  admit(bytes: number): void {
    const all = Math.min(this.#ofBody + bytes, this.#memory.working.totalBytes);
    if (this.#ofWork().tryGrow(all)) return;
    throw new WorkAwaited(() => translating(this.#ofWork(), all));
  }

  /** @throws WorkAwaited; ServiceError requestTooLarge */
  admitWhole(bytes: number): void {
    if (this.#ofBody + bytes > this.#memory.working.totalBytes) throw tooLarge();
    this.admit(bytes);
  }

  keep(): void {
    this.#kept = this.#working?.bytes ?? 0;
  }

  giveBack(): void {
    this.#working?.force(Math.max(this.#ofBody, this.#kept));
  }

  /** Does nothing: stored text is limited in batches only. */
  takeStored(): void {}

  /** Reserves memory for a response that is expected to be large; `undefined` for others. */
  expectResponse(target: string): Promise<void> | undefined {
    const bytes = this.#memory.responseSizes.expected(target);
    if (bytes === 0) return undefined;
    return this.reserve(Math.min(bytes * responseExpansion, this.#memory.working.totalBytes));
  }

  /**
   * Holds memory for the response to a read until it is sent.
   *
   * @throws ServiceError requestTooLarge or overloaded; the caller must drop the response
   */
  holdReadResponse(target: string, bytes: number): void {
    this.#memory.responseSizes.note(target, bytes);
    if (bytes > smallBytes) this.reserveNow(bytes);
    this.holdResponse(bytes);
  }

  /** Holds memory for a response until it is sent, and releases that of the work. */
  holdResponse(bytes: number): void {
    if (bytes > smallBytes) this.#ofWork().force(bytes);
  }

  /** Gives everything back while the request waits; it may reserve again when it goes on. */
  suspend(): void {
    this.release();
    this.#receiving = undefined;
    this.#working = undefined;
    this.#ofBody = 0;
    this.#kept = 0;
  }

  /** Releases all memory. */
  release(): void {
    this.#giveSmall();
    this.#endReceiving();
    this.#working?.release();
  }

  #ofReceiving(): Reservation {
    return (this.#receiving ??= this.#memory.receiving.open(this.#memory.requesterOf(this.#incoming)));
  }

  #ofWork(): Reservation {
    return (this.#working ??= this.#memory.working.open(this.#memory.requesterOf(this.#incoming)));
  }

  #giveSmall(): void {
    if (this.#small === 0) return;
    this.#memory.giveSmall(this.#small);
    this.#small = 0;
  }

  #endReceiving(): void {
    this.#receiving?.release();
  }
}

function translating(reservation: Reservation, bytes: number): Promise<void> | undefined {
  try {
    return reservation.grow(bytes)?.catch(rethrow);
  } catch (error) {
    return rethrow(error);
  }
}

function rethrow(error: unknown): never {
  if (!(error instanceof MemoryRefused)) throw error;
  throw error.reason === 'exhausted' ? exhausted() : tooLarge();
}

function tooLarge(): ServiceError {
  const message = 'The request needs more memory than the service may use for large requests (memory_budget_bytes).';
  return new ServiceError('requestTooLarge', { message });
}

function exhausted(): ServiceError {
  const message = 'The memory for large requests is exhausted. The request may be retried.';
  return new ServiceError('overloaded', { message });
}

/** Resolves when the response is sent or its connection is closed. */
export function whenSent(socket: Socket, outgoing: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    // A response queued behind others does not emit `close` when the connection closes.
    const done = (): void => {
      socket.off('close', done);
      outgoing.off('close', done);
      resolve();
    };
    if (socket.destroyed || outgoing.closed) {
      resolve();
      return;
    }
    // Clients may pipeline many requests.
    socket.setMaxListeners(0);
    socket.once('close', done);
    outgoing.once('close', done);
  });
}
