// How large a batch is with its defaults merged into every entry, and how large its answers become: a small body can ask for
// many times its own size.
import type { JsonValue } from '../base/json.ts';
import { ServiceError } from '../core/errors.ts';
import type { MemoryAccount, ServiceRequest } from '../engine/exchange.ts';

export interface BatchSizeOptions {
  readonly maxBytes: number;
}

/** Defaults of this size in all entries together need no reservation. */
const smallBytes = 65_536;
/** What a byte of an entry takes besides its answer: the text to store. */
const entryExpansion = 1;
/** Answers are joined in the end, and sent as bytes. */
const responseExpansion = 2.5;
/** Answers are reserved in steps. */
const responseStepBytes = 1_048_576;
/** What a value of the defaults weighs besides its text: entries that add to an object get a copy of it. */
const bytesOfValue = 8;

/** @throws ServiceError requestTooLarge */
export function requireFitting(bytes: number, { maxBytes }: BatchSizeOptions): void {
  if (bytes <= maxBytes) return;
  const message = `The entries of the batch are larger than ${maxBytes} bytes together, each with the defaults that it takes over.`;
  throw new ServiceError('requestTooLarge', { message });
}

/**
 * About the length of the JSON text of a value, without making the text; small values count a little more.
 *
 * @param most where to stop: whatever is larger gives a number above it
 */
export function jsonWeight(value: JsonValue, most: number): number {
  if (typeof value === 'string') return value.length + bytesOfValue;
  if (typeof value !== 'object' || value === null) return bytesOfValue;
  let weight = bytesOfValue;
  if (Array.isArray(value)) {
    for (const item of value as readonly JsonValue[]) {
      weight += jsonWeight(item, most - weight);
      if (weight > most) return weight;
    }
    return weight;
  }
  for (const [key, item] of Object.entries(value)) {
    weight += key.length + jsonWeight(item as JsonValue, most - weight);
    if (weight > most) return weight;
  }
  return weight;
}

/** What the entries and answers of one batch take, reserved as it becomes known. It is the account of each entry. */
export class BatchSize implements MemoryAccount {
  readonly #maxBytes: number;
  readonly #request: ServiceRequest;
  #ofEntries = 0;
  #ofResponses = 0;
  #ofStored = 0;
  /** Reserved for answers. */
  #reserved = 0;
  #refusal: ServiceError | undefined;

  constructor({ maxBytes }: BatchSizeOptions, request: ServiceRequest) {
    this.#maxBytes = maxBytes;
    this.#request = request;
  }

  /**
   * Reserves room for the defaults in all entries, and for answers that show them, before anything is locked. Batches that
   * had room for their entries alone could keep each other from finishing.
   *
   * @throws ServiceError requestTooLarge, or overloaded, also by rejection
   */
  takeEntries(defaultsBytes: number): Promise<void> | undefined {
    if (defaultsBytes <= smallBytes) return undefined;
    this.#ofEntries = defaultsBytes * entryExpansion;
    this.#reserved = defaultsBytes;
    return this.#request.memory?.reserve(this.#besides);
  }

  /**
   * Reserves room for one more answer.
   *
   * @throws ServiceError requestTooLarge or overloaded
   */
  takeResponse(bytes: number): void {
    this.#ofResponses += bytes;
    if (this.#ofResponses > this.#maxBytes) {
      const message = `The answers to the batch are larger than ${this.#maxBytes} bytes together.`;
      throw new ServiceError('requestTooLarge', { message });
    }
    if (this.#ofResponses <= Math.max(smallBytes, this.#reserved)) return;
    this.#reserved = this.#ofResponses + responseStepBytes;
    this.#request.memory?.reserveNow(this.#besides);
  }

  /**
   * Counts stored text that an entry reads or rewrites, however little of it the entry sends or is answered: the locks of a
   * batch are held until its last entry is done.
   *
   * @throws ServiceError requestTooLarge
   */
  takeStored(chars: number): void {
    this.#ofStored += chars;
    if (this.#ofStored <= this.#maxBytes) return;
    const message = `The objects that the entries of the batch read and change are larger than ${this.#maxBytes} bytes together.`;
    this.#refusal = new ServiceError('requestTooLarge', { message });
    throw this.#refusal;
  }

  /** @throws ServiceError requestTooLarge: what an entry was refused for ends the batch */
  requireFittingStored(): void {
    if (this.#refusal !== undefined) throw this.#refusal;
  }

  /** @throws MemoryAwaited: the batch is run again as a whole */
  admit(bytes: number): void {
    this.#request.memory?.admit(this.#besides + bytes);
  }

  reserve(bytes: number): Promise<void> | undefined {
    return this.#request.memory?.reserve(this.#besides + bytes);
  }

  /** @throws ServiceError requestTooLarge or overloaded */
  reserveNow(bytes: number): void {
    this.#request.memory?.reserveNow(this.#besides + bytes);
  }

  get #besides(): number {
    return this.#ofEntries + this.#reserved * responseExpansion;
  }
}
