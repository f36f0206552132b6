#!/usr/bin/env node
// The executable: runs the built command line.
import { existsSync } from 'node:fs';
import process from 'node:process';

const main = new URL('../dist/cli/main.js', import.meta.url);

if (existsSync(main)) {
  const { run } = await import(main.href);
  process.exitCode = await run(process.argv.slice(2));
} else {
  process.stderr.write('coffer: this copy is not built yet. Run "npm run build" first.\n');
  process.exitCode = 1;
}
