// A model that asked the service for its opinion would agree with whatever that does.
import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

it('The model imports nothing of the service; only what starts one does.', () => {
  const folder = new URL('./', import.meta.url);
  const importing = readdirSync(folder).filter((name) => {
    if (name.endsWith('.test.ts')) return false;
    return /from '(?:\.\.\/)+src\//.test(readFileSync(new URL(name, folder), 'utf8'));
  });
  expect(importing).toEqual(['subject.ts']);
});
