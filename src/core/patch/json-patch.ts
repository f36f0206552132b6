// JSON Patch (RFC 6902) on our JSON values, where exact numbers keep their digits and `__proto__` is an ordinary key; no
// library does both. Documents are never changed: the containers of a path are copied once and then belong to the patch.
// Work, growth and depth of the result are limited, because a `copy` can double a document.
import { abbreviate } from '../../base/abbreviate.ts';
import { getKey, isJsonObject, setKey, type JsonValue, type MutableJsonObject } from '../../base/json.ts';
import { copyMembers, StepBudget } from '../../base/json-steps.ts';
import type { Steps } from '../../base/steps.ts';
import { invalidParameters } from '../errors.ts';
import { equalInSteps } from '../query/compare.ts';
import { formatPointer, parseArrayIndex } from './json-pointer.ts';
import type { Operation } from './operations.ts';

/** Maximum growth by `copy` operations, in characters of text; each value and key counts as one more. */
const maxGrowthChars = 10_485_760;
/** Maximum number of values that are visited or copied, so that no patch occupies the process for long. */
const maxWork = 10_000_000;
/** Maximum number of nesting levels of the result; the outermost counts as one. */
const maxDepth = 500;

/** Converts a value before it is put at a path; throws to refuse it. */
export type Adopt = (path: readonly string[], value: JsonValue) => JsonValue;

/**
 * Returns the document after all operations, in order.
 *
 * @throws ServiceError invalidParameters naming the first operation that fails
 */
export function* applyOperations(
  document: JsonValue,
  operations: readonly Operation[],
  adopt: Adopt = (_path, value) => value,
): Steps<JsonValue> {
  const patcher = new Patcher(document, adopt);
  for (const [index, operation] of operations.entries()) {
    try {
      yield* patcher.apply(operation);
    } catch (error) {
      if (!(error instanceof OperationFailure)) throw error;
      const label = `${operation.op} ${abbreviate(formatPointer(operation.path))}`;
      const description = `operation ${index} (${label}) failed: ${error.message}`;
      throw invalidParameters([{ location: 'body', name: null, description }]);
    }
  }
  return patcher.document;
}

class OperationFailure extends Error {}

type Container = JsonValue[] | MutableJsonObject;

/** Copying an object costs several times as much as copying an array; shifting an array costs much less. */
const objectCopyCost = 4;
const arrayShiftCost = 1 / 64;

class Patcher {
  #root: { document: JsonValue };
  readonly #adopt: Adopt;
  /** Containers that this patch created and that occur once in the document. They may be changed in place. */
  #owned = new Set<Container>();
  readonly #budget = new StepBudget();
  #work = 0;
  #growth = 0;

  constructor(document: JsonValue, adopt: Adopt) {
    this.#root = { document };
    this.#adopt = adopt;
  }

  get document(): JsonValue {
    return this.#root.document;
  }

  *apply(operation: Operation): Steps<void> {
    switch (operation.op) {
      case 'test':
        if (!(yield* equalInSteps(this.#find(operation.path), requireValue(operation), this.#budget))) {
          fail('the value differs');
        }
        break;
      case 'add':
        yield* this.#add(operation.path, requireValue(operation));
        break;
      case 'remove':
        yield* this.#remove(operation.path);
        break;
      case 'replace':
        yield* this.#replace(operation.path, requireValue(operation));
        break;
      case 'copy': {
        const value = this.#find(requireFrom(operation));
        this.#growth += yield* this.#measure(value, 0);
        if (this.#growth > maxGrowthChars) fail('the result would be too large');
        // The value now occurs twice, and so do those of its containers that belonged to the patch.
        this.#owned = new Set();
        yield* this.#add(operation.path, value);
        break;
      }
      case 'move': {
        const from = requireFrom(operation);
        if (isBelow(operation.path, from)) fail('a value cannot move into itself');
        const value = this.#find(from);
        yield* this.#remove(from);
        yield* this.#add(operation.path, value);
        break;
      }
    }
  }

  #find(path: readonly string[]): JsonValue {
    let value = this.#root.document;
    for (const token of path) {
      const next = member(value, token);
      if (next === undefined) fail(`no value exists at ${abbreviate(formatPointer(path))}`);
      value = next;
    }
    return value;
  }

  *#add(path: readonly string[], given: JsonValue): Steps<void> {
    const value = yield* this.#prepare(path, given);
    const container = yield* this.#ownContainer(path);
    const token = path.at(-1)!;
    if (!Array.isArray(container)) return setKey(container, token, value);
    const index = token === '-' ? container.length : parseArrayIndex(token);
    if (index === undefined || index > container.length) fail('the index is beyond the end of the array');
    this.#spend((container.length - index) * arrayShiftCost);
    container.splice(index, 0, value);
  }

  *#replace(path: readonly string[], given: JsonValue): Steps<void> {
    const value = yield* this.#prepare(path, given);
    const container = yield* this.#ownContainer(path);
    const token = path.at(-1)!;
    if (member(container, token) === undefined) fail('no value exists to replace');
    if (Array.isArray(container)) container[Number(token)] = value;
    else setKey(container, token, value);
  }

