// Writes the pages of docs/reference that are made from tables in the code. Build first.
import { mkdirSync, writeFileSync } from 'node:fs';
import { builtInPlugins } from '../dist/app/plugins.js';
import { formatPolicyReference } from '../dist/app/policy-reference.js';
import { formatReference } from '../dist/settings/docs.js';

const pages = { 'settings.md': formatReference(builtInPlugins), 'policies.md': formatPolicyReference() };

const folder = new URL('../docs/reference/', import.meta.url);
mkdirSync(folder, { recursive: true });
for (const [name, text] of Object.entries(pages)) {
  writeFileSync(new URL(name, folder), text);
  console.log(`docs/reference/${name}`);
}
