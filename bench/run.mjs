// Runs the benchmarks: each question on each backend, beside a bare `node:http` server in the same run.
//   npm run bench                all questions
//   npm run bench -- get-one     only those named
//   npm run bench -- --short     one short round, to see that they work
import process from 'node:process';
import { parseArgs } from 'node:util';
import { compare } from './lib/measure.mjs';
import { startBare, startServer } from './lib/programs.mjs';

const questions = ['get-one', 'poll', 'list-100', 'post-one'];
const backends = /** @type {const} */ (['memory', 'sqlite']);

const { values, positionals } = parseArgs({ allowPositionals: true, options: { short: { type: 'boolean' } } });
const unknown = positionals.filter((name) => !questions.includes(name));
if (unknown.length > 0) {
  console.error(`There is no benchmark called ${unknown.join(', ')}; there are ${questions.join(', ')}.`);
  process.exit(2);
}
const size = values.short ? { rounds: 1, seconds: 1, connections: 8 } : { rounds: 5, seconds: 4, connections: 32 };

console.log('| question | backend | requests/s | bare, requests/s | ratio | p50 ms | p99 ms |');
console.log('|---|---|---|---|---|---|---|');
for (const name of positionals.length > 0 ? positionals : questions) {
  const question = await import(`./${name}.mjs`);
  for (const backend of backends) {
    const server = await startServer(backend);
    const { load, answer } = await question.prepare(server.url);
    const bare = await startBare(answer);
    try {
      const { ours, bare: beside, ratio } = await compare(load, { ...load, url: bare.url }, size);
      const figures = [ours.perSecond.toFixed(0), beside.perSecond.toFixed(0), ratio.toFixed(2), ours.p50, ours.p99];
      console.log(`| ${question.title} | ${backend} | ${figures.join(' | ')} |`);
    } finally {
      await bare.stop();
      await server.stop();
    }
  }
}
