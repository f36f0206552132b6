// How large a batch is with its defaults merged into every entry, and how large its answers become: a small body can ask for
// many times its own size.
import type { JsonValue } from '../base/json.ts';
import { ServiceError } from '../core/errors.ts';
import type { ServiceRequest } from '../engine/exchange.ts';

export interface BatchSizeOptions {
  readonly maxBytes: number;
}

/** Defaults of this size in all entries together need no reservation. */
const smallBytes = 65_536;
/** What a byte of an entry takes besides its answer: the text to store. */
const expansionOfEntry = 1;
/** Answers are joined in the end, and sent as bytes. */
const expansionOfAnswer = 2.5;
/** Answers are reserved in steps. */
const answerStepBytes = 1_048_576;
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

/** What the entries and answers of one batch take, reserved as it becomes known. */
export class BatchSize {
  readonly #maxBytes: number;
  readonly #request: ServiceRequest;
  #ofEntries = 0;
  #ofAnswers = 0;
  #reserved = 0;

  constructor({ maxBytes }: BatchSizeOptions, request: ServiceRequest) {
    this.#maxBytes = maxBytes;
    this.#request = request;
  }

  /**
   * Reserves room for the defaults in all entries, before anything is locked.
   *
   * @throws ServiceError requestTooLarge, or overloaded, also by rejection
   */
  takeEntries(defaultsBytes: number): Promise<void> | undefined {
    if (defaultsBytes <= smallBytes) return undefined;
    this.#ofEntries = defaultsBytes * expansionOfEntry;
    return this.#request.memory?.reserve(this.#ofEntries);
  }

  /**
   * Reserves room for one more answer.
   *
   * @throws ServiceError requestTooLarge or overloaded
   */
  takeAnswer(bytes: number): void {
    this.#ofAnswers += bytes;
    if (this.#ofAnswers > this.#maxBytes) {
      const message = `The answers to the batch are larger than ${this.#maxBytes} bytes together.`;
      throw new ServiceError('requestTooLarge', { message });
    }
    if (this.#ofAnswers <= Math.max(smallBytes, this.#reserved)) return;
    this.#reserved = this.#ofAnswers + answerStepBytes;
    this.#request.memory?.reserveNow(this.#ofEntries + this.#reserved * expansionOfAnswer);
  }
}
