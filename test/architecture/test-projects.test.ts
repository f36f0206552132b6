// The short run excludes long test files on the command line. Vitest ignores that in a project with an `exclude` of its own.
import { expect, it } from 'vitest';
import config from '../../vitest.config.ts';

it('projects of tests have no exclusions of their own', () => {
  const projects = config.test?.projects ?? [];
  expect(projects).toHaveLength(2);
  for (const project of projects) {
    expect(project).toMatchObject({ test: { include: [expect.any(String)] } });
    expect(project).not.toHaveProperty('test.exclude');
  }
});
