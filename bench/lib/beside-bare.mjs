// Questions of the form "how close to what Node.js can do": every backend beside a bare server that gives the same
// answer, and beside one that sends the same headers as well.
import { contest, ratioOf } from './contest.mjs';
import { headers as json, send } from './client.mjs';
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
export async function besideBare(bench, { title, plan, backends, targets, requests: requestsAt }) {
  const contestants = [];
  let answer;
  for (const backend of bench.among(...backends)) {
    const program = await bench.server(backend, plan);
    const requests = await requestsAt(program.url);
    answer = await ask(program.url, requests[0]);
    contestants.push({ name: backend, program, requests, headers: json, expected: [answer.status] });
  }
  if (answer === undefined) return [];
  const { status, headers, body } = answer;
  const { requests } = contestants.at(-1) ?? { requests: [] };
  const type = Object.entries(headers)
    .find(([name]) => name === 'content-type')
    ?.at(1);
  const length = { 'Content-Length': String(Buffer.byteLength(body)) };
  const strict = status === 304 ? {} : { ...(type === undefined ? {} : { 'Content-Type': type }), ...length };
  const others = { headers: json, requests, expected: [status] };
  contestants.push(
    { ...others, name: 'bare', program: await bench.bare({ status, headers: strict, body }) },
    { ...others, name: 'all headers', program: await bench.bare({ status, headers, body }) },
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
      beside: `bare ${formatRate(bare.perSecond)}`,
      value: ratioOf(ours, bare),
      ...(target === undefined ? {} : { target: { atLeast: target } }),
      latency: ours,
      cpu: formatCpu(ours, `bare ${formatCpu(bare)}`),
      remark: `${ratioOf(ours, dressed).toFixed(2)} of bare with our headers; generator ${percent(ours.busy)} busy, with bare ${percent(bare.busy)}`,
    };
  });
}

/** What the server answers to a request. @param {string} url @param {Request | undefined} request */
async function ask(url, request) {
  if (request === undefined) throw new Error('no request');
  const { status, headers: sent, text } = await send(url, request);
  const ofConnection = ['connection', 'keep-alive', 'date', 'transfer-encoding'];
  const headers = Object.fromEntries([...sent].filter(([name]) => !ofConnection.includes(name)));
  return { status, headers, body: text };
}

/** @param {number} share */
const percent = (share) => `${(share * 100).toFixed(0)} %`;
