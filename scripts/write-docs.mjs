// Writes the pages that are made from tables in the code: those of docs/reference and docs/conformance.md.
import { mkdirSync, writeFileSync } from 'node:fs';
import { withTestModule } from './test-modules.mjs';

const folder = new URL('../docs/reference/', import.meta.url);
mkdirSync(folder, { recursive: true });

/**
 * @param {string} name of a page
 * @param {string} text
 */
function writeReference(name, text) {
  writeFileSync(new URL(name, folder), text);
  console.log(`docs/reference/${name}`);
}

await withTestModule('/test/reference/settings-page.ts', async ({ formatReference }) => {
  writeReference('settings.md', await formatReference());
});
await withTestModule('/test/reference/policies-page.ts', ({ formatPolicyReference }) => {
  writeReference('policies.md', formatPolicyReference());
});
await withTestModule('/test/statements/page.ts', ({ pageFile, writePage }) => {
  writePage();
  console.log(pageFile);
});
