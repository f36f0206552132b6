// The `_fields` parameter: the members of an object that a response shows.
import { getKey, isJsonObject, setKey, type JsonObject, type MutableJsonObject } from '../../base/json.ts';

/** The members to show, in the requested order: the whole value (`'all'`) or a projection of it. */
export type Projection = ReadonlyMap<string, Projection | 'all'>;
type MutableProjection = Map<string, MutableProjection | 'all'>;

/** Reads a comma-separated list of names. Dots descend, empty names are skipped, and a whole member includes its parts. */
export function parseFields(text: string): Projection {
  const projection: MutableProjection = new Map();
  for (const name of text.split(',')) if (name !== '') addPath(projection, name.split('.'));
  return projection;
}

function addPath(projection: MutableProjection, path: readonly string[]): void {
  let level = projection;
  for (const [index, key] of path.entries()) {
    const known = level.get(key);
    if (known === 'all') return;
    if (index === path.length - 1) {
      level.set(key, 'all');
    } else {
      const below: MutableProjection = known ?? new Map();
      level.set(key, below);
      level = below;
    }
  }
}

/** Work of looking for one member, in characters that are formatted in the same time. */
const charsOfField = 16;

/** Returns the work of a projection of one object, in characters. */
export function workOfProjection(projection: Projection): number {
  let fields = 0;
  const levels: Projection[] = [projection];
  for (let level = levels.pop(); level !== undefined; level = levels.pop()) {
    fields += level.size;
    for (const below of level.values()) if (below !== 'all') levels.push(below);
  }
  return fields * charsOfField;
}

/** Returns the requested members, and always `id`, `last_modified` and the `deleted` of tombstones. */
export function project(value: JsonObject, projection: Projection): JsonObject {
  const shown = pick(value, projection);
  // Clients that synchronise a list recognise tombstones by `deleted: true`.
  const always = value['deleted'] === true ? ['id', 'last_modified', 'deleted'] : ['id', 'last_modified'];
  for (const key of always) {
    const own = getKey(value, key);
    if (own !== undefined) setKey(shown, key, own);
  }
  return shown;
}

function pick(value: JsonObject, projection: Projection): MutableJsonObject {
  const picked: MutableJsonObject = {};
  for (const [key, below] of projection) {
    const member = getKey(value, key);
    // Values other than objects have no members and are shown whole.
    if (member !== undefined)
      setKey(picked, key, below === 'all' || !isJsonObject(member) ? member : pick(member, below));
  }
  return picked;
}
