// Faults to be planted in copies of the source: each is a small change that makes the service wrong in one way, and that
// the tests have to notice: the model, or where its requests cannot get that far, the tests that the fault names.
// `npm run prove:mutants` plants them, `test/model/mutants.test.ts` looks whether they still fit.
import { idMutants } from './id-mutants.mjs';
import { memoryMutants } from './memory-mutants.mjs';

/**
 * @typedef {{
 *   name: string,
 *   file: string,
 *   find: string,
 *   replace: string,
 *   backend: 'memory' | 'sqlite',
 *   tests?: string,
 *   only?: string,
 * }} Mutant `name` says what is wrong; `find` stands exactly once in the file; `backend` is where it shows; `tests` is the file of
 *   the tests that notice it, by default the model, and `only` a pattern of their names
 */

/** @type {readonly Mutant[]} */
export const mutants = [
  ...idMutants,
  ...memoryMutants,

  // Permissions
  {
    name: 'who may read a list may change what is in it',
    file: 'src/engine/verbs/begin-write.ts',
    find: 'if (!exists && (await isAllowed(kind.rules.readList',
    replace: 'if ((await isAllowed(kind.rules.readList',
    backend: 'memory',
  },
  {
    name: 'one shared object opens the whole list',
    file: 'src/engine/access.ts',
    find: 'if (objects.length > 0) return { ids: objects,',
    replace: 'if (objects.length > 0) return { ids: undefined,',
    backend: 'memory',
  },
  {
    name: 'who creates an object does not become its writer',
    file: 'src/engine/object-permissions.ts',
    find: 'return writers.includes(principal) ? permissions : { ...permissions, write: [...writers, principal] };',
    replace: 'return writers.length === 0 ? permissions : { ...permissions, write: [...writers, principal] };',
    backend: 'memory',
  },
  {
    name: 'permissions are shown to those who are no writers',
    file: 'src/engine/visibility.ts',
    find: 'return (byGroup ?? (await isWriterByGroup(scope, id))) ? permissions : {};',
    replace: 'return permissions;',
    backend: 'memory',
  },
  {
    name: 'who leaves a group keeps what it may',
    file: 'src/resources/group.ts',
    find: 'if (after.has(member)) continue;',
    replace: 'if (!after.has(member)) continue;',
    backend: 'memory',
  },
  {
    name: 'POST shows an object to those who may only create',
    file: 'src/engine/verbs/create.ts',
    find: '(exists ? kind.rules.read : kind.rules.create)',
    replace: '(exists ? kind.rules.create : kind.rules.create)',
    backend: 'memory',
  },
  {
    name: 'reading a single record is not granted',
    file: 'src/resources/record.ts',
    find: "          { kind: 'record', entry: 'read' },\n",
    replace: '',
    backend: 'memory',
  },
  {
    name: 'writers of an object cannot read its history',
    file: 'src/plugins/history/recorder.ts',
    find: 'return [...read, ...write];',
    replace: 'return [...read, ...write.slice(1)];',
    backend: 'memory',
  },
  {
    name: 'a failed precondition shows the object to those who may not read it',
    file: 'src/engine/verbs/replace.ts',
    find: 'throw preconditionFailed(state.timestamp);',
    replace: 'throw preconditionFailed(state.timestamp, state.object);',
    backend: 'memory',
  },
  {
    name: 'asking for an id shows what is not shared',
    file: 'src/backends/sqlite/selection.ts',
    find: 'selection.ids ?? namedIds(rest)',
    replace: 'namedIds(rest) ?? selection.ids',
    backend: 'sqlite',
  },

  // Clocks
  {
    name: 'two writes at one instant get one timestamp',
    file: 'src/backends/memory/list-changes.ts',
    find: 'Math.max(this.#clock.now(), current + 1)',
    replace: 'Math.max(this.#clock.now(), current)',
    backend: 'memory',
  },
  {
    name: 'a chosen timestamp that is not newer is honoured',
    file: 'src/core/objects/timestamps.ts',
    find: 'timestamp > current ? timestamp',
    replace: 'timestamp >= current ? timestamp',
    backend: 'memory',
  },
  {
    name: 'the deletion of a list is dated before it',
    file: 'src/engine/verbs/remove-list.ts',
    find: 'newest === 0 ? timestamp : newest',
    replace: 'timestamp',
    backend: 'memory',
  },
  {
    name: 'a deletion can be dated before what it deletes',
    file: 'src/engine/verbs/remove.ts',
    find: 'sentTimestamp > old.lastModified ? sentTimestamp',
    replace: 'sentTimestamp >= 0 ? sentTimestamp',
    backend: 'memory',
  },
  {
    name: 'an old chosen timestamp moves the clock of the list back',
    file: 'src/backends/memory/list-changes.ts',
    find: 'if (current === undefined || timestamp > current) this.#table.setClock',
    replace: 'if (current === undefined || timestamp !== current) this.#table.setClock',
    backend: 'memory',
  },

  // Queries
  {
    name: 'min_ leaves out what is equal',
    file: 'src/core/query/evaluate.ts',
    find: 'return compareValues(value, filter.value) >= 0;',
    replace: 'return compareValues(value, filter.value) > 0;',
    backend: 'memory',
  },
  {
    name: 'exclude_ leaves out objects without the field',
    file: 'src/core/query/evaluate.ts',
    find: 'return value === undefined || !isOneOf(value, filter.values);',
    replace: 'return value !== undefined && !isOneOf(value, filter.values);',
    backend: 'memory',
  },
  {
    name: '_since repeats the change that was seen last',
    file: 'src/core/query/resolve.ts',
    find: "operator: 'gt', value: since",
    replace: "operator: 'min', value: since",
    backend: 'memory',
  },
  {
    name: '_fields hides that an object was deleted',
    file: 'src/core/query/project.ts',
    find: "value['deleted'] === true ?",
    replace: "value['deleted'] === false ?",
    backend: 'memory',
  },
  {
    name: 'a page begins with the last object of the page before',
    file: 'src/engine/verbs/list.ts',
    find: 'const last = more ? entries.at(-1) : undefined;',
    replace: 'const last = more ? (entries.at(-2) ?? entries.at(-1)) : undefined;',
    backend: 'memory',
  },

  // Cascades
  {
    name: 'members of the groups of a deleted bucket stay members',
    file: 'src/resources/cascade.ts',
    find: '  await permission.removePrincipalsBelow(`${uri}/groups/`);\n',
    replace: '',
    backend: 'memory',
  },
  {
    name: 'permissions below a deleted object come back with it',
    file: 'src/resources/cascade.ts',
    find: '  await permission.deletePermissionsBelow(uri);\n',
    replace: '',
    backend: 'memory',
  },
  {
    name: 'a bucket takes others along whose ids begin like its own',
    file: 'src/backends/memory/list-table.ts',
    find: 'pairsWithPrefix(this.#filled, `${uri}/`)',
    replace: 'pairsWithPrefix(this.#filled, uri)',
    backend: 'memory',
  },
  {
    name: 'a list that is emptied with its parent keeps its time',
    file: 'src/backends/sqlite/bulk-writes.ts',
    find: 'live > 0 ? nextClock(clock) : clock',
    replace: 'clock',
    backend: 'sqlite',
  },

  // Preconditions
  {
    name: 'If-Match lets older timestamps pass',
    file: 'src/engine/preconditions.ts',
    find: 'ifMatch.any || ifMatch.timestamp === timestamp) return;',
    replace: 'ifMatch.any || ifMatch.timestamp >= timestamp - 5) return;',
    backend: 'memory',
  },
  {
    name: 'If-None-Match: * replaces what is there',
    file: 'src/engine/preconditions.ts',
    find: 'if (ifNoneMatch?.any === true) throw',
    replace: 'if (ifNoneMatch?.any === true && object === undefined) throw',
    backend: 'memory',
  },
  {
    name: '304 tells of no change when there was one',
    file: 'src/engine/preconditions.ts',
    find: '!ifNoneMatch.any && ifNoneMatch.timestamp === timestamp;',
    replace: '!ifNoneMatch.any && ifNoneMatch.timestamp >= timestamp - 1;',
    backend: 'memory',
  },
  {
    name: 'a deleted object is brought back by the time of its list',
    file: 'src/engine/verbs/replace.ts',
    find: 'state.tombstone?.lastModified',
    replace: 'state.timestamp',
    backend: 'memory',
  },

  // Batches
  {
    name: 'a batch with a conflict keeps its other entries',
    file: 'src/http/dispatch.ts',
    find: 'if (response.status === 409 || error instanceof UnstorableText) outer.unit.setRollbackOnly();',
    replace: '',
    backend: 'memory',
  },
  {
    name: 'entries of a batch see groups that earlier ones have changed',
    file: 'src/http/batch.ts',
    find: '  await context.authenticate(requests);\n',
    replace: '',
    backend: 'memory',
  },
  {
    name: 'defaults of a batch win over what an entry says',
    file: 'src/http/batch.ts',
    find: 'if (own === undefined) setKey(merged, key, byDefault);',
    replace: 'if (own === undefined || !isJsonObject(own)) setKey(merged, key, byDefault);',
    backend: 'memory',
  },
  {
    name: 'entries of a batch act for its sender, whoever they name',
    file: 'src/http/batch.ts',
    find: '= { ...inherited, ...own };',
    replace: '= { ...own, ...inherited };',
    backend: 'memory',
  },

  // Files
  {
    name: 'clients say themselves what the file of a record is',
    file: 'src/plugins/attachments/subscribers.ts',
    find: 'if (own === undefined || !equalValues(own, after)) throw',
    replace: 'if (own !== undefined && !equalValues(own, after)) throw',
    backend: 'memory',
  },
  {
    name: 'a file is shown to those who may not read its record',
    file: 'src/plugins/attachments/file-access.ts',
    find: "const isReader = await host.objects.isAllowed(context, place, 'read');",
    replace: 'const isReader = true;',
    backend: 'memory',
  },
  {
    name: 'a file stays when it is taken away from its record',
    file: 'src/plugins/attachments/subscribers.ts',
    find: 'if (after === undefined || change.isByService === true) await unlink(',
    replace: 'if (after === undefined) continue;\n    if (change.isByService === true) await unlink(',
    backend: 'memory',
  },

  // Schemas
  {
    name: 'records need not fit the schema of their bucket',
    file: 'src/resources/schema-validation.ts',
    find: "await requireValid(await schemaOf(bucket, 'record:schema'), write, internalFields);",
    replace: "'at once' as string;",
    backend: 'memory',
  },
  {
    name: 'a record keeps the mark of the schema that it was first written under',
    file: 'src/resources/schema-validation.ts',
    find: "setKey(marked, 'schema', timestamp);",
    replace: "if (getKey(marked, 'schema') === undefined) setKey(marked, 'schema', timestamp);",
    backend: 'memory',
  },
  {
    name: 'schemas that know of the id never see it',
    file: 'src/core/schema/validate.ts',
    find: "const showsId = isJsonObject(declared) && Object.hasOwn(declared, 'id');",
    replace: 'const showsId = !isJsonObject(declared) && declared !== undefined;',
    backend: 'memory',
  },

  // Settings
  {
    name: 'a setting for buckets grants what lies in them',
    file: 'src/core/permissions/inheritance.ts',
    find: 'entries.map(({ entry }) => settingName(endpointKind, entry))',
    replace: 'entries.map((each) => settingName(each.kind, each.entry))',
    backend: 'memory',
  },
  {
    name: 'groups that settings name are let in by entries alone',
    file: 'src/engine/access.ts',
    find: '=> named || granted)',
    replace: '=> granted)',
    backend: 'memory',
  },
  {
    name: 'permissions by settings are not listed',
    file: 'src/http/views/permissions.ts',
    find: 'if (granted.length === 0) continue;',
    replace: 'if (granted.length >= 0) continue;',
    backend: 'memory',
  },

  // Numbers
  {
    name: 'a number loses the zero behind its point',
    file: 'src/base/json-text.ts',
    find: String.raw`export const mayHoldExactNumber = /\d[.eE]|\d{16}|-0/;`,
    replace: String.raw`export const mayHoldExactNumber = /\d{16}/;`,
    backend: 'memory',
  },

  {
    name: 'numbers are equal when doubles cannot tell them apart',
    file: 'src/core/query/compare.ts',
    find: "if (typeof a === 'number' && typeof b === 'number') return 0;",
    replace: 'return 0;',
    backend: 'memory',
  },

  // Snapshots
  {
    name: 'a snapshot shows records to everybody',
    file: 'src/plugins/history/snapshot-endpoint.ts',
    find: '  await requireAllowed(records.rules.readList, caller, reader, ids);\n',
    replace: '',
    backend: 'memory',
  },
  {
    name: 'a snapshot begins with the oldest record',
    file: 'src/plugins/history/snapshot.ts',
    find: 'b.lastModified - a.lastModified',
    replace: 'a.lastModified - b.lastModified',
    backend: 'memory',
  },
  {
    name: 'a snapshot in a batch knows nothing of what was done before it',
    file: 'src/plugins/history/snapshot-endpoint.ts',
    find: 'unit.changes.filter(({ kind }) => recordedKinds.includes(kind))',
    replace: 'unit.changes.filter(() => false)',
    backend: 'memory',
  },
];
