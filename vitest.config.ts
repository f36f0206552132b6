// How the tests run: one project for everything in this process, one for tests that start real server processes.
import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

/** Folders of tests that start processes and listen on ports; they run after the others, with more patience. */
const processFolders = [
  'bench',
  'cli',
  'conformance',
  'console',
  'durability',
  'examples',
  'faults',
  'packages',
  'process',
  'sync',
].join('|');

export default defineConfig({
  test: {
    // Native addons and process-wide state stay apart: processes, not threads.
    pool: 'forks',
    // Half of the tests wait for servers much of their time: with two processors, three workers take a seventh less than two.
    maxWorkers: Math.ceil(availableParallelism() * 1.5),
    // The files of a process share the modules of `src`, which keep nothing between them: loading these anew for each
    // file was a quarter of all work.
    isolate: false,
    globalSetup: ['test/support/console-setup.ts', 'test/support/shared-postgresql.ts', 'test/support/redis-setup.ts'],
    reporters: ['default', './test/support/skip-reporter.ts'],
    runner: './test/support/runner.ts',
    restoreMocks: true,
    unstubEnvs: true,
    // The default of a second is too short for a busy machine.
    expect: { poll: { timeout: 60_000 } },
    projects: [
      {
        extends: true,
        test: {
          name: 'code',
          // Without `exclude`, which would replace that of the command line.
          include: [`test/!(${processFolders})/**/*.test.ts`],
          // A guard against tests that hang, and no statement about how long work takes: machines are slow and busy.
          testTimeout: 60_000,
          hookTimeout: 60_000,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: 'processes',
          include: [`test/@(${processFolders})/**/*.test.ts`],
          testTimeout: 180_000,
          hookTimeout: 180_000,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
