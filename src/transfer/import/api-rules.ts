// Rules of the HTTP API that imported objects may break, because the source has other rules. Such objects are imported, and
// reported by number.
import { getKey, type JsonValue } from '../../base/json.ts';
import type { ObjectPermissions } from '../../contracts/permission.ts';
import { findIdGenerator } from '../../core/objects/ids.ts';
import { createIdRule, type IdRule } from '../../core/objects/object-id.ts';
import type { StoredObject } from '../../core/objects/stored.ts';
import { memberFault } from '../../resources/group.ts';
import { builtInKinds } from '../../resources/kinds.ts';
import type { Settings } from '../../settings/settings.ts';

const idSettings = {
  bucket: 'bucket_id_generator',
  collection: 'collection_id_generator',
  group: 'group_id_generator',
  record: 'record_id_generator',
} as const;

/** What the API refuses in an object. */
export type Oddity = 'id' | 'permission' | 'member';

/** The rules for ids, permissions and members, as far as settings and built-in kinds determine them. */
export class ApiRules {
  readonly #ids = new Map<string, IdRule>();
  readonly #permissions: ReadonlyMap<string, ReadonlySet<string>>;

  constructor(settings: Settings) {
    for (const [kind, setting] of Object.entries(idSettings)) {
      const generator = findIdGenerator(settings.get(setting));
      // Plugins bring all others, which only a running service loads.
      if (generator !== undefined) {
        this.#ids.set(kind, createIdRule(setting, generator, settings.get('max_id_length')));
      }
    }
    const limits = { maxMembers: 0, maxIndexes: 0, maxIndexFields: 0 };
    const kinds = builtInKinds({ ...limits, cacheSeconds: () => undefined, validatesSchemas: false });
    this.#permissions = new Map(kinds.map(({ name, permissions }) => [name, new Set(permissions?.names)]));
  }

  /** Returns what the API refuses in the object. */
  find(kind: string, object: StoredObject, permissions: ObjectPermissions | undefined): readonly Oddity[] {
    const found: Oddity[] = [];
    const ids = this.#ids.get(kind);
    if (ids !== undefined && ids.parse(object.id) === undefined) found.push('id');
    const names = this.#permissions.get(kind);
    if (names !== undefined && Object.keys(permissions ?? {}).some((name) => !names.has(name)))
      found.push('permission');
    if (kind === 'group' && hasOddMembers(object)) found.push('member');
    return found;
  }
}

function hasOddMembers(group: StoredObject): boolean {
  const members = getKey(group.attributes, 'members');
  if (members === undefined) return false;
  return (
    !Array.isArray(members) || (members as readonly JsonValue[]).some((member) => memberFault(member) !== undefined)
  );
}
