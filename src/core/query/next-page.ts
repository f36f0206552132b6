// The query string of the page that follows: what the client asked for, with another `_token`.

/**
 * The query string, question mark included.
 *
 * @param pairs decoded pairs of the request
 * @param limit the effective limit, which replaces any `_limit` of the request
 */
export function formatNextPage(
  pairs: readonly (readonly [name: string, value: string])[],
  limit: number,
  token: string,
): string {
  const paging = new Map([
    ['_limit', String(limit)],
    ['_token', token],
  ]);
  const parts = pairs.map(([name, value]) => {
    const replaced = paging.get(name);
    paging.delete(name);
    return formatPair(name, replaced ?? value);
  });
  for (const [name, value] of paging) parts.push(formatPair(name, value));
  return `?${parts.join('&')}`;
}

function formatPair(name: string, value: string): string {
  return `${encodeURIComponent(name)}=${encodeURIComponent(value)}`;
}
