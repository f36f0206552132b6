// Compares contestants in one run: they take turns for several rounds, and the result is the median. So other programs on
// the machine affect all of them equally.

/**
 * @typedef {import('./workbench.mjs').Result} Result
 *
 * @typedef {object} Contestant
 * @property {string} name
 * @property {import('./programs.mjs').Program | import('./workbench.mjs').Server} program
 * @property {import('./load.mjs').Request[]} requests
 * @property {Record<string, string>} headers
 * @property {number[]} expected
 *
 * @typedef {object} Figures medians over the rounds
 * @property {number} perSecond
 * @property {number} p50
 * @property {number} p99
 * @property {number} p999
 * @property {number} cpuMicros processor time of the server for each request
 * @property {number} databaseMicros the same of PostgreSQL, where that is the backend
 * @property {number} busy share of a processor that the generator needed
 * @property {number[]} rounds requests per second of each round
 * @property {number} answers of all rounds, with the one that is not counted
 */

/**
 * @param {import('./workbench.mjs').Workbench} bench
 * @param {readonly Contestant[]} contestants
 * @param {Partial<import('./workbench.mjs').Size>} [size]
 * @returns {Promise<Map<string, Figures>>} by name
 */
export async function contest(bench, contestants, size = {}) {
  const { rounds, seconds, amount, connections, isShort } = { ...bench.size, ...size };
  const limits = { connections, ...(amount === undefined ? { seconds } : { amount }) };
  /** @type {Map<string, Result[]>} */
  const results = new Map(contestants.map(({ name }) => [name, []]));
  /** @type {Map<string, number>} */
  const answers = new Map();
  // The first round warms up compilers and caches, and is not counted.
  for (let round = isShort ? 1 : 0; round <= rounds; round++) {
    for (const { name, program, requests, headers, expected } of contestants) {
      const result = await bench
        .load(program, { requests, headers, expected, ...limits })
        .catch((/** @type {unknown} */ error) => {
          throw new Error(`${name} failed`, { cause: error });
        });
      answers.set(name, (answers.get(name) ?? 0) + result.answers);
      if (round > 0) results.get(name)?.push(result);
    }
  }
  return new Map([...results].map(([name, each]) => [name, { ...figuresOf(each), answers: answers.get(name) ?? 0 }]));
}

/** @param {readonly Result[]} results @returns {Omit<Figures, 'answers'>} */
function figuresOf(results) {
  const of = (/** @type {(result: Result) => number} */ read) => median(results.map(read));
  const rounds = results.map(({ answers, seconds }) => answers / seconds);
  return {
    perSecond: median(rounds),
    p50: of(({ p50 }) => p50),
    p99: of(({ p99 }) => p99),
    p999: of(({ p999 }) => p999),
    cpuMicros: of(({ cpuMicros }) => cpuMicros),
    databaseMicros: of(({ databaseMicros }) => databaseMicros),
    busy: of(({ busy }) => busy),
    rounds,
  };
}

/** Returns the rate of a relative to b: the median over the rounds. @param {Figures} a @param {Figures} b */
export function ratioOf(a, b) {
  return median(a.rounds.map((perSecond, round) => perSecond / (b.rounds[round] ?? Number.NaN)));
}

/** @param {readonly number[]} values @returns {number} */
export function median(values) {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? Number.NaN)) / 2;
}
