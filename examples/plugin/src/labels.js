// Principals of the plugin's own: who has the label `editors` is `group:editors` in permissions.

/**
 * @param {ReadonlyMap<string, ReadonlySet<string>>} labels users by label
 * @returns {import('coffer').PrincipalSource}
 */
export function labelsOf(labels) {
  // Asked once for each request; a directory or a database could be asked here.
  return async (userId) => {
    const own = [...labels].filter(([, users]) => users.has(userId));
    return own.map(([label]) => `group:${label}`);
  };
}
