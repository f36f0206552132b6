// Builds the files of the web console, when its sources are newer.
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import process from 'node:process';

/** Called by vitest once before all tests. */
export function setup(): void {
  const script = path.join(import.meta.dirname, '..', '..', 'scripts', 'build-console.mjs');
  execFileSync(process.execPath, [script, '--if-stale'], { stdio: 'inherit' });
}
