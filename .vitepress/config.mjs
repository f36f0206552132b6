// The documentation site: README.md as the front page, every other Markdown page below its own path, and a search that
// runs in the browser. `npm run docs` writes it to the folder `site`.
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitepress';
import { anchorOf } from './anchors.mjs';
import { keepBraces } from './braces.mjs';
import { adaptLinks } from './links.mjs';
import { readSidebar } from './sidebar.mjs';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));

export default defineConfig({
  title: 'Coffer',
  description: 'A durable HTTP/JSON store with permissions and synchronisation',
  lang: 'en',
  outDir: './site',
  cacheDir: './node_modules/.vitepress',
  srcExclude: ['**/node_modules/**', 'coverage/**', 'data/**', '**/dist/**', 'site/**', 'src/**', 'test/**'],
  rewrites: { 'README.md': 'index.md', ':folder(.*)/README.md': ':folder/index.md' },
  // A page may show a service at work on this machine.
  ignoreDeadLinks: 'localhostLinks',
  markdown: {
    anchor: { slugify: anchorOf },
    config: (markdown) => {
      adaptLinks(markdown, root);
      keepBraces(markdown);
    },
  },
  // The index of the search is one file, loaded at the first search.
  vite: { build: { chunkSizeWarningLimit: 2000 } },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    nav: [
      { text: 'Getting started', link: '/docs/guides/getting-started' },
      { text: 'Documentation', link: '/docs/' },
      { text: 'Changes', link: '/CHANGELOG' },
    ],
    sidebar: readSidebar(root),
  },
});
