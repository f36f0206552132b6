// Compares every backend with a bare Node.js server that sends the same response, and with one that sends the same headers as
// well.
import { contest, ratioOf } from './contest.mjs';
import { headers as json, sample, undressed } from './client.mjs';
import { formatCpu, formatRate } from './rows.mjs';

/**
 * @typedef {import('./workbench.mjs').Workbench} Workbench
 * @typedef {import('./places.mjs').Backend} Backend
 * @typedef {import('./load.mjs').Request} Request
 *
 * @typedef {object} Question
 * @property {string} title
 * @property {import('./data.mjs').Plan} plan
 * @property {readonly Backend[]} backends
 * @property {Partial<Record<Backend, number>>} targets least ratio
 * @property {(url: string) => Promise<Request[]>} requests
 */

/** @param {Workbench} bench @param {Question} question @returns {Promise<import('./rows.mjs').Row[]>} */
export async function compareWithBare(bench, { title, plan, backends, targets, requests: requestsAt }) {
  const contestants = [];
  let answer;
  for (const backend of bench.among(...backends)) {
    const program = await bench.server(backend, plan);
    const requests = await requestsAt(program.url);
    answer = await sample(program.url, requests[0]);
    contestants.push({ name: backend, program, requests, headers: json, expected: [answer.status] });
  }
  if (answer === undefined) return [];
  const { requests } = contestants.at(-1) ?? { requests: [] };
  const others = { headers: json, requests, expected: [answer.status] };
  contestants.push(
    { ...others, name: 'bare', program: await bench.bare(undressed(answer)) },
    { ...others, name: 'all headers', program: await bench.bare(answer) },
  );
  const figures = await contest(bench, contestants);
  await bench.stopAll();
  const bare = figures.get('bare');
  const dressed = figures.get('all headers');
  if (bare === undefined || dressed === undefined) return [];
  return bench.among(...backends).flatMap((backend) => {
    const ours = figures.get(backend);
    const target = targets[backend];
    if (ours === undefined) return [];
    return {
      question: title,
      backend,
      ours: formatRate(ours.perSecond),
      comparedWith: `bare ${formatRate(bare.perSecond)}`,
      value: ratioOf(ours, bare),
      ...(target === undefined ? {} : { target: { atLeast: target } }),
      latency: ours,
      cpu: formatCpu(ours, `bare ${formatCpu(bare)}`),
      remark: `${ratioOf(ours, dressed).toFixed(2)} of bare with our headers; generator ${percent(ours.busy)} busy, with bare ${percent(bare.busy)}`,
    };
  });
}

/** @param {number} share */
const percent = (share) => `${(share * 100).toFixed(0)} %`;
