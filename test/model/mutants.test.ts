// The faults that `npm run prove:mutants` plants, one by one, have to fit the source as it is.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { mutants } from '../../scripts/mutants.mjs';

describe('the planted faults', () => {
  it.each(mutants)('fit: $name', ({ file, find }) => {
    const text = readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
    expect(text.split(find)).toHaveLength(2);
  });

  it('are as many as the promises say', () => {
    const promises = readFileSync(new URL('../../docs/promises.md', import.meta.url), 'utf8');
    expect(promises).toContain(`plants [${mutants.length} faults](#planted-faults)`);
  });

  it('are at least forty, each with a name of its own', () => {
    expect(new Set(mutants.map(({ name }) => name)).size).toBe(mutants.length);
    expect(mutants.length).toBeGreaterThanOrEqual(40);
  });
});
