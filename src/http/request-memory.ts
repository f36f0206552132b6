// What requests hold in memory, and when that is too much. Bodies that arrive, requests that are worked on, and small
// requests have a part of the budget each, so that none of them can block the others: a body that has arrived waits for the
// second part while it holds some of the first, and what holds the second never waits for the first.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { getHeapStatistics } from 'node:v8';
import { ServiceError } from '../core/errors.ts';
import { MemoryAwaited, type MemoryAccount } from '../engine/exchange.ts';
import { addressGroup } from './address-group.ts';
import { AnswerSizes } from './answer-sizes.ts';
import { clientAddress, type IsTrusted } from './forwarded.ts';
import { MemoryBudget, MemoryRefused, type Requester, type Reservation } from './memory-budget.ts';

export interface RequestMemoryOptions {
  /** Bytes of all parts together; 0: derived from the heap limit. */
  readonly budgetBytes: number;
  readonly maxWaitMs: number;
  readonly maxWaiting: number;
  readonly isTrusted: IsTrusted;
  /** Called when a request is refused because others hold too much. */
  readonly onExhausted: () => void;
}

/** Bodies and answers up to this size need no reservation of their own. */
export const smallBytes = 65_536;
/** What a byte of a small body may take: JSON of many tiny values. */
const expansionOfSmall = 30;
/** What a byte of the text of a body takes while a request is worked on: text, texts to store and to answer, copies. */
const expansionOfText = 8;
/** What a JSON value takes besides its text: the value, its place in an object, and copies of both. */
const bytesPerValue = 110;
/** What a byte of an answer takes while the answer is built: rows, their texts joined, and the bytes to send. */
export const expansionOfAnswer = 4;

const partOfReceiving = 1 / 4;
const partOfSmall = 1 / 8;

const partOfHeap = 1 / 2;
const mostDerivedBytes = 402_653_184;

/** The budget where none is set: half of the heap limit, and no more than 384 MiB. */
export function derivedBudgetBytes(heapLimitBytes: number = getHeapStatistics().heap_size_limit): number {
  return Math.min(Math.floor(heapLimitBytes * partOfHeap), mostDerivedBytes);
}

/** What a body takes while its request is worked on. */
export function bodyWeight(bytes: number, values: number): number {
  return bytes * expansionOfText + values * bytesPerValue;
}

export class RequestMemory {
  readonly receiving: MemoryBudget;
  readonly working: MemoryBudget;
  readonly answerSizes = new AnswerSizes(smallBytes);
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

  /** The account of one request; it holds nothing yet. */
  open(incoming: IncomingMessage): RequestAccount {
    return new RequestAccount(this, incoming);
  }

  requesterOf(incoming: IncomingMessage): Requester {
    const address = addressGroup(clientAddress(incoming, this.#isTrusted));
    return { name: incoming.headers.authorization ?? address, address };
  }

  /** Takes room for small bodies, if it is free. */
  takeSmall(bytes: number): boolean {
    if (bytes > this.#freeForSmall) return false;
    this.#freeForSmall -= bytes;
    return true;
  }

  giveSmall(bytes: number): void {
    this.#freeForSmall += bytes;
  }

  /**
   * Counts an answer without a reservation that the client has not read, until it is sent. When clients leave more unread
   * than the budget allows, the connection ends.
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

/** What one request holds, from its first byte to the last byte of its answer. */
export class RequestAccount implements MemoryAccount {
  readonly #memory: RequestMemory;
  readonly #incoming: IncomingMessage;
  #small = 0;
  #ofBody = 0;
  #receiving: Reservation | undefined;
  #working: Reservation | undefined;

  constructor(memory: RequestMemory, incoming: IncomingMessage) {
    this.#memory = memory;
    this.#incoming = incoming;
  }

  /** Takes room for a body of this size, if it is small and there is room. */
  takeSmall(bytes: number): boolean {
    if (bytes > smallBytes || !this.#memory.takeSmall(bytes * expansionOfSmall)) return false;
    this.#small = bytes * expansionOfSmall;
    return true;
  }

  /**
   * Reserves room for a large body that is about to arrive.
   *
   * @throws ServiceError requestTooLarge or overloaded
   */
  async receive(bytes: number): Promise<void> {
    this.#receiving ??= this.#memory.receiving.open(this.#memory.requesterOf(this.#incoming));
    await translating(this.#receiving, bytes);
  }

  /**
   * Reserves room for the work on a large body that has arrived.
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
   * Reserves room for work on stored text. A single request may use all there is, so that what is stored can be used.
   *
   * @throws MemoryAwaited
   */
  admit(bytes: number): void {
    const all = Math.min(this.#ofBody + bytes, this.#memory.working.totalBytes);
    if (this.#ofWork().tryGrow(all)) return;
    throw new MemoryAwaited(() => translating(this.#ofWork(), all));
  }

  /** Stored text is limited in batches alone. */
  takeStored(): void {}

  /** Reserves room for an answer that is known to be large; `undefined` for all others. */
  expectAnswer(target: string): Promise<void> | undefined {
    const bytes = this.#memory.answerSizes.expected(target);
    if (bytes === 0) return undefined;
    return this.reserve(Math.min(bytes * expansionOfAnswer, this.#memory.working.totalBytes));
  }

  /**
   * Holds room for the answer to a request that changed nothing, until it is sent.
   *
   * @throws ServiceError requestTooLarge or overloaded: the answer is to be dropped
   */
  holdRead(target: string, bytes: number): void {
    this.#memory.answerSizes.note(target, bytes);
    if (bytes > smallBytes) this.reserveNow(bytes);
    this.holdAnswer(bytes);
  }

  /** Holds room for an answer until it is sent, and gives back what the work on the request took. */
  holdAnswer(bytes: number): void {
    if (bytes > smallBytes) this.#ofWork().force(bytes);
  }

  /** Gives everything back while the request waits; it may reserve again when it goes on. */
  suspend(): void {
    this.release();
    this.#receiving = undefined;
    this.#working = undefined;
    this.#ofBody = 0;
  }

  /** Gives everything back. */
  release(): void {
    this.#giveSmall();
    this.#endReceiving();
    this.#working?.release();
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
  const message = 'The request needs more memory than the service may use for large requests.';
  return new ServiceError('requestTooLarge', { message });
}

function exhausted(): ServiceError {
  const message = 'Large requests use all the memory that they may use. The request may be retried.';
  return new ServiceError('overloaded', { message });
}

/** Resolves when the answer is sent, or its connection has ended. */
export function whenSent(socket: Socket, outgoing: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    // An answer that waits behind others of its connection learns nothing of the end of the connection.
    const done = (): void => {
      socket.off('close', done);
      outgoing.off('close', done);
      resolve();
    };
    if (socket.destroyed || outgoing.closed) {
      resolve();
      return;
    }
    // Clients may send many requests before they read an answer.
    socket.setMaxListeners(0);
    socket.once('close', done);
    outgoing.once('close', done);
  });
}
