// Faults that are planted in copies of the source. Each is a small change that makes the service wrong in one way. The model
// must notice it, or the tests that the fault names, where requests of the model cannot reach it.
// `npm run prove:mutants` plants them, and `test/model/mutants.test.ts` checks that they still fit the source.
import { idMutants } from './id-mutants.mjs';
import { indexMutants } from './index-mutants.mjs';
import { liveMutants } from './live-mutants.mjs';
import { memoryMutants } from './memory-mutants.mjs';
import { pluginMutants } from './plugin-mutants.mjs';
import { workMutants } from './work-mutants.mjs';
import { concurrencyMutants } from './concurrency-mutants.mjs';

/**
 * @typedef {{
 *   name: string,
 *   file: string,
 *   find: string,
 *   replace: string,
 *   backend: 'memory' | 'sqlite' | 'postgresql',
 *   tests?: string,
 *   only?: string,
 * }} Mutant `name` describes the fault. `find` occurs exactly once in the file. `backend` is the backend that shows the fault.
 *   `tests` is the file of the tests that notice it, by default the model, and `only` a pattern of their names.
 */

/** @type {readonly Mutant[]} */
export const mutants = [
  ...idMutants,
  ...liveMutants,
  ...indexMutants,
  ...memoryMutants,
  ...workMutants,
  ...concurrencyMutants,
  ...pluginMutants,

  // Permissions
  {
    name: 'readers of a list may change its objects',
    file: 'src/engine/begin-write.ts',
    find: 'if (!exists && (await isAllowed(kind.rules.readList',
    replace: 'if ((await isAllowed(kind.rules.readList',
    backend: 'memory',
  },
  {
    name: 'one shared object grants access to the whole list',
    file: 'src/engine/access.ts',
    find: 'if (objects.length > 0) return { ids: objects,',
    replace: 'if (objects.length > 0) return { ids: undefined,',
    backend: 'memory',
  },
  {
    name: 'the creator of an object is not added to its writers',
    file: 'src/engine/object-permissions.ts',
    find: 'return writers.includes(principal) ? permissions : { ...permissions, write: [...writers, principal] };',
    replace: 'return writers.length === 0 ? permissions : { ...permissions, write: [...writers, principal] };',
    backend: 'memory',
  },
  {
    name: 'permissions are shown to callers that are not writers',
    file: 'src/engine/visibility.ts',
    find: 'return (byGroup ?? (await isWriterByGroup(scope, id))) ? permissions : {};',
    replace: 'return permissions;',
    backend: 'memory',
  },
  {
    name: 'a removed member keeps the permissions of the group',
    file: 'src/resources/group.ts',
    find: 'if (after.has(member)) continue;',
    replace: 'if (!after.has(member)) continue;',
    backend: 'memory',
  },
  {
    name: 'POST returns an existing object to callers that may only create',
    file: 'src/engine/verbs/create.ts',
    find: '(exists ? kind.rules.read : kind.rules.create)',
    replace: '(exists ? kind.rules.create : kind.rules.create)',
    backend: 'memory',
  },
  {
    name: 'the read permission of a record does not grant reading it',
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
    name: 'a failed precondition returns the object to callers that may not read it',
    file: 'src/engine/verbs/replace.ts',
    find: 'throw preconditionFailed(lockedTimestamp(begun), undefined, existsAlready);',
    replace: 'throw preconditionFailed(lockedTimestamp(begun), state.object);',
    backend: 'memory',
  },
  {
    name: 'a filter on ids returns objects that are not shared',
    file: 'src/core/query/plan-page.ts',
    find: 'wanted.filter((id) => named.has(id))',
    replace: '[...named]',
    backend: 'sqlite',
  },

  // Clocks
  {
    name: 'two writes at one instant get the same timestamp',
    file: 'src/core/lists/clock-rule.ts',
    find: 'larger(now, sum(clock, one))',
    replace: 'larger(now, clock)',
    backend: 'memory',
  },
  {
    name: 'a timestamp from the client that is not newer is accepted',
    file: 'src/core/objects/timestamps.ts',
    find: 'timestamp > current ? timestamp',
    replace: 'timestamp >= current ? timestamp',
    backend: 'memory',
  },
  {
    name: 'the deletion of a list gets a timestamp before it',
    file: 'src/engine/verbs/remove-list.ts',
    find: 'newest === 0 ? timestamp : newest',
    replace: 'timestamp',
    backend: 'memory',
  },
  {
    name: 'a deletion can get a timestamp before that of the object',
    file: 'src/engine/verbs/remove.ts',
    find: 'sentTimestamp > old.lastModified ? sentTimestamp',
    replace: 'sentTimestamp >= 0 ? sentTimestamp',
    backend: 'memory',
  },
  {
    name: 'an old timestamp from the client moves the list clock back',
    file: 'src/core/lists/list-state.ts',
    find: '(clock !== undefined && clock > to)',
    replace: 'false',
    backend: 'memory',
  },

  // Queries
  {
    name: 'min_ excludes equal values',
    file: 'src/core/query/evaluate.ts',
    find: 'return compareValues(value, filter.value) >= 0;',
    replace: 'return compareValues(value, filter.value) > 0;',
    backend: 'memory',
  },
  {
    name: 'exclude_ excludes objects without the field',
    file: 'src/core/query/evaluate.ts',
    find: 'return value === undefined || !isOneOf(value, filter.values);',
    replace: 'return value !== undefined && !isOneOf(value, filter.values);',
    backend: 'memory',
  },
  {
    name: '_since returns the change that was seen last',
    file: 'src/core/query/resolve.ts',
    find: "operator: 'gt', value: since",
    replace: "operator: 'min', value: since",
    backend: 'memory',
  },
  {
    name: '_fields omits the deleted mark',
    file: 'src/core/query/project.ts',
    find: "value['deleted'] === true ?",
    replace: "value['deleted'] === false ?",
    backend: 'memory',
  },
  {
    name: 'a page begins with the last object of the previous page',
    file: 'src/core/objects/page-text.ts',
    find: 'last: entries.at(-1),',
    replace: 'last: entries.at(-2) ?? entries.at(-1),',
    backend: 'memory',
  },

  // Cascades
  {
    name: 'members of groups of a deleted bucket stay members',
    file: 'src/resources/cascade.ts',
    find: '  await permission.removePrincipalsBelow(`${uri}/groups/`);\n',
    replace: '',
    backend: 'memory',
  },
  {
    name: 'permissions below a deleted object return when it is created again',
    file: 'src/resources/cascade.ts',
    find: '  await permission.deletePermissionsBelow(uri);\n',
    replace: '',
    backend: 'memory',
  },
  {
    name: 'deleting a bucket deletes buckets whose ids begin with its id',
    file: 'src/backends/memory/list-table.ts',
    find: 'pairsWithPrefix(this.#filled, `${uri}/`)',
    replace: 'pairsWithPrefix(this.#filled, uri)',
    backend: 'memory',
  },
  {
    name: 'a list that is emptied with its parent keeps its clock',
    file: 'src/core/lists/list-state.ts',
    find: 'live > 0 ? rule.emptied(clock, now) : clock',
    replace: 'clock',
    backend: 'sqlite',
  },

  // Preconditions
  {
    name: 'If-Match accepts older timestamps',
    file: 'src/engine/preconditions.ts',
    find: 'ifMatch.any || ifMatch.timestamp === timestamp) return;',
    replace: 'ifMatch.any || ifMatch.timestamp >= timestamp - 5) return;',
    backend: 'memory',
  },
  {
    name: 'If-None-Match: * replaces an existing object',
    file: 'src/engine/preconditions.ts',
    find: 'if (ifNoneMatch?.any === true) throw',
    replace: 'if (ifNoneMatch?.any === true && object === undefined) throw',
    backend: 'memory',
  },
  {
    name: '304 is returned although the object changed',
    file: 'src/engine/preconditions.ts',
    find: '!ifNoneMatch.any && ifNoneMatch.timestamp === timestamp;',
    replace: '!ifNoneMatch.any && ifNoneMatch.timestamp >= timestamp - 1;',
    backend: 'memory',
  },
  {
    name: 'If-Match with the timestamp of the list recreates a deleted object',
    file: 'src/engine/verbs/replace.ts',
    find: 'state.tombstone?.lastModified',
    replace: 'state.timestamp',
    backend: 'memory',
  },

  // Batches
  {
    name: 'a batch with a conflict commits its other entries',
    file: 'src/http/dispatch.ts',
    find: 'if (response.status === 409 || error instanceof UnstorableText) outer.unit.setRollbackOnly();',
    replace: '',
    backend: 'memory',
  },
  {
    name: 'batch entries see group changes of earlier entries',
    file: 'src/http/batch.ts',
    find: '  await context.authenticate(requests);\n',
    replace: '',
    backend: 'memory',
  },
  {
    name: 'defaults of a batch override an entry',
    file: 'src/http/batch.ts',
    find: 'if (own === undefined) setKey(merged, key, byDefault);',
    replace: 'if (own === undefined || !isJsonObject(own)) setKey(merged, key, byDefault);',
    backend: 'memory',
  },
  {
    name: 'batch entries act as the sender instead of their own credentials',
    file: 'src/http/batch.ts',
    find: '= { ...inherited, ...own };',
    replace: '= { ...own, ...inherited };',
    backend: 'memory',
  },

  // Files
  {
    name: 'clients can set the attachment of a record',
    file: 'src/plugins/attachments/subscribers.ts',
    find: 'if (own === undefined || !equalValues(own, after)) throw',
    replace: 'if (own !== undefined && !equalValues(own, after)) throw',
    backend: 'memory',
  },
  {
    name: 'a file is served to callers that may not read its record',
    file: 'src/plugins/attachments/file-access.ts',
    find: "const isReader = await host.objects.isAllowed(context, place, 'read');",
    replace: 'const isReader = true;',
    backend: 'memory',
  },
  {
    name: 'a file is kept after it is removed from its record',
    file: 'src/plugins/attachments/subscribers.ts',
    find: 'if (after === undefined || change.isByService === true) await unlink(',
    replace: 'if (after === undefined) continue;\n    if (change.isByService === true) await unlink(',
    backend: 'memory',
  },

  // Schemas
  {
    name: 'records are not validated against the schema of the bucket',
    file: 'src/resources/schema-validation.ts',
    find: "await requireValid(await schemaOf(bucket, 'record:schema'), write, internalFields);",
    replace: "'at once' as string;",
    backend: 'memory',
  },
  {
    name: 'a record keeps the schema timestamp of its first write',
    file: 'src/resources/schema-validation.ts',
    find: "setKey(marked, 'schema', timestamp);",
    replace: "if (getKey(marked, 'schema') === undefined) setKey(marked, 'schema', timestamp);",
    backend: 'memory',
  },
  {
    name: 'schemas that declare the id do not receive it',
    file: 'src/core/schema/validate.ts',
    find: "const showsId = isJsonObject(declared) && Object.hasOwn(declared, 'id');",
    replace: 'const showsId = !isJsonObject(declared) && declared !== undefined;',
    backend: 'memory',
  },

  // Settings
  {
    name: 'a setting for buckets also grants on their contents',
    file: 'src/core/permissions/inheritance.ts',
    find: 'entries.map(({ entry }) => settingName(endpointKind, entry))',
    replace: 'entries.map((each) => settingName(each.kind, each.entry))',
    backend: 'memory',
  },
  {
    name: 'groups named in settings are granted by entries only',
    file: 'src/engine/access.ts',
    find: '=> named || granted)',
    replace: '=> granted)',
    backend: 'memory',
  },
  {
    name: 'permissions granted by settings are not listed',
    file: 'src/http/views/permissions.ts',
    find: 'if (granted.length === 0) continue;',
    replace: 'if (granted.length >= 0) continue;',
    backend: 'memory',
  },

  // Numbers
  {
    name: 'a number loses the zero after its decimal point',
    file: 'src/base/json-text.ts',
    find: String.raw`const mayHoldExactNumber = /\d[.eE]|\d{16}|-0/;`,
    replace: String.raw`const mayHoldExactNumber = /\d{16}/;`,
    backend: 'memory',
  },

  {
    name: 'numbers with the same double are equal',
    file: 'src/core/query/compare.ts',
    find: "if (typeof a === 'number' && typeof b === 'number') return 0;",
    replace: 'return 0;',
    backend: 'memory',
  },

  // Snapshots
  {
    name: 'a snapshot shows records to all callers',
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
    name: 'a snapshot in a batch ignores earlier entries of the batch',
    file: 'src/plugins/history/snapshot-endpoint.ts',
    find: 'unit.changes.filter(({ kind }) => recordedKinds.includes(kind))',
    replace: 'unit.changes.filter(() => false)',
    backend: 'memory',
  },
];
