// Prints the skipped tests at the end of a run, grouped by reason: a test that did not run must not look like one that passed.
import type { Reporter, TestCase, TestModule } from 'vitest/node';

export default class SkipReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const counts = new Map<string, number>();
    for (const module of modules) {
      for (const test of module.children.allTests('skipped')) {
        const reason = reasonOf(test);
        counts.set(reason, (counts.get(reason) ?? 0) + 1);
      }
    }
    if (counts.size === 0) return;
    console.log('\nSkipped tests by reason:');
    for (const [reason, count] of [...counts].toSorted(([, a], [, b]) => b - a)) console.log(`  ${count}  ${reason}`);
  }
}

/** Returns the note of the test, the reason of its suite, or the name of the suite with the condition. */
function reasonOf(test: TestCase): string {
  const result = test.result();
  if (result.state === 'skipped' && result.note !== undefined) return result.note;
  for (let parent = test.parent; ; parent = parent.parent) {
    const { skipReason } = parent.meta();
    if (skipReason !== undefined) return skipReason;
    if (parent.type === 'module') return `${parent.relativeModuleId}: ${test.fullName}`;
    if (parent.options.mode === 'skip') return parent.fullName;
  }
}
