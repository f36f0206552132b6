// The benchmarks keep working: a run with small data and few requests gets answers. What it
// measures means nothing, so nothing is said of figures.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { questions } from '../../bench/lib/questions.mjs';

const program = fileURLToPath(new URL('../../bench/run.mjs', import.meta.url));

async function bench(...args: readonly string[]): Promise<{ readonly code: unknown; readonly output: string }> {
  const child = spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  const [output, complaints, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ]);
  return { code, output: output + complaints };
}

/** Where each backend has something of its own; asking everything of all of them would take too long. */
const runs = [
  { backend: 'sqlite', names: questions.filter((name) => name !== 'workers') },
  { backend: 'postgresql', names: ['post-one', 'filter-sort', 'delete-large', 'workers'] },
  { backend: 'memory', names: ['get-one'] },
];

test.each(runs)('the benchmarks give answers on $backend', { timeout: 180_000 }, async ({ backend, names }) => {
  const { code, output } = await bench('--short', '--backend', backend, ...names);
  expect({ code, output }).toMatchObject({ code: 0 });
  const asked = output.split('\n').filter((line) => line.includes(`| ${backend} |`));
  for (const name of names) {
    const { title } = (await import(`../../bench/${name}.mjs`)) as { readonly title: string };
    expect(asked.filter((line) => line.startsWith(`| ${title}`))).not.toEqual([]);
  }
});

test('a question that does not exist is refused with the list of those that do', async () => {
  const { code, output } = await bench('--short', 'get-none');
  expect(code).toBe(2);
  expect(output).toContain('Unknown question: get-none.');
  expect(output).toContain('filter-sort');
});
