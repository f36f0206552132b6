// Puts entries into the overlay of a list exactly as they are in another store.
import type { Restoration } from '../../contracts/storage.ts';
import { restoredClock } from '../../core/lists/list-state.ts';
import type { ListOverlay } from './list-overlay.ts';
import type { ListView } from './list-view.ts';

/** @param view of the overlay */
export async function restoreEntries(
  overlay: ListOverlay,
  view: ListView,
  { clock, entries, horizon, gone = [] }: Restoration,
): Promise<void> {
  // `put` requires that the overlay knows what it replaces.
  await view.byIds([...gone, ...entries.map(({ id }) => id)]);
  const inTheWay = await view.byTimestamps(new Set(entries.map(({ lastModified }) => lastModified)));
  for (const id of gone) overlay.put(id, undefined);
  for (const { id } of inTheWay) overlay.put(id, undefined);
  for (const entry of entries) overlay.put(entry.id, entry);
  overlay.change({ clock: restoredClock(clock, entries), horizon });
}
