// Reading, writing and copying of JSON values that may be large, in steps of about a millisecond. Small values take one step
// and use the faster functions of the JavaScript engine.
import {
  ExactNumber,
  formatJson,
  isJsonObject,
  JsonReader,
  noJsonLimits,
  parseJson,
  parseStoredJson,
  requireStorableText,
  setKey,
  valueCost,
  type JsonLimits,
  type JsonObject,
  type JsonValue,
  type MutableJsonObject,
} from './json.ts';
import { keysOfObject } from './json-keys.ts';
import { endOfString, isEscaped } from './json-text.ts';
import type { Steps } from './steps.ts';

/** Minimum length of a text that is read or written in steps. */
export const largeTextChars = 65_536;

/** Work of one step, in characters; a value counts as `valueCost` characters. */
const stepWork = 100_000;

/** Members or items per step, when all take about the same time. */
const membersPerStep = stepWork / valueCost;

/** Work on an object besides its text, in members. */
const objectCost = 10;

/** Counts members until the next pause is due. */
export class StepBudget {
  #left = membersPerStep;

  /** Returns whether the step should end with this work. */
  spend(members: number): boolean {
    this.#left -= members;
    if (this.#left > 0) return false;
    this.#left = membersPerStep;
    return true;
  }

  /** Returns whether the step should end with reading or writing an object with so many characters. */
  spendOnObject(chars: number): boolean {
    return this.spend(objectCost + chars / valueCost);
  }
}

/**
 * Reads JSON text as `parseJson` does.
 *
 * @throws JsonSyntaxError
 */
export function* parseInSteps(text: string, limits?: JsonLimits): Steps<JsonValue> {
  if (text.length < largeTextChars || limits === undefined) return parseJson(text, limits);
  return yield* readInSteps(new JsonReader(text, limits));
}

/** Reads JSON text as `parseStoredJson` does. */
export function* parseStoredInSteps(text: string): Steps<JsonValue> {
  if (text.length < largeTextChars) return parseStoredJson(text);
  return yield* readInSteps(new JsonReader(text, noJsonLimits));
}

function* readInSteps(reader: JsonReader): Steps<JsonValue> {
  while (!reader.advance(stepWork)) yield;
  if (reader.holdsBadText) yield* requireStorableText(reader.value, '');
  return reader.value;
}

/** Whether a value is so large that work on all of it should be done in steps. Stops at that size. */
export function isLargeJson(value: JsonValue): boolean {
  return measure(value, largeTextChars) < 0;
}

/** Returns the rest of the allowance after the value, in characters; negative when it is exhausted. */
function measure(value: JsonValue, allowance: number): number {
  let left = allowance - valueCost;
  if (typeof value === 'string') return left - value.length;
  if (typeof value !== 'object' || value === null) return left;
  if (value instanceof ExactNumber) return left - value.text.length;
  if (Array.isArray(value)) {
    if (value.length * valueCost > left) return -1;
    for (const item of value as readonly JsonValue[]) {
      left = measure(item, left);
      if (left < 0) return left;
    }
    return left;
  }
  const keys = keysOfObject(value);
  if (keys.length * valueCost > left) return -1;
  for (const key of keys) {
    left = measure((value as JsonObject)[key]!, left - key.length);
    if (left < 0) return left;
  }
  return left;
}

/** A JSON text, and its number of values: members, items, and the document itself. */
export interface CountedText {
  readonly text: string;
  readonly values: number;
}

/** Returns compact JSON text, as `formatJson` does. */
export function* formatInSteps(value: JsonValue): Steps<string> {
  if (!isLargeJson(value)) return formatJson(value);
  return (yield* writeInSteps(value)).text;
}

/**
 * Returns compact JSON text with its number of values.
 *
 * @param fewest number of values from which they are counted; 0 stands for a smaller number
 */
export function* formatAndCount(value: JsonValue, fewest: number): Steps<CountedText> {
  if (isLargeJson(value)) return yield* writeInSteps(value);
  const text = formatJson(value);
  // Each value takes a character, and another one to separate it from the next.
  return { text, values: text.length < 2 * fewest ? 0 : yield* countValues(text) };
}

function* writeInSteps(value: JsonValue): Steps<CountedText> {
  yield;
  const writer = new JsonWriter(value);
  while (!writer.advance(stepWork)) yield;
  return { text: writer.text, values: writer.values };
}

/** A container or a long string that is being written; its members or characters from `index` on remain. */
interface Frame {
  readonly container: JsonObject | readonly JsonValue[] | string;
  /** Keys of an object. */
  readonly keys: readonly string[] | undefined;
  index: number;
}

/** Characters per piece of the text. */
const pieceChars = 65_536;

class JsonWriter {
  readonly #pieces: string[] = [];
  readonly #open: Frame[] = [];
  #tokens: string[] = [];
  #chars = 0;
  #values = 0;

