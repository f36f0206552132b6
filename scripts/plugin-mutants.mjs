// Faults of plugins at the edges of access and synchronisation. Part of `mutants.mjs`.

/** @type {'memory'} */
const backend = 'memory';

/** @type {readonly import('./mutants.mjs').Mutant[]} */
export const pluginMutants = [
  {
    backend,
    name: 'a hook of mails with placeholders needs no permission on the groups that it can name',
    file: 'src/plugins/emailer/hook-validation.ts',
    find: 'if (!(await isAllowed(readList, caller, unit.reader, list.ids))) throw',
    replace: 'if (false) throw',
    tests: 'test/plugins/emailer/group-templates.test.ts',
    only: 'on memory',
  },
  {
    backend,
    name: 'a changeset since an old timestamp loses its tombstones',
    file: 'src/plugins/changes/changeset.ts',
    find: '  if (isMonitor) {',
    replace: '  if (since !== undefined) {',
    tests: 'test/http/changes-caching.test.ts',
    only: 'on memory',
  },
  {
    backend,
    name: 'the timestamp of the list of changes falls back while a collection is written',
    file: 'src/plugins/changes/monitored-collections.ts',
    find: 'let newest = isComplete(changes) ? 0 : sharedClock;',
    replace: 'let newest = 0;',
    tests: 'test/http/changes.test.ts',
  },
  {
    backend,
    name: 'changes beyond the timestamp of the list of changes are hidden by a precondition',
    file: 'src/plugins/changes/monitor-list.ts',
    find: 'isUnchanged(preconditions, timestamp) && isComplete(changes)',
    replace: 'isUnchanged(preconditions, timestamp)',
    tests: 'test/http/changes.test.ts',
  },
  {
    backend,
    name: 'a snapshot shows readers of a collection what was in an earlier one of the same name',
    file: 'src/plugins/history/snapshot-endpoint.ts',
    find: 'after: await readHorizon(storage, list)',
    replace: 'after: 0',
    tests: 'test/http/snapshot.test.ts',
    only: 'whose deletion is not in the history',
  },
  {
    backend,
    name: 'a signed URL is valid for a later file of the same name',
    file: 'src/plugins/attachments/file-access.ts',
    find: 'if (own?.lastModified === version) return own;',
    replace: 'if (own !== undefined) return own;',
    tests: 'test/plugins/attachment-urls.test.ts',
    only: 'on memory',
  },
  {
    backend,
    name: 'an object store uses names again',
    file: 'src/blobs/s3/s3-store.ts',
    find: 'const key = uniqueBlobName(name);',
    replace: 'const key = name;',
    tests: 'test/plugins/attachment-s3.test.ts',
  },
];
