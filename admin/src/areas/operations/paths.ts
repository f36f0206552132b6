// Addresses of objects as this area shows them.

/** Returns `kitchen / recipes` for the address of a collection, and `kitchen` for that of a bucket. */
export function displayPath(uri: string): string {
  const ids = uri.split('/').filter((_part, index) => index > 0 && index % 2 === 0);
  return ids.length === 0 ? uri : ids.join(' / ');
}

/** Returns the view of an object by its address. */
export function viewOf(uri: string): string {
  return `#${uri}`;
}
