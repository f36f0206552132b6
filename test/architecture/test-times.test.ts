// Tests measure no time that work takes: on a busy machine such a test fails although nothing is wrong. They count steps,
// compare counted work, or wait for events, and the limit of a test ends what never comes.
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { projectRoot } from './source-tree.ts';

/** An upper limit for a difference to a clock, within one statement. */
const timeLimit =
  /\bexpect\((?:(?!\bexpect\()[^;])*?\b(?:performance\.now|Date\.now|hrtime(?:\.bigint)?)\(\)[^;]*?\.toBeLess/;

function findTimeLimits(text: string): readonly string[] {
  return text.match(new RegExp(timeLimit, 'g')) ?? [];
}

describe('tests', () => {
  it('set no limit to the time that work takes', () => {
    const files = ['test', 'src/testing'].flatMap((folder) =>
      readdirSync(path.join(projectRoot, folder), { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.ts'))
        .map((name) => path.posix.join(folder, name.split(path.sep).join('/'))),
    );
    expect(files.length).toBeGreaterThan(300);
    const own = 'test/architecture/test-times.test.ts';
    const found = files
      .filter((file) => file !== own)
      .filter((file) => findTimeLimits(readFileSync(path.join(projectRoot, file), 'utf8')).length > 0);
    expect(found).toEqual([]);
  });

  it('are found when they do', () => {
    for (const text of [
      'expect(performance.now() - began).toBeLessThan(5000);',
      "expect(Date.now() - began, 'soon').toBeLessThanOrEqual(limitMs);",
      'expect(Number(process.hrtime.bigint() - began)).toBeLessThan(1);',
      'expect(\n  performance.now() -\n began).toBeLessThan(1);',
    ]) {
      expect(findTimeLimits(text), text).toHaveLength(1);
    }
    for (const text of [
      'expect(performance.now() - began).toBeGreaterThan(90);',
      'const now = Date.now();\nexpect(found).toBeLessThan(now);',
      'expect(a).toBe(1);\nconst began = performance.now();\nexpect(count).toBeLessThan(3);',
    ]) {
      expect(findTimeLimits(text), text).toEqual([]);
    }
  });
});
