// Puts entries into the overlay of a list exactly as they were elsewhere.
import type { Restoration } from '../../contracts/storage.ts';
import type { ListOverlay } from './list-overlay.ts';
import type { ListView } from './list-view.ts';

/** @param view of the overlay */
export async function restoreEntries(
  overlay: ListOverlay,
  view: ListView,
  { clock, entries, horizon, gone = [] }: Restoration,
): Promise<void> {
  // The overlay has to know what is replaced.
  await view.byIds([...gone, ...entries.map(({ id }) => id)]);
  const inTheWay = await view.byTimestamps(new Set(entries.map(({ lastModified }) => lastModified)));
  for (const id of gone) overlay.put(id, undefined);
  for (const { id } of inTheWay) overlay.put(id, undefined);
  let latest = clock;
  for (const entry of entries) {
    overlay.put(entry.id, entry);
    latest = Math.max(latest, entry.lastModified);
  }
  overlay.advance(latest);
  if (horizon !== undefined) overlay.raiseHorizon(horizon);
}
