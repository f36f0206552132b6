// Permissions of kinds that declare none: `read` and `write`, inherited from the objects above, and the right to create
// objects of each kind below, as buckets, collections and records declare them.
import type { GrantingEntry, PermissionDeclaration } from '../core/permissions/inheritance.ts';
import type { ResourceKind } from './kind.ts';

/** Returns the kinds; each shareable one has permissions, its own or the default ones. */
export function withDefaultPermissions(kinds: readonly ResourceKind[]): readonly ResourceKind[] {
  return kinds.map((kind) =>
    kind.flavour === 'shareable' && kind.permissions === undefined
      ? { ...kind, permissions: defaultPermissions(kind, kinds) }
      : kind,
  );
}

function defaultPermissions(kind: ResourceKind, kinds: readonly ResourceKind[]): PermissionDeclaration {
  const above = ancestorsOf(kind, kinds);
  const own = (entry: string): GrantingEntry => ({ kind: kind.name, entry });
  const inherited = (entry: string): readonly GrantingEntry[] =>
    above
      .filter(({ flavour, permissions }) => flavour === 'shareable' && (permissions?.names.includes(entry) ?? true))
      .map(({ name }) => ({ kind: name, entry }));
  const writers = [...inherited('write'), own('write')];
  const created = kinds
    .filter(({ flavour, parent }) => flavour === 'shareable' && parent === kind.name)
    .map(({ name }) => `${name}:create`);
  return {
    names: ['read', 'write', ...created],
    granted: {
      read: [...writers, ...inherited('read'), own('read')],
      write: writers,
      ...Object.fromEntries(created.map((entry) => [entry, [...writers, own(entry)]])),
    },
  };
}

/** Returns the kinds above, nearest first. */
function ancestorsOf({ parent, name }: ResourceKind, kinds: readonly ResourceKind[]): readonly ResourceKind[] {
  const found: ResourceKind[] = [];
  const seen = new Set([name]);
  for (let next = parent; next !== undefined && !seen.has(next);) {
    seen.add(next);
    const above = kinds.find((kind) => kind.name === next);
    if (above !== undefined) found.push(above);
    next = above?.parent;
  }
  return found;
}
