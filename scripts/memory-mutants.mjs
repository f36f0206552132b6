// Planted faults about the memory that requests may use. The model never asks for so much: tests of their own notice them.

const tests = 'test/http/request-memory.test.ts';
const file = 'src/http/request-memory.ts';

/** @type {readonly import('./mutants.mjs').Mutant[]} */
export const memoryMutants = [
  {
    name: 'the work on a large body is not counted',
    file,
    find: '    await translating(this.#ofWork(), weight);\n',
    replace: '',
    backend: 'memory',
    tests,
  },
  {
    name: 'an answer does not count while it waits for its reader',
    file,
    find: 'if (bytes > smallBytes) this.#ofWork().force(bytes);',
    replace: 'this.#working?.release();',
    backend: 'memory',
    tests,
  },
  {
    name: 'a request that has ended keeps its memory',
    file,
    find: '    this.#working?.release();\n',
    replace: '',
    backend: 'memory',
    tests,
  },
  {
    name: 'small requests about large objects count as small',
    file,
    find: 'const all = Math.min(this.#ofBody + bytes, this.#memory.working.totalBytes);',
    replace: 'const all = this.#ofBody;',
    backend: 'memory',
    tests,
  },
  {
    name: 'a body may hold any number of values',
    file: 'src/base/json.ts',
    find: 'if (++this.#values > this.#limits.maxValues) throw tooManyValues(this.#limits.maxValues);',
    replace: '',
    backend: 'memory',
    tests: 'test/base/json-steps.test.ts',
  },
];
