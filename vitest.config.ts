// How the tests run: one project for everything in this process, one for tests that start real server processes.
import { defineConfig } from 'vitest/config';

/** Tests that start processes and listen on ports; they run after the others, one file at a time, with more patience. */
const processTests = [
  'bench',
  'cli',
  'conformance',
  'console',
  'durability',
  'examples',
  'faults',
  'process',
  'sync',
].map((room) => `test/${room}/**/*.test.ts`);

export default defineConfig({
  test: {
    // Native addons and process-wide state stay apart: a process per test file, not a thread.
    pool: 'forks',
    globalSetup: ['test/support/global-setup.ts', 'test/support/redis-setup.ts'],
    reporters: ['default'],
    restoreMocks: true,
    unstubEnvs: true,
    projects: [
      {
        extends: true,
        test: {
          name: 'code',
          include: ['test/**/*.test.ts'],
          exclude: processTests,
          testTimeout: 15_000,
          hookTimeout: 15_000,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: 'processes',
          include: processTests,
          fileParallelism: false,
          // Real processes on a busy machine: one that fails once and not again is shown as such in the report.
          retry: 1,
          testTimeout: 60_000,
          hookTimeout: 60_000,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
