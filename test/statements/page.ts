// The page docs/conformance.md: every statement with the tests that prove it.
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { chapters, type Chapter } from './statements.ts';
import { projectRoot, readTags, type Tag } from './tags.ts';

/** Path of the page from the root of the project. */
export const pageFile = 'docs/conformance.md';

const introduction = `# Conformance

<!-- Written by scripts/write-docs.mjs from test/statements and from the tags of tests. -->

The statements of the founding specification of the protocol, as Coffer behaves with default settings, and the tests that
prove them. Tests that run on several backends prove a statement on each of them. After a test is added or renamed, run
\`node scripts/write-docs.mjs\` to update this page.
`;

/** Returns the number in the format of tags and of the page. */
export function formatNumber(number: number): string {
  return `S-${String(number).padStart(3, '0')}`;
}

/** Returns the text of the page. */
export function formatPage(): string {
  const tags = readTags();
  return `${introduction}${chapters.map((chapter) => formatChapter(chapter, tags)).join('')}`;
}

/** Writes the page. */
export function writePage(): void {
  writeFileSync(path.join(projectRoot, pageFile), formatPage());
}

function formatChapter({ number, title, statements }: Chapter, tags: readonly Tag[]): string {
  const rows = Object.entries(statements).map(([key, sentence]) => {
    const statement = Number(key);
    const proofs = [...new Set(tags.filter(({ numbers }) => numbers.includes(statement)).map(formatProof))];
    const proof = proofs.length > 0 ? proofs.join('<br>') : 'not proved';
    return `| ${formatNumber(statement)} | ${sentence} | ${proof} |\n`;
  });
  return `\n## ${number}. ${title}\n\n| No. | Statement | Proved by |\n|---|---|---|\n${rows.join('')}`;
}

function formatProof({ file, test = '' }: Tag): string {
  const shown = test
    .replaceAll(/\s+/g, ' ')
    .replaceAll('<', '&lt;')
    .replaceAll(/[|*_`[\]]/g, '\\$&');
  return `${shown} ([${path.posix.basename(file)}](../${file}))`;
}
