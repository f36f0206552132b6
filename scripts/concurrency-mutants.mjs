// Planted faults between requests that run at the same time: declarations and writes, revocations and the use of a code,
// deletions and writers, snapshots and changes.

/** @type {'memory'} */
const backend = 'memory';
const above = {
  backend: /** @type {const} */ ('postgresql'),
  tests: 'test/contract/postgresql.test.ts',
  only: 'above',
};

/** @type {readonly import('./mutants.mjs').Mutant[]} */
export const concurrencyMutants = [
  {
    ...above,
    name: 'PostgreSQL: a writer that finds its list new relies on what it has read before',
    file: 'src/backends/postgresql/storage-writer.ts',
    find: 'if (!isLocked && !(await this.#lists.create(below))) continue;',
    replace: 'if (!isLocked) await this.#lists.create(below);',
  },
  {
    ...above,
    name: 'PostgreSQL: a list that another transaction has created counts as own',
    file: 'src/backends/postgresql/list-locks.ts',
    find: 'const isOwn = this.#added.has(name);',
    replace: 'const isOwn = true;',
  },
  {
    ...above,
    name: 'PostgreSQL: what was read under the lock of one list counts under that of another',
    file: 'src/backends/postgresql/list-locks.ts',
    find: 'return kept?.belows.includes(keyOfList(below)) === true ? kept.object : undefined;',
    replace: 'return kept?.object;',
    tests: 'test/backends/postgresql/object-above.test.ts',
    only: '',
  },
  {
    backend,
    name: 'Redis: the commit does not notice that the object above has changed',
    file: 'src/backends/redis/commit-script.ts',
    find: 'if not found or (timestamp and tonumber(found) ~= timestamp) then',
    replace: 'if not found then',
    tests: 'test/backends/redis/contention.test.ts',
    only: 'above',
  },
  {
    backend,
    name: 'a temporary password that a request holds outlives its revocation',
    file: 'src/plugins/accounts/account-kind.ts',
    find: 'once !== undefined && !(await once.isValid())',
    replace: 'once !== undefined && false',
    tests: 'test/plugins/accounts/forgotten-passwords.test.ts',
  },
  {
    backend,
    name: 'a code is given back after it was revoked',
    file: 'src/engine/held-entry.ts',
    find: 'await this.#state.replace(this.#key, this.#mark, this.#value);',
    replace: 'await this.#state.put({ ...this.#key, requester: undefined, isBoundElsewhere: true }, this.#value, 60);',
    tests: 'test/plugins/accounts/forgotten-passwords.test.ts',
  },
  {
    backend,
    name: 'a snapshot looks for changes from its time on only',
    file: 'src/plugins/history/snapshot.ts',
    find: 'clock === undefined ? at : Math.min(at, clock)',
    replace: 'at',
    tests: 'test/plugins/history/snapshot.test.ts',
  },
  {
    backend,
    name: 'the list of changes has a timestamp from the future',
    file: 'src/plugins/changes/monitored-collections.ts',
    find: ' && last_modified <= now + maxAheadMs',
    replace: '',
    tests: 'test/http/changes.test.ts',
  },
  {
    backend,
    name: 'a snapshot walks changed records from the newest on',
    file: 'src/plugins/history/snapshot.ts',
    find: 'walkIds(storage, records, later, requireRoom, oldestFirst)',
    replace: 'walkIds(storage, records, later, requireRoom)',
    tests: 'test/plugins/history/snapshot.test.ts',
  },
  {
    backend,
    name: 'Redis: a claim outlives its unit',
    file: 'src/backends/redis/unit.ts',
    find: '    this.#host.sharedLocks.release(this);\n    this.requireOpen();',
    replace: '    this.requireOpen();',
    tests: 'test/backends/redis/lock-order.test.ts',
  },
  {
    backend,
    name: 'Redis: a unit that a deletion waits for waits for another process',
    file: 'src/backends/redis/unit.ts',
    find: 'this.#isOpen && !this.#host.sharedLocks.isInTheWay(this)',
    replace: 'this.#isOpen',
    tests: 'test/backends/redis/lock-order.test.ts',
  },
];
