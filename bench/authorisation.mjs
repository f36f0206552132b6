// Does the number of groups of a user, or of objects shared with a user, affect the cost of a request? Compares the same
// request by users with ten and by users with 100,000.
import { contest, ratioOf } from './lib/contest.mjs';
import { headers } from './lib/client.mjs';
import { recordId, records, user } from './lib/data.mjs';
import { formatCount, formatCpu, formatRate } from './lib/rows.mjs';

export const title = 'authorisation of one GET';

/** @param {import('./lib/workbench.mjs').Workbench} bench @returns {AsyncGenerator<import('./lib/rows.mjs').Row>} */
export async function* run(bench) {
  const count = bench.size.isShort ? 1000 : 100_000;
  const plan = {
    records: count,
    groups: { fewGroups: 10, manyGroups: count },
    shared: { fewShares: 10, manyShares: count },
  };
  for (const backend of bench.among('memory', 'sqlite', 'postgresql')) {
    const program = await bench.server(backend, plan);
    // The first record is shared with both.
    const load = { program, requests: [{ path: `/v1${records}/${recordId(0)}` }], expected: [200] };
    const contestants = ['fewGroups', 'manyGroups', 'fewShares', 'manyShares'].map((name) => ({
      ...load,
      name,
      headers: { ...headers, authorization: user(name).authorization },
    }));
    // Few clients, so responses arrive within a round even if many memberships make them slow.
    const figures = await contest(bench, contestants, { rounds: Math.min(3, bench.size.rounds), connections: 4 });
    for (const [name, what] of [
      ['Groups', 'memberships of the user'],
      ['Shares', 'objects shared with the user'],
    ]) {
      const few = figures.get(`few${name}`);
      const many = figures.get(`many${name}`);
      if (few === undefined || many === undefined) continue;
      yield {
        question: `${title}, ${what}`,
        backend,
        ours: `${formatCount(count)}: ${formatRate(many.perSecond)}`,
        comparedWith: `10: ${formatRate(few.perSecond)}`,
        value: ratioOf(few, many),
        unit: '× the time',
        target: { atMost: 1.5 },
        latency: many,
        cpu: formatCpu(many, `ten ${formatCpu(few)}`),
      };
    }
    await bench.stop(program);
  }
}
