// Stops `npm publish` while the package names a placeholder as its home: the top-level domain `example` is reserved and
// never resolves (RFC 2606).
import { readFileSync } from 'node:fs';
import process from 'node:process';

const { homepage } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
if (new URL(homepage).hostname.endsWith('.example')) {
  console.error(`package.json: homepage is the placeholder ${homepage}. Set homepage, repository and bugs first.`);
  process.exitCode = 1;
}
