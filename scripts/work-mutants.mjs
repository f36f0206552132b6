// Planted faults in the limit of the work of a query. Each place that does the work has to note it.

/** @type {'memory'} */
const backend = 'memory';
const counted = { backend, tests: 'test/contract/query-work.test.ts' };
const asked = { backend, tests: 'test/http/query-work.test.ts', only: 'on memory' };

/** @type {readonly import('./mutants.mjs').Mutant[]} */
export const workMutants = [
  {
    ...counted,
    name: 'queries in memory work without a limit',
    file: 'src/backends/memory/scan.ts',
    find: 'new WorkMeter(residual, looksInside ? budget : undefined)',
    replace: 'new WorkMeter(residual)',
  },
  {
    ...counted,
    name: 'the work of steps that are full is not noted',
    file: 'src/core/query/evaluate-steps.ts',
    find: '    this.finish();\n    return true;',
    replace: '    this.#chars = 0;\n    return true;',
  },
  {
    ...counted,
    name: 'the work of windows that SQLite tests is not noted',
    file: 'src/backends/sqlite/selection.ts',
    find: 'budget.spendOn((workOfEntry + bytes) * rows, weightOf(filters));',
    replace: '',
  },
  {
    ...counted,
    name: 'the work of tests before a statement of SQLite is not noted',
    file: 'src/backends/sqlite/selection.ts',
    find: 'new WorkMeter(filters, budget)',
    replace: 'new WorkMeter(filters)',
  },
  {
    backend,
    name: 'the work of testing words on SQLite is not noted',
    file: 'src/backends/sqlite/find-words.ts',
    find: 'this.#budget?.spend(work);',
    replace: '',
    tests: 'test/backends/sqlite/find-words.test.ts',
  },
  {
    backend,
    name: 'an object is found once for each of its words with a prefix',
    file: 'src/backends/sqlite/find-words.ts',
    find: 'hasAll(own, parts) && found === firstWith(own, prefix)',
    replace: 'hasAll(own, parts)',
    tests: 'test/contract/sqlite.test.ts',
    only: 'very many words',
  },
  {
    backend,
    name: 'all words of a search are looked for at once in long lists',
    file: 'src/backends/sqlite/find-words.ts',
    find: '<= lookedAtOnce;',
    replace: '<= Infinity;',
    tests: 'test/backends/sqlite/find-words.test.ts',
  },
  {
    backend,
    name: 'a search asks for a common word of a long list first',
    file: 'src/backends/sqlite/find-words.ts',
    find: 'counts.get(a)! - counts.get(b)!',
    replace: '0',
    tests: 'test/backends/sqlite/find-words.test.ts',
  },
  {
    ...counted,
    name: 'each page of a text search has a limit of work of its own',
    file: 'src/engine/text-search.ts',
    find: 'new SearchBudget(ofQuery)',
    replace: 'new SearchBudget(undefined)',
  },
  {
    ...counted,
    name: 'counts work without a limit',
    file: 'src/core/query/plan-page.ts',
    find: 'includeDeleted = false, budget }: Selection): SelectionPlan {',
    replace: 'includeDeleted = false }: Selection): SelectionPlan {\n  const budget = undefined;',
  },
  {
    ...asked,
    name: 'the setting for the work of queries has no effect',
    file: 'src/core/query/resolve.ts',
    find: 'new QueryBudget(limits.maxQueryWork)',
    replace: 'new QueryBudget()',
  },
  {
    ...asked,
    name: 'totals of lists work without a limit',
    file: 'src/engine/verbs/list.ts',
    find: '{ filters, ids, indexes, report, budget })',
    replace: '{ filters, ids, indexes, report })',
  },
  {
    backend: 'postgresql',
    name: 'a read that stands still keeps its turn',
    file: 'src/backends/postgresql/long-reads.ts',
    find: 'lateMs, maxLate, now }',
    replace: 'now }',
    tests: 'test/backends/postgresql/shared-turns.test.ts',
  },
  {
    backend: 'postgresql',
    name: 'reads do not know their user',
    file: 'src/engine/database-unit.ts',
    find: 'storage.readerFor?.(requester) ?? storage.reader',
    replace: 'storage.reader',
    tests: 'test/backends/postgresql/shared-turns.test.ts',
  },
  {
    backend: 'memory',
    name: 'objects that plugins write take memory that nothing reserves',
    file: 'src/engine/events/queue.ts',
    find: 'bytesPerChar * charsByService(event.changes)',
    replace: '0',
    tests: 'test/http/signer-attacks.test.ts',
  },
  {
    backend: 'memory',
    name: 'a batch signs a target each time the status changes',
    file: 'src/plugins/signer/subscribers.ts',
    find: '{ event, change, scope: eventScope });\n',
    replace:
      '{ event, change, scope: eventScope });\n    await signPending({ service, actor: { ...scope, caller: pluginCaller }, pending });\n',
    tests: 'test/http/signer-attacks.test.ts',
  },
  {
    backend: 'memory',
    name: 'records of a source that a batch creates again stay published',
    file: 'src/plugins/signer/review-workflow.ts',
    find: 'await cleanUpTargets(work, {',
    replace: 'if (!isRecreated) await cleanUpTargets(work, {',
    tests: 'test/http/signer-attacks.test.ts',
  },
];
