#!/usr/bin/env node
// The executable: runs the built command line.
import { existsSync } from 'node:fs';
import process from 'node:process';

if (existsSync(new URL('../dist/cli/main.js', import.meta.url))) {
  const { run } = await import('../dist/cli/main.js');
  process.exitCode = await run(process.argv.slice(2));
} else {
  process.stderr.write('coffer: this copy is not built yet. Run "npm run build" first.\n');
  process.exitCode = 1;
}
