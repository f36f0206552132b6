// The settings in guides fit the file from `coffer init`, to which the guides tell readers to add them.
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { run, workingFolder } from './process.ts';

/** Returns what a page says to do with the file: a plugin to add, policies to set, and lines to add. */
function readInstructions(page: string): {
  readonly plugin: string;
  readonly policies: string | undefined;
  readonly lines: string;
} {
  const text = readFileSync(new URL(`../../${page}`, import.meta.url), 'utf8');
  const found =
    /\b[Aa]dd\s`(?<plugin>\w+)`\sto\s(?:the|its)\sline\s`includes`(?<rest>[^]*?)```ini\n(?<lines>[^]*?)```/.exec(text);
  const { plugin = '', rest = '', lines = '' } = found?.groups ?? {};
  return { plugin, policies: /`multiauth\.policies`\sto\s`(\w+)`/.exec(rest)?.[1], lines };
}

test.each([
  ['docs/guides/accounts.md', 'accounts'],
  ['docs/guides/attachments.md', 'attachments'],
  ['docs/guides/emailer.md', 'emailer'],
  ['docs/guides/quotas.md', 'quotas'],
  ['examples/todo/README.md', 'accounts'],
])('The settings in %s can be added to a new file.', async (page, plugin) => {
  const cwd = workingFolder();
  await run(['init'], { cwd });
  const file = join(cwd, 'config', 'coffer.ini');
  const instructions = readInstructions(page);
  expect(instructions.plugin).toBe(plugin);
  const { policies, lines } = instructions;
  const text = readFileSync(file, 'utf8').replace(/^includes = .*$/m, `$& ${plugin}`);
  writeFileSync(
    file,
    policies === undefined ? text : text.replace(/^multiauth\.policies = .*$/m, `multiauth.policies = ${policies}`),
  );
  appendFileSync(file, lines);
  const { code, out, err } = await run(['check', '--config', 'config/coffer.ini'], { cwd });
  expect([code, err]).toEqual([0, '']);
  expect(out).toMatch(new RegExp(`^ok +plugins: .*\\b${plugin}$`, 'm'));
});