  *#remove(path: readonly string[]): Steps<void> {
    const container = yield* this.#ownContainer(path);
    const token = path.at(-1)!;
    if (member(container, token) === undefined) fail('no value exists to remove');
    if (!Array.isArray(container)) {
      Reflect.deleteProperty(container, token);
      return;
    }
    this.#spend((container.length - Number(token)) * arrayShiftCost);
    container.splice(Number(token), 1);
  }

  /** Returns the value in its form for the path, after a check of its depth there. */
  *#prepare(path: readonly string[], given: JsonValue): Steps<JsonValue> {
    const value = this.#adopt(path, given);
    yield* this.#measure(value, path.length);
    return value;
  }

  /** Returns the container of the last token, with all containers of the path owned by the patch. */
  *#ownContainer(path: readonly string[]): Steps<Container> {
    const root = yield* this.#own(this.#root.document);
    this.#root.document = root;
    let container = root;
    for (const token of path.slice(0, -1)) {
      const next = member(container, token);
      if (next === undefined) fail(`no value exists at ${abbreviate(formatPointer(path.slice(0, -1)))}`);
      const owned = yield* this.#own(next);
      if (Array.isArray(container)) container[Number(token)] = owned;
      else setKey(container, token, owned);
      container = owned;
    }
    return container;
  }

  *#own(value: JsonValue): Steps<Container> {
    if (this.#owned.has(value as Container)) return value as Container;
    const copy = yield* this.#copyContainer(value);
    this.#owned.add(copy);
    return copy;
  }

  *#copyContainer(value: JsonValue): Steps<Container> {
    if (Array.isArray(value)) {
      this.#spend(value.length);
      return [...(value as readonly JsonValue[])];
    }
    if (!isJsonObject(value)) fail('the path leads into a value without members');
    this.#spend(Object.keys(value).length * objectCopyCost);
    const copy: MutableJsonObject = {};
    yield* copyMembers(value, copy);
    return copy;
  }

  /** Returns the characters of a value at a level below the root. Fails early when it is too large or too deep. */
  *#measure(value: JsonValue, level: number): Steps<number> {
    this.#spend(1);
    if (this.#budget.spend(1)) yield;
    if (typeof value === 'string') return value.length + 1;
    const isArray = Array.isArray(value);
    if (!isArray && !isJsonObject(value)) return 8;
    if (level >= maxDepth) fail('the result would be nested too deep');
    let chars = 1;
    if (isArray) {
      for (const item of value as readonly JsonValue[]) chars += yield* this.#measure(item, level + 1);
      return chars;
    }
    for (const key of Object.keys(value)) chars += key.length + 1 + (yield* this.#measure(value[key]!, level + 1));
    return chars;
  }

  #spend(work: number): void {
    this.#work += work;
    if (this.#work > maxWork) fail('the patch takes too much work');
  }
}

function member(value: JsonValue, token: string): JsonValue | undefined {
  if (Array.isArray(value)) {
    const index = parseArrayIndex(token);
    return index === undefined ? undefined : (value as readonly JsonValue[])[index];
  }
  return isJsonObject(value) ? getKey(value, token) : undefined;
}

/** Whether the path leads into the value at the other path. */
function isBelow(path: readonly string[], other: readonly string[]): boolean {
  return path.length > other.length && other.every((token, index) => path[index] === token);
}

function requireValue(operation: Operation): JsonValue {
  return operation.value === undefined ? fail('it has no value') : operation.value;
}

function requireFrom(operation: Operation): readonly string[] {
  return operation.from ?? fail('it has no from');
}

function fail(reason: string): never {
  throw new OperationFailure(reason);
}
