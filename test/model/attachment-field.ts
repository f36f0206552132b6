// The attribute `attachment` of records describes the file of a record. Clients cannot change it.
import { isMap, isSame, member, type Json, type JsonMap } from './json.ts';
import type { Change } from './turn.ts';

/** Whether a client sets the file of a record without an upload. Removing it is allowed. */
export function isForged({ action, place, old, data, isUpload = false }: Change): boolean {
  if (place.kind !== 'record' || action !== 'update' || isUpload) return false;
  const [before, after] = [attachmentIn(old), attachmentIn(data)];
  return before !== undefined && after !== undefined && !isSame(before, after);
}

/** What counts as an attachment. */
export function attachmentIn(data: JsonMap | undefined): Json | undefined {
  const value = data === undefined ? undefined : member(data, 'attachment');
  return value === null || (isMap(value) && Object.keys(value).length === 0) ? undefined : value;
}
