// How much processor time does the service itself take, without sockets, log and clients? The minimum of many rounds, which
// other programs on the machine disturb far less than rates.
import { measureInProcess } from './lib/programs.mjs';
import { environmentOf } from './lib/places.mjs';
import { measureMemoryWrites } from './lib/in-process-storage.mjs';
import { asked } from './lib/in-process-requests.mjs';

/** @typedef {import('./lib/rows.mjs').Row} Row */

export const title = 'in process';
const stored = 1000;

/** @param {import('./lib/workbench.mjs').Workbench} bench @returns {AsyncGenerator<Row>} */
export async function* run(bench) {
  const { isShort } = bench.size;
  for (const backend of bench.among('memory', 'sqlite', 'postgresql', 'redis')) {
    for (const { name } of asked) {
      const place = await bench.places.create(backend, { records: stored });
      const size = isShort ? { rounds: 1, requests: 64 } : { rounds: backend === 'memory' ? 60 : 30, requests: 2000 };
      const figures = await measureInProcess(environmentOf(place), { name, ...size });
      await place.drop();
      yield rowOf(name, backend, figures);
    }
    if (backend === 'memory') {
      const size = isShort ? { rounds: 1, requests: 64 } : { rounds: 60, requests: 2000 };
      yield rowOf('what storage takes of a POST', backend, await measureMemoryWrites(size));
    }
  }
}

/**
 * @param {string} name
 * @param {string} backend
 * @param {{ least: number, median: number }} micros
 * @returns {Row}
 */
function rowOf(name, backend, { least, median }) {
  return {
    question: `${title}: ${name}`,
    backend,
    ours: `${least.toFixed(1)} µs`,
    remark: `half of the rounds took more than ${median.toFixed(1)} µs`,
  };
}
