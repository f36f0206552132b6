// Makes the sidebar of the index of the docs: each heading of docs/README.md is a section, each linked page an entry.
import { readFileSync } from 'node:fs';
import path from 'node:path';

/** Returns the sections. @param {string} root @returns {import('vitepress').DefaultTheme.SidebarItem[]} */
export function readSidebar(root) {
  const index = readFileSync(path.join(root, 'docs', 'README.md'), 'utf8');
  const [, ...sections] = index.split(/^## /m);
  return sections.map((section) => ({
    text: section.slice(0, section.indexOf('\n')),
    collapsed: false,
    items: [...section.matchAll(/^- \[([^\]]+)\]\(([^)]+\.md)\)/gm)].map(([, text = '', href = '']) => ({
      text,
      link: `/${path.posix
        .join('docs', href)
        .replace(/README\.md$/, 'index.md')
        .replace(/\.md$/, '')}`,
    })),
  }));
}
