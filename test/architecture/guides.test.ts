// What guides have to tell because the specification leaves it to documentation.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { projectRoot } from './source-tree.ts';

/** A section of the guide, on one line. */
function readSection(title: string): string {
  const guide = readFileSync(path.join(projectRoot, 'docs/guides/authentication.md'), 'utf8');
  const [, section = ''] = new RegExp(`^## ${title}$(.*?)^## `, 'ms').exec(guide) ?? [];
  return section.replaceAll(/\s+/g, ' ');
}

describe('The guide to authentication', () => {
  // Proves S-193.
  it('says what a good token is: long, random, of one user, and kept.', () => {
    const section = readSection('Basic');
    for (const words of ['at least 16 random bytes', 'such as a UUID', 'another one for each user', 'keep it'])
      expect(section).toContain(words);
  });

  // Proves S-194.
  it('warns that a token that others know makes data half public.', () => {
    expect(readSection('Basic')).toMatch(/token that others know.*half public/);
  });
});
