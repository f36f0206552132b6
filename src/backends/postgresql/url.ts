// Which database a PostgreSQL backend opens, from the setting that names it.

/**
 * The URL behind `storage_url` and its like, in the form that the driver knows: `postgresql://` also as `postgres://` or,
 * from existing deployments, with the name of a Python driver. `undefined` when it names something else.
 */
export function findPostgresqlUrl(url: string | undefined): string | undefined {
  const match = /^postgres(?:ql)?(?:\+[a-z0-9]+)?:\/\/(.*)$/is.exec(url ?? '');
  if (match === null) return undefined;
  const normal = `postgresql://${match[1]}`;
  // What stands before the path decides; parameters such as `host` may take its place.
  return URL.canParse(normal) || /^postgresql:\/\/\/?[^/]*\?/.test(normal) ? normal : undefined;
}
