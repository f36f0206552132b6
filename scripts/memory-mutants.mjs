// Planted faults in the memory budget. Requests of the model are too small to reach it, so separate tests notice them.

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
    name: 'a response is not counted while its client does not read it',
    file,
    find: 'if (bytes > smallBytes) this.#ofWork().force(bytes);',
    replace: 'this.#working?.release();',
    backend: 'memory',
    tests,
  },
  {
    name: 'a finished request keeps its memory reservation',
    file,
    find: '    this.#working?.release();\n',
    replace: '',
    backend: 'memory',
    tests,
  },
  {
    name: 'small requests for large objects are counted as small',
    file,
    find: 'const all = Math.min(this.#ofBody + bytes, this.#memory.working.totalBytes);',
    replace: 'const all = this.#ofBody;',
    backend: 'memory',
    tests,
  },
  {
    name: 'the number of values in a body is not limited',
    file: 'src/base/json.ts',
    find: "if (++this.#values > this.#limits.maxValues) throw new JsonSyntaxError(describeExcess('values', this.#limits));",
    replace: '',
    backend: 'memory',
    tests: 'test/base/json-steps.test.ts',
  },
  {
    name: 'a long object is read from Redis before memory is reserved',
    file: 'src/backends/redis/list-reads.ts',
    find: '      requireRoom?.(lengths.reduce((sum, length) => sum + length, 0));\n',
    replace: '',
    backend: 'memory',
    tests: 'test/contract/redis.test.ts',
    only: 'outside of the process',
  },
];
