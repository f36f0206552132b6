// The settings of a service, which the model follows: enabled features, and callers with permissions from settings.

export interface World {
  readonly name: string;
  readonly hasHistory: boolean;
  readonly hasAttachments: boolean;
  readonly validatesSchemas: boolean;
  /** Whether the backend finds records by their words. */
  readonly searchesText: boolean;
  /** Principals by the setting that names them. `{ann}` is the id of a user. */
  readonly grants: Readonly<Record<string, readonly string[]>>;
}

const byDefault = { bucket_create_principals: ['system.Authenticated'] };

/** Everything that takes part in writes. */
export const full: World = {
  name: 'full',
  hasHistory: true,
  hasAttachments: true,
  validatesSchemas: true,
  searchesText: true,
  grants: byDefault,
};

/** Nothing beyond the objects themselves, so that nothing keeps the service from its shortest ways. */
const bare: World = {
  name: 'bare',
  hasHistory: false,
  hasAttachments: false,
  validatesSchemas: false,
  searchesText: true,
  grants: byDefault,
};

/** Settings grant what no entry does: to users, to groups, and to strangers. */
const granting: World = {
  name: 'granting',
  hasHistory: true,
  hasAttachments: false,
  validatesSchemas: false,
  searchesText: true,
  grants: {
    bucket_create_principals: ['{ann}', '{ben}'],
    bucket_read_principals: ['/buckets/b/groups/g_'],
    group_read_principals: ['system.Authenticated'],
    group_create_principals: ['/buckets/b/groups/g'],
    collection_create_principals: ['{cat}'],
    collection_write_principals: ['/buckets/bx/groups/g'],
    record_read_principals: ['{cat}', '/buckets/b/groups/g_'],
    record_create_principals: ['system.Everyone'],
    record_write_principals: ['/buckets/b_/groups/g'],
    history_read_principals: ['{cat}'],
  },
};

export const worlds: readonly World[] = [full, bare, granting];

/** The principals of a setting, with the ids of users filled in. */
export function grantsFor({ grants }: World, idOf: (user: string) => string): ReadonlyMap<string, readonly string[]> {
  return new Map(
    Object.entries(grants).map(([setting, principals]) => [
      setting,
      principals.map((principal) => principal.replace(/^\{(\w+)\}$/, (_, user: string) => idOf(user))),
    ]),
  );
}
