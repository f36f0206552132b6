// The benchmarks keep working: a run with small data and few requests gets an answer to each question. What it
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

test('each question of the benchmarks gets an answer on SQLite and PostgreSQL', { timeout: 240_000 }, async () => {
  const { code, output } = await bench('--short', '--backend', 'sqlite,postgresql');
  expect({ code, output }).toMatchObject({ code: 0 });
  for (const name of questions) {
    const { title } = (await import(`../../bench/${name}.mjs`)) as { readonly title: string };
    expect(output).toContain(`| ${title}`);
  }
});

test('the memory backend is filled before it is measured', async () => {
  const { code, output } = await bench('--short', '--backend', 'memory', 'get-one');
  expect({ code, output }).toMatchObject({ code: 0 });
  expect(output).toMatch(/\| GET one record \| memory \| [\d,]+\/s \| bare [\d,]+\/s \|/);
});

test('a question that does not exist is refused with the list of those that do', async () => {
  const { code, output } = await bench('--short', 'get-none');
  expect(code).toBe(2);
  expect(output).toContain('There is no question called get-none.');
  expect(output).toContain('filter-sort');
});
