// Writes the pages that are made from tables in the code: those of docs/reference and docs/conformance.md. Build first.
import { mkdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { createViteServer } from 'vitest/node';
import { loadAllBuiltIn } from '../dist/app/built-in-plugins.js';
import { formatPolicyReference } from '../dist/app/policy-reference.js';
import { formatReference } from '../dist/settings/docs.js';

const pages = { 'settings.md': formatReference(await loadAllBuiltIn()), 'policies.md': formatPolicyReference() };

const folder = new URL('../docs/reference/', import.meta.url);
mkdirSync(folder, { recursive: true });
for (const [name, text] of Object.entries(pages)) {
  writeFileSync(new URL(name, folder), text);
  console.log(`docs/reference/${name}`);
}

// The table of statements is made from the tests, which are not built: vitest's own server reads them.
const server = await createViteServer({
  root: fileURLToPath(new URL('..', import.meta.url)),
  configFile: false,
  appType: 'custom',
  logLevel: 'error',
  server: { middlewareMode: true, watch: null, ws: false },
  optimizeDeps: { noDiscovery: true },
});
try {
  const { pageFile, writePage } = await server.ssrLoadModule('/test/statements/page.ts');
  writePage();
  console.log(pageFile);
} finally {
  await server.close();
}
