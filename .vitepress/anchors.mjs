// Anchors of headings, by the rule that code hosts apply to Markdown: the site, the hosts and the tests that check links
// agree on them.

/** Returns the anchor of a heading: lower case, punctuation removed, spaces as hyphens. @param {string} heading */
export function anchorOf(heading) {
  return heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
}
