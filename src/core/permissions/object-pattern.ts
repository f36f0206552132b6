// Patterns of object URIs in which `*` matches any text.

export interface ObjectPattern {
  /** Literal prefix of all matching ids up to its last slash; `''` when the pattern has none. */
  readonly folder: string;
  /** Whether all matching ids lie directly in the folder. */
  readonly flat: boolean;
  matches(objectId: string): boolean;
}

/**
 * Compiles a pattern.
 *
 * @param withChildren whether `*` also matches `/`
 */
export function parsePattern(pattern: string, withChildren: boolean): ObjectPattern {
  const star = pattern.indexOf('*');
  const literal = star < 0 ? pattern : pattern.slice(0, star);
  const folder = folderOf(literal);
  const flat = star < 0 || (!withChildren && !pattern.includes('/', star));
  if (withChildren) {
    const parts = pattern.split('*');
    return { folder, flat, matches: (objectId) => matchesParts(objectId, parts) };
  }
  const segments = pattern.split('/').map((segment) => segment.split('*'));
  return {
    folder,
    flat,
    matches(objectId) {
      const texts = objectId.split('/');
      return texts.length === segments.length && texts.every((text, index) => matchesParts(text, segments[index]!));
    },
  };
}

/** Returns the text up to and including the last slash. */
export function folderOf(objectId: string): string {
  return objectId.slice(0, objectId.lastIndexOf('/') + 1);
}

/** Whether the text starts with the first part, ends with the last, and contains the others in order. */
function matchesParts(text: string, parts: readonly string[]): boolean {
  const first = parts[0]!;
  if (parts.length === 1) return text === first;
  const last = parts[parts.length - 1]!;
  if (!text.startsWith(first) || !text.endsWith(last) || text.length < first.length + last.length) return false;
  const end = text.length - last.length;
  let at = first.length;
  for (const part of parts.slice(1, -1)) {
    const found = text.indexOf(part, at);
    if (found < 0 || found + part.length > end) return false;
    at = found + part.length;
  }
  return true;
}

/** Returns the name of the list that an object id belongs to: the part before its last one; `''` when it has none. */
export function listNameOf(objectId: string): string {
  const end = objectId.lastIndexOf('/');
  return end < 1 ? '' : objectId.slice(objectId.lastIndexOf('/', end - 1) + 1, end);
}
