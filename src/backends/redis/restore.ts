// Puts entries into the draft of a list exactly as they were elsewhere.
import type { Restoration } from '../../contracts/storage.ts';
import type { ListDraft } from './list-draft.ts';
import type { ListView } from './list-view.ts';

/** @param view of the draft */
export async function restoreEntries(
  draft: ListDraft,
  view: ListView,
  { clock, entries, horizon, gone = [] }: Restoration,
): Promise<void> {
  // The draft has to know what is replaced.
  await view.byIds([...gone, ...entries.map(({ id }) => id)]);
  const inTheWay = await view.byTimestamps(new Set(entries.map(({ lastModified }) => lastModified)));
  for (const id of gone) draft.put(id, undefined);
  for (const { id } of inTheWay) draft.put(id, undefined);
  let latest = clock;
  for (const entry of entries) {
    draft.put(entry.id, entry);
    latest = Math.max(latest, entry.lastModified);
  }
  draft.advance(latest);
  if (horizon !== undefined) draft.raiseHorizon(horizon);
}
