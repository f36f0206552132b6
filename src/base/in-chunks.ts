/** Returns the items in order, in arrays of at most `size` items. Few items are returned as the given array. */
export function inChunks<T>(items: readonly T[], size: number): readonly (readonly T[])[] {
  if (items.length <= size) return items.length === 0 ? [] : [items];
  const chunks: (readonly T[])[] = [];
  for (let start = 0; start < items.length; start += size) chunks.push(items.slice(start, start + size));
  return chunks;
}
