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
];
