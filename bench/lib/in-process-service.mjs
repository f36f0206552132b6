// Sends requests to a service in this process, and prints the processor time of each. Standard input provides the requests.
import { text } from 'node:stream/consumers';
import process from 'node:process';
import { createLogger, createService, loadSettings, RequestBody } from '../../dist/index.js';
import { median } from './contest.mjs';
import { asked, headers, look } from './in-process-requests.mjs';

/** @typedef {{ name: string, rounds: number, requests: number }} Task */

/** @type {Task} */
const { name, rounds, requests } = JSON.parse(await text(process.stdin));
const question = asked.find((each) => each.name === name);
if (question === undefined) throw new Error(`there is no question ${name}`);
const { request, atOnce, answers = 1 } = question;
const settings = loadSettings({ environment: { ...process.env, SVC_LOG_LEVEL: 'error' } });
const logger = createLogger({ level: 'error', format: 'json', name: 'bench' });
const service = await createService({ settings, logger });
const limits = { maxDepth: 100, maxValues: 100_000 };
let count = 0;

/** @param {import('./in-process-requests.mjs').Asked} asking */
async function ask({ method, path: target, body, headers: own }) {
  const answer = await service.answer({
    method,
    target,
    headers: own === undefined ? headers : { ...headers, ...own },
    body: body === undefined ? RequestBody.none : RequestBody.ofBytes(Buffer.from(body), limits),
    origin: 'http://localhost',
    clientAddress: '127.0.0.1',
    id: String(count++),
  });
  if (answer.status >= 400) throw new Error(`${answer.status} to ${method} ${target}`);
  return answer;
}

const { headers: told } = await ask(look);
const etag = String(told['ETag']);
const micros = [];
for (let round = 0; round < rounds; round++) {
  const before = process.cpuUsage();
  let left = Math.ceil(requests / answers);
  const done = left * answers;
  const asking = async () => {
    while (left-- > 0) await ask(request(left, etag));
  };
  await Promise.all(Array.from({ length: atOnce }, asking));
  const { user, system } = process.cpuUsage(before);
  micros.push((user + system) / done);
}
console.log(JSON.stringify({ least: Math.min(...micros), median: median(micros) }));
await service.close();
process.exit();