  constructor(value: JsonValue) {
    this.#write(value);
  }

  /** Number of values that were written. */
  get values(): number {
    return this.#values;
  }

  get text(): string {
    this.#endPiece();
    return this.#pieces.join('');
  }

  /** Does this much work; returns whether the text is complete. */
  advance(work: number): boolean {
    let left = work;
    while (left > 0) {
      const frame = this.#open.at(-1);
      if (frame === undefined) return true;
      left -= this.#writeMember(frame) + valueCost;
    }
    return false;
  }

  /** Writes the next member or the end of the container; returns the number of characters. */
  #writeMember(frame: Frame): number {
    const { container, keys, index } = frame;
    if (typeof container === 'string') return this.#writeChars(frame, container);
    if (keys === undefined) {
      const items = container as readonly JsonValue[];
      if (index === items.length) return this.#close(']');
      frame.index++;
      return (index === 0 ? 0 : this.#add(',')) + this.#write(items[index]!);
    }
    if (index === keys.length) return this.#close('}');
    frame.index++;
    const key = keys[index]!;
    const name = this.#add(`${index === 0 ? '' : ','}${JSON.stringify(key)}:`);
    return name + this.#write((container as JsonObject)[key]!);
  }

  #write(value: JsonValue): number {
    this.#values++;
    if (value instanceof ExactNumber) return this.#add(value.text);
    if (Array.isArray(value)) {
      this.#open.push({ container: value as readonly JsonValue[], keys: undefined, index: 0 });
      return this.#add('[');
    }
    if (typeof value === 'string' && value.length > pieceChars) {
      this.#open.push({ container: value, keys: undefined, index: 0 });
      return this.#add('"');
    }
    if (!isJsonObject(value)) return this.#add(JSON.stringify(value));
    const keys = keysOfObject(value);
    this.#open.push({ container: value, keys, index: 0 });
    return this.#add('{') + keys.length;
  }

  /** Writes the next characters or the end of a long string; returns their number. */
  #writeChars(frame: Frame, text: string): number {
    const { index } = frame;
    if (index === text.length) return this.#close('"');
    const end = index + pieceChars;
    // A surrogate pair must not be split: `JSON.stringify` would escape the halves.
    frame.index = Math.min(isHighSurrogate(text.charCodeAt(end - 1)) ? end + 1 : end, text.length);
    return this.#add(JSON.stringify(text.slice(index, frame.index)).slice(1, -1));
  }

  #close(end: string): number {
    this.#open.pop();
    return this.#add(end);
  }

  #add(token: string): number {
    this.#tokens.push(token);
    this.#chars += token.length;
    if (this.#chars >= pieceChars) this.#endPiece();
    return token.length;
  }

  #endPiece(): void {
    this.#pieces.push(this.#tokens.join(''));
    this.#tokens = [];
    this.#chars = 0;
  }
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code < 0xdc00;
}

/** Copies the members of one object to another, except those that are left out. */
export function* copyMembers(
  from: JsonObject,
  to: MutableJsonObject,
  isLeftOut?: (key: string, value: JsonValue) => boolean,
): Steps<void> {
  const budget = new StepBudget();
  for (const key of keysOfObject(from)) {
    const value = from[key]!;
    if (isLeftOut === undefined || !isLeftOut(key, value)) setKey(to, key, value);
    if (budget.spend(1)) yield;
  }
}

/** Counts the values in a compact JSON text: members, items, and the document itself. */
export function* countValues(text: string): Steps<number> {
  let values = 1;
  let pauseAt = countedPerStep;
  let isInString = false;
  for (let at = 0; at < text.length;) {
    if (isInString) {
      const quote = text.indexOf('"', at);
      if (quote === -1) return values;
      isInString = isEscaped(text, quote);
      at = quote + 1;
    } else {
      const code = text.charCodeAt(at++);
      if (code === 34) {
        const end = endOfString(text, at - 1, at + countedPerStep);
        isInString = end > at + countedPerStep;
        if (!isInString) at = end;
      } else if (code === 44) values++;
      else if (code === 91 || code === 123) {
        const next = text.charCodeAt(at);
        if (next !== 93 && next !== 125) values++;
      }
    }
    if (at < pauseAt) continue;
    pauseAt = at + countedPerStep;
    yield;
  }
  return values;
}

/** Characters per step of a scan that allocates nothing. */
const countedPerStep = 2 * stepWork;
