// Runs tests as vitest does, and reports those that need a missing program as skipped, with the reason.
import { TestRunner } from 'vitest';
import { MissingProgram } from './missing-program.ts';

declare module 'vitest' {
  interface TaskMeta {
    /** Why no test of a suite was run. */
    skipReason?: string;
  }
}

type Test = Parameters<TestRunner['onAfterRunTask']>[0];
type Suite = Parameters<TestRunner['onAfterRunSuite']>[0];

export default class Runner extends TestRunner {
  override onAfterRunTask(test: Test): void {
    const reason = findReason(test);
    if (reason !== undefined) {
      test.mode = 'skip';
      // The note is what `context.skip` leaves as well.
      Object.assign(test.result!, { state: 'skip', note: reason, errors: undefined });
    }
    super.onAfterRunTask(test);
  }

  override async onAfterRunSuite(suite: Suite): Promise<void> {
    const reason = findReason(suite);
    if (reason !== undefined) {
      // The errors go: a hook that closes what the first one could not open may have failed as well.
      Object.assign(suite.result!, { state: 'skip', errors: undefined });
      suite.meta.skipReason = reason;
    }
    await super.onAfterRunSuite(suite);
  }
}

/** Returns the message of the error by which the task failed first, when that names a missing program. */
function findReason({ result }: Test | Suite): string | undefined {
  const first = result?.state === 'fail' ? result.errors?.[0] : undefined;
  return first?.name === MissingProgram.name ? first.message : undefined;
}
