// Keeps double braces in prose as they are: pages are compiled as Vue templates, which would evaluate what is in them.

/** Registers the rule with the Markdown renderer. @param {import('vitepress').MarkdownRenderer} markdown */
export function keepBraces({ renderer }) {
  for (const kind of ['text', 'code_inline']) {
    const render = renderer.rules[kind];
    if (render === undefined) throw new Error(`the Markdown renderer has no rule for ${kind}`);
    renderer.rules[kind] = (...args) => render(...args).replaceAll('{{', '&#123;&#123;');
  }
}
