// Formats an event as request bodies: the payload with the objects, split into several bodies at the size limit.
import { formatJson, isJsonObject, type JsonObject, type JsonValue, type MutableJsonObject } from '../base/json.ts';
import { copyMembers, formatInSteps, StepBudget } from '../base/json-steps.ts';
import type { Steps } from '../base/steps.ts';
import { formatPayload } from '../core/events/payload.ts';
import { entryInSteps, entryValue, isTombstone, type StoredEntry } from '../core/objects/stored.ts';
import type { Change, ResourceEvent } from '../engine/events/event.ts';

export interface BodyOptions {
  readonly maxBytes: number;
  /** Attributes that are omitted. */
  readonly hiddenFields: readonly string[];
}

/** Returns the bodies of an event, each within the size limit. An object that is too large by itself is truncated. */
export function* formatBodies(event: ResourceEvent, { maxBytes, hiddenFields }: BodyOptions): Steps<readonly string[]> {
  const payload = formatJson(formatPayload(event));
  const isRead = event.action === 'read';
  const key = isRead ? 'read_objects' : 'impacted_objects';
  const frame = (objects: readonly string[], isCut: boolean): string =>
    `{"payload":${payload},"${key}":[${objects.join(',')}]${isCut ? ',"truncated":true' : ''}}`;
  const availableBytes = maxBytes - Buffer.byteLength(frame([], true));

  const bodies: string[] = [];
  let pending: string[] = [];
  let size = 0;
  let isCut = false;
  const budget = new StepBudget();
  const flush = (): void => {
    bodies.push(frame(pending, isCut));
    [pending, size, isCut] = [[], 0, false];
  };
  for (const source of isRead ? event.entries : event.changes) {
    const value =
      'action' in source ? yield* impactValue(source, hiddenFields) : yield* visibleValue(source, hiddenFields);
    const whole = yield* formatInSteps(value);
    const isTooLarge = Buffer.byteLength(whole) > availableBytes;
    const text = isTooLarge ? formatJson(truncate(value)) : whole;
    const bytes = Buffer.byteLength(text) + 1;
    if (size + bytes > availableBytes + 1 && pending.length > 0) flush();
    pending.push(text);
    size += bytes;
    isCut ||= isTooLarge;
    if (budget.spendOnObject(whole.length)) yield;
  }
  if (pending.length > 0 || bodies.length === 0) flush();
  return bodies;
}

function* visibleValue(entry: StoredEntry, hiddenFields: readonly string[]): Steps<JsonObject> {
  const value = isTombstone(entry) ? entryValue(entry) : yield* entryInSteps(entry);
  const copy: MutableJsonObject = {};
  yield* copyMembers(value, copy, (name) => hiddenFields.includes(name));
  return copy;
}

function* impactValue({ old, new: entry }: Change, hiddenFields: readonly string[]): Steps<JsonObject> {
  const now = yield* visibleValue(entry, hiddenFields);
  return old === undefined ? { new: now } : { new: now, old: yield* visibleValue(old, hiddenFields) };
}

const identity: readonly string[] = ['id', 'last_modified', 'deleted'];

/** Reduces an object that is too large to its identity; of a change, both objects. */
function truncate(value: JsonValue): JsonObject {
  if (!isJsonObject(value)) return {};
  const parts = Object.entries(value);
  const isImpact = parts.every(([key, part]) => (key === 'new' || key === 'old') && isJsonObject(part));
  if (isImpact) return Object.fromEntries(parts.map(([key, part]) => [key, truncate(part)]));
  return Object.fromEntries(parts.filter(([key]) => identity.includes(key)));
}
