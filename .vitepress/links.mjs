// Adapts the links of Markdown pages to the site. Folders lead to their README. Source files are not pages of the site
// and its address of the repository may change, so a link to one becomes its text with the path as a tooltip.
import { existsSync } from 'node:fs';
import path from 'node:path';

/**
 * @typedef {import('vitepress').MarkdownRenderer} Markdown
 * @typedef {Parameters<Markdown['renderer']['render']>[0][number]} Token
 */

/** Registers the rule with the Markdown parser. @param {Markdown} markdown @param {string} root */
export function adaptLinks(markdown, root) {
  markdown.core.ruler.push('adapt-links', ({ tokens, env }) => {
    const folder = path.posix.dirname(env.relativePath);
    for (const { children } of tokens) adaptChildren(children ?? [], folder, root);
  });
}

/** @param {Token[]} tokens @param {string} folder of the page @param {string} root */
function adaptChildren(tokens, folder, root) {
  let isSource = false;
  for (const token of tokens) {
    if (token.type === 'link_open') {
      const href = token.attrGet('href') ?? '';
      const target = findTarget(href, folder, root);
      isSource = target?.kind === 'source';
      if (target?.kind === 'page') token.attrSet('href', target.href);
      if (target?.kind === 'source') replaceByHtml(token, `<span class="source-file" title="${target.path}">`);
    } else if (token.type === 'link_close' && isSource) {
      replaceByHtml(token, '</span>');
    }
  }
}

/**
 * Returns where a link leads in the site; `undefined` for addresses with a scheme and for anchors of the same page.
 *
 * @param {string} href
 * @param {string} folder
 * @param {string} root
 * @returns {{ kind: 'page', href: string } | { kind: 'source', path: string } | undefined}
 */
function findTarget(href, folder, root) {
  if (/^(?:[a-z]+:|#|\/)/.test(href)) return undefined;
  const suffix = href.includes('#') ? href.slice(href.indexOf('#')) : '';
  const file = decodeURI(href.slice(0, href.length - suffix.length));
  const place = path.posix.join(folder, file);
  if (file.endsWith('.md')) return { kind: 'page', href: file.replace(/README\.md$/, 'index.md') + suffix };
  if (existsSync(path.join(root, place, 'README.md'))) {
    return { kind: 'page', href: path.posix.join(file, 'index.md') + suffix };
  }
  return { kind: 'source', path: place.replace(/\/$/, '') };
}

/** @param {Token} token @param {string} html */
function replaceByHtml(token, html) {
  token.type = 'html_inline';
  token.tag = '';
  token.content = html;
}
