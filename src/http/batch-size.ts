// Limits on a batch with its defaults merged into every entry, and on its responses: a small body can cause many times its own
// size.
import type { JsonValue } from '../base/json.ts';
import { ServiceError } from '../core/errors.ts';
import type { MemoryAccount, ServiceRequest } from '../engine/exchange.ts';

/** Maximum size of the defaults in all entries that needs no reservation. */
const smallBytes = 65_536;
/** Memory per byte of an entry besides its response: the text to store. */
const entryExpansion = 1;
/** Memory per byte of a response, which is joined and encoded. */
const responseExpansion = 2.5;
/** Reservations for responses grow in steps. */
const responseStepBytes = 1_048_576;
/** Cost of a value of the defaults besides its text: entries that extend an object get a copy. */
const bytesOfValue = 8;

/** @throws ServiceError requestTooLarge */
export function requireFitting(bytes: number, maxBytes: number): void {
  if (bytes <= maxBytes) return;
  const message = `The entries of the batch are larger than ${maxBytes} bytes together, each with the defaults that it takes over.`;
  throw new ServiceError('requestTooLarge', { message });
}

/**
 * Returns the approximate length of the JSON text of a value without formatting it; small values count a little more.
 *
 * @param most limit at which to stop; larger values return any number above it
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

/** Memory of the entries and responses of a batch, reserved as it becomes known. It is the account of each entry. */
export class BatchSize implements MemoryAccount {
  readonly #maxBytes: number;
  readonly #request: ServiceRequest;
  #ofEntries = 0;
  #ofResponses = 0;
  #ofStored = 0;
  /** Reserved for responses. */
  #reserved = 0;
  #refusal: ServiceError | undefined;

  constructor(maxBytes: number, request: ServiceRequest) {
    this.#maxBytes = maxBytes;
    this.#request = request;
  }

  /**
   * Reserves memory for the defaults in all entries and in their responses, before any lock. Batches with reservations for
   * entries only could block each other.
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
   * Reserves memory for one more response.
   *
   * @throws ServiceError requestTooLarge or overloaded
   */
  takeResponse(bytes: number): void {
    this.#ofResponses += bytes;
    if (this.#ofResponses > this.#maxBytes) {
      const message = `The responses in the batch are larger than ${this.#maxBytes} bytes together.`;
      throw new ServiceError('requestTooLarge', { message });
    }
    if (this.#ofResponses <= Math.max(smallBytes, this.#reserved)) return;
    this.#reserved = this.#ofResponses + responseStepBytes;
    this.#request.memory?.reserveNow(this.#besides);
  }

  /**
   * Counts stored text that an entry reads or rewrites, even if the entry and its response are small: a batch holds its locks
   * until its last entry is done.
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

  /** @throws ServiceError requestTooLarge when an entry exceeded the limit of stored text, which ends the batch */
  requireFittingStored(): void {
    if (this.#refusal !== undefined) throw this.#refusal;
  }

  /** @throws WorkAwaited: the whole batch is retried */
  admit(bytes: number): void {
    this.#request.memory?.admit(this.#besides + bytes);
  }

  /** @throws WorkAwaited; ServiceError requestTooLarge */
  admitWhole(bytes: number): void {
    this.#request.memory?.admitWhole(this.#besides + bytes);
  }

  holdSmall(bytes: number): void {
    this.#request.memory?.holdSmall(bytes);
  }

  endSmall(): void {
    this.#request.memory?.endSmall();
  }

  keep(): void {
    this.#request.memory?.keep();
  }

  giveBack(): void {
    this.#request.memory?.giveBack();
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
