// A test proves every statement of the specification, and docs/conformance.md lists the tests.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { formatNumber, formatPage, pageFile } from './page.ts';
import { chapters } from './statements.ts';
import { findTags, projectRoot, readTags } from './tags.ts';

const tags = readTags();
const numbers = chapters.flatMap(({ statements }) => Object.keys(statements).map(Number));

describe('The statements', () => {
  test('are numbered from 1 to 264, and each is one sentence.', () => {
    expect(numbers).toEqual(Array.from({ length: 264 }, (_, index) => index + 1));
    for (const sentence of chapters.flatMap(({ statements }) => Object.values(statements)))
      expect(sentence).toMatch(/^[^\n]+\.$/);
  });

  test('are all proved.', () => {
    const proved = new Set(tags.flatMap((tag) => tag.numbers));
    const open = numbers.filter((number) => !proved.has(number));
    expect(open.map(formatNumber)).toEqual([]);
  });

  test('make the page together with the tags: run "node scripts/write-docs.mjs" after a change.', () => {
    expect(readFileSync(path.join(projectRoot, pageFile), 'utf8')).toBe(formatPage());
  });
});

describe('The tags', () => {
  test('name statements that there are, once each.', () => {
    const known = new Set(numbers);
    const wrong = tags.filter((tag) => tag.numbers.some((number) => !known.has(number)));
    const repeated = tags.filter((tag) => new Set(tag.numbers).size < tag.numbers.length);
    expect([wrong, repeated]).toEqual([[], []]);
  });

  test('stand above something with a name.', () => {
    expect(tags.filter((tag) => tag.test === undefined)).toEqual([]);
  });

  test('find the name of whatever declares tests.', () => {
    const forms: readonly (readonly [string, string | undefined])[] = [
      [`it('does it.', () => {`, 'does it.'],
      [`test(\n  "does 'it'.",`, `does 'it'.`],
      ['describe(`all of ${what} on ${name}`, () => {', 'all of … on …'],
      [`describeScenarios(\n  'a topic',\n  [`, 'a topic'],
      [`{\n  name: 'It is.',\n  request:`, 'It is.'],
      [`{ name: 'It is\\'nt.', request:`, `It is'nt.`],
      [`...list.map(() => ({\n  name: 'It is.',`, 'It is.'],
      [`// More.\nfinds('Equality is typed.', numbers, {`, 'Equality is typed.'],
      [`storageCase('a list', async () => {`, 'a list'],
      [`permissionCase(\n  name, async`, undefined],
      [`['a row', [1], true],`, 'a row'],
      [`[\n  'a row',\n  [1],\n],`, 'a row'],
      [`it.each([400, 401])('answers %i.', async`, 'answers ….'],
      [`it.each<readonly [string]>([\n  ['no name'],\n])('decides %s.', async`, 'decides ….'],
      [`describe.each(backends)('on $name', () => {`, 'on $name'],
      [`const name = 'nothing';`, undefined],
    ];
    for (const [code, name] of forms)
      expect(findTags('x.ts', `  // Proves S-001, S-264.\n${code}`), code).toEqual([
        { numbers: [1, 264], file: 'x.ts', line: 1, test: name },
      ]);
  });

  test('show names that are no sentences by themselves with those of the suites around them.', () => {
    const lines = [
      'describe(`The list of ${kind}`, () => {',
      '  // Proves S-001.',
      `  it('is empty.', () => {});`,
      '});',
    ];
    const named = (text: string): string | undefined => findTags('x.ts', text)[0]?.test;
    expect(named(lines.join('\n'))).toBe('The list of … is empty.');
    expect(named(lines.join('\n').replace('is empty', 'It is empty'))).toBe('The list of …: It is empty.');
    expect(named(lines.join('\n').replace('is empty', 'A list is empty'))).toBe('A list is empty.');
    expect(named(['describe("x", () => {});', ...lines.slice(1)].join('\n'))).toBe('x is empty.');
    expect(named(lines.slice(1).join('\n'))).toBe('is empty.');
  });

  test('are refused when they are nearly right, rather than overlooked.', () => {
    const attempts = ['// Proves S-1.', '// proves S-001.', '// Proves S-001', 'x(); // Proves S-001.'];
    for (const attempt of attempts) expect(() => findTags('x.ts', `${attempt}\ntest('x.',`)).toThrow('x.ts:1');
  });
});
