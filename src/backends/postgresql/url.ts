// Parses the setting that names the database.

/**
 * Returns the URL of `storage_url` and similar settings in the form of the driver. Accepts `postgresql://`, `postgres://`
 * and, from existing deployments, the name of a Python driver after `+`. `undefined` for other URLs.
 */
export function findPostgresqlUrl(url: string | undefined): string | undefined {
  const match = /^postgres(?:ql)?(?:\+[a-z0-9]+)?:\/\/(.*)$/is.exec(url ?? '');
  if (match === null) return undefined;
  const normal = `postgresql://${match[1]}`;
  // A host is required before the path, or as a parameter such as `host`.
  return URL.canParse(normal) || /^postgresql:\/\/\/?[^/]*\?/.test(normal) ? normal : undefined;
}
