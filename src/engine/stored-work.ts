// Reserves memory for work on large stored objects before it begins, because even a small request may cause such work.
// Batches count the text that their entries read and rewrite.
import { countValues, largeTextChars } from '../base/json-steps.ts';
import { pause, runFromNow } from '../base/steps.ts';
import type { RequireRoomForObjects } from '../contracts/permission.ts';
import type { RequireRoom } from '../contracts/storage.ts';
import { isTombstone, type ListKey, type StoredEntry, type StoredObject } from '../core/objects/stored.ts';
import type { Context } from './context.ts';
import type { MemoryAccount, ServiceRequest } from './exchange.ts';
import type { UnitOfWork } from './unit-of-work.ts';

/** `show`: the text is sent as stored. `rewrite`: the attributes are parsed, changed and written. */
export type StoredWork = 'show' | 'rewrite';

/** Texts of this length or more, and their responses, are handled in an event-loop turn of their own. */
export const charsOfTurn = 1_000_000;
/** Bytes per character while a text is sent: the row, the body, and its bytes. */
const bytesOfShown = 4;
/** For `rewrite`: texts before and after, parts of both, and the response. */
const bytesPerChar: Readonly<Record<StoredWork, number>> = { show: bytesOfShown, rewrite: 8 };
/** Bytes per member: its name and value, in the attributes and in copies of them. */
const bytesOfMember = 220;

/** The request whose memory is reserved. */
export type OfRequest = { readonly request: Pick<ServiceRequest, 'memory'> };

/** Returns what reserves memory for work on an object before its text is read. */
export function roomFor({ request: { memory } }: OfRequest, work: StoredWork): RequireRoom | undefined {
  return memory && ((chars) => memory.admit(chars * bytesPerChar[work]));
}

/** Returns what reserves memory for very many objects that are found by their permission entries. */
export function roomForObjects(
  { request: { memory } }: OfRequest,
  bytesPerObject: number,
): RequireRoomForObjects | undefined {
  return memory && ((objects) => memory.admitWhole(objects * bytesPerObject));
}

/**
 * Counts the text of a stored object and reserves memory for work on it; returns `undefined` when done at once.
 *
 * @throws WorkAwaited, or ServiceError requestTooLarge, also by rejection
 */
export function requireRoom(
  { request: { memory } }: OfRequest,
  object: StoredObject | undefined,
  work: StoredWork,
): Promise<void> | undefined {
  if (object === undefined || memory === undefined) return undefined;
  memory.takeStored(object.chars);
  if (!object.isLarge) return undefined;
  // At once: many requests may have read theirs.
  memory.admit(object.chars * bytesPerChar[work]);
  if (work === 'rewrite') return requireRewriting(memory, object);
  // Other requests run between two large responses.
  return object.chars < charsOfTurn ? undefined : pause('normal');
}

/**
 * Returns an object whose attributes will be parsed, after memory for that was reserved.
 *
 * @throws WorkAwaited, also by rejection
 */
export async function findToParse(
  { unit, request }: OfRequest & { readonly unit: Pick<UnitOfWork, 'reader'> },
  list: ListKey,
  id: string,
): Promise<StoredObject | undefined> {
  const object = await unit.reader.storage.get(list, id, roomFor({ request }, 'rewrite'));
  if (object?.isLarge === true && request.memory !== undefined) await requireRewriting(request.memory, object);
  return object;
}

async function requireRewriting(memory: MemoryAccount, object: StoredObject): Promise<void> {
  const values = await runFromNow(countValues(object.text), 'normal');
  memory.admit(object.text.length * bytesPerChar.rewrite + values * bytesOfMember);
}

/**
 * Reserves memory for a long page that was read as text. Many requests can read theirs before the first one is sent.
 *
 * @throws WorkAwaited
 */
export function requireRoomForText({ request: { memory } }: Context, text: string): void {
  if (text.length >= largeTextChars) memory?.admit(text.length * bytesOfShown);
}

/**
 * Counts the texts of a page and reserves memory for parsing its large objects one by one; returns `undefined` when done at
 * once.
 *
 * @throws WorkAwaited, or ServiceError requestTooLarge, also by rejection
 */
export function requireRoomForPage(
  { request: { memory } }: Context,
  entries: readonly StoredEntry[],
): Promise<void> | undefined {
  if (memory === undefined) return undefined;
  let chars = 0;
  let largest: StoredObject | undefined;
  for (const entry of entries) {
    if (isTombstone(entry)) continue;
    chars += entry.text.length;
    if (largest === undefined || entry.text.length > largest.text.length) largest = entry;
  }
  memory.takeStored(chars);
  if (largest?.isLarge !== true) return undefined;
  // At once: many requests may have read their pages.
  memory.admit((chars + largest.text.length) * bytesOfShown);
  return requireParsing(memory, chars, largest);
}

async function requireParsing(memory: MemoryAccount, chars: number, largest: StoredObject): Promise<void> {
  const values = await runFromNow(countValues(largest.text), 'normal');
  memory.admit((chars + largest.text.length) * bytesOfShown + values * bytesOfMember);
}
