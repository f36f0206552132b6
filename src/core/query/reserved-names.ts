// The query parameters that mean something to lists; all other names that start with `_` are ignored.

export const reservedNames = ['_since', '_before', '_to', '_limit', '_sort', '_token', '_fields'] as const;

export type ReservedName = (typeof reservedNames)[number];
