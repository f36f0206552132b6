// Writes the pages that are made from tables in the code: those of docs/reference and docs/conformance.md. Build first.
import { mkdirSync, writeFileSync } from 'node:fs';
import { loadAllBuiltIn } from '../dist/app/built-in-plugins.js';
import { builtInBackends } from '../dist/backends/built-in-backends.js';
import { formatPolicyReference } from '../dist/app/policy-reference.js';
import { formatReference } from '../dist/settings/docs.js';
import { withTestModule } from './test-modules.mjs';

const pages = {
  'settings.md': formatReference(builtInBackends, await loadAllBuiltIn()),
  'policies.md': formatPolicyReference(),
};

const folder = new URL('../docs/reference/', import.meta.url);
mkdirSync(folder, { recursive: true });
for (const [name, text] of Object.entries(pages)) {
  writeFileSync(new URL(name, folder), text);
  console.log(`docs/reference/${name}`);
}

await withTestModule('/test/statements/page.ts', ({ pageFile, writePage }) => {
  writePage();
  console.log(pageFile);
});
