// What work on large stored objects takes in memory: it is reserved before the work begins, since a small request may ask for
// it. Batches count what their entries read and rewrite.
import { countValues } from '../base/json-steps.ts';
import { pause, runFromNow } from '../base/steps.ts';
import { isTombstone, type StoredEntry, type StoredObject } from '../core/objects/stored.ts';
import type { Context } from './context.ts';
import type { MemoryAccount } from './exchange.ts';

/** Whether the text is passed on as it is, or the attributes are parsed, changed and written. */
export type StoredWork = 'show' | 'rewrite';

/** Texts from this length on are handled in a turn of the event loop of their own, and so are their responses. */
export const charsOfTurn = 1_000_000;
/** What a character takes while its text is passed on: the row, the body, and its bytes. */
const bytesOfShown = 4;
/** What a character takes while the attributes are rewritten: texts before and after, pieces of both, and the answer. */
const bytesOfRewritten = 8;
/** What a member takes: its name and value, in the attributes and in copies of them. */
const bytesOfMember = 220;

/**
 * Reserves memory for work on a stored object, and counts its text; `undefined` when that was done at once.
 *
 * @throws MemoryAwaited, or ServiceError requestTooLarge, also by rejection
 */
export function requireRoom(
  { request: { memory } }: Context,
  object: StoredObject | undefined,
  work: StoredWork,
): Promise<void> | undefined {
  if (object === undefined || memory === undefined) return undefined;
  memory.takeStored(object.text.length);
  if (!object.isLarge) return undefined;
  if (work === 'rewrite') return requireRewriting(memory, object);
  memory.admit(object.text.length * bytesOfShown);
  // Others are served between two answers that take long to be put together and sent.
  return object.text.length < charsOfTurn ? undefined : pause('normal');
}

async function requireRewriting(memory: MemoryAccount, object: StoredObject): Promise<void> {
  const values = await runFromNow(countValues(object.text), 'normal');
  memory.admit(object.text.length * bytesOfRewritten + values * bytesOfMember);
}

/**
 * Reserves memory for parsing the large objects of a page one after the other, and counts the texts of all; `undefined` when
 * that was done at once.
 *
 * @throws MemoryAwaited, or ServiceError requestTooLarge, also by rejection
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
  return largest?.isLarge === true ? requireParsing(memory, chars, largest) : undefined;
}

async function requireParsing(memory: MemoryAccount, chars: number, largest: StoredObject): Promise<void> {
  const values = await runFromNow(countValues(largest.text), 'normal');
  memory.admit((chars + largest.text.length) * bytesOfShown + values * bytesOfMember);
}
