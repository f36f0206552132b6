// The difference of two texts by lines, with the lines around each change. Long unchanged stretches are left out.
import { diffLines as compare } from 'diff';

export interface LineChange {
  readonly kind: 'same' | 'added' | 'removed';
  readonly text: string;
}

/** Lines that are shown before and after a change. */
const context = 3;
/** Texts with more differences than this are shown as removed and added as a whole. */
const maxDifferences = 4000;

export function diffLines(before: string, after: string): readonly LineChange[] {
  const parts = compare(endLine(before), endLine(after), { maxEditLength: maxDifferences });
  if (parts === undefined) return [...linesOf(before, 'removed'), ...linesOf(after, 'added')];
  return parts.flatMap(({ value, added, removed }, index) => {
    if (added) return linesOf(value, 'added');
    if (removed) return linesOf(value, 'removed');
    const lines = linesOf(value, 'same');
    const head = index === 0 ? 0 : context;
    const tail = index === parts.length - 1 ? 0 : context;
    if (lines.length <= head + tail + 1) return lines;
    const left = lines.length - head - tail;
    const note: LineChange = { kind: 'same', text: `… ${left} unchanged lines` };
    return [...lines.slice(0, head), note, ...lines.slice(lines.length - tail)];
  });
}

function endLine(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`;
}

function linesOf(text: string, kind: LineChange['kind']): readonly LineChange[] {
  if (text === '') return [];
  return text
    .replace(/\n$/, '')
    .split('\n')
    .map((line) => ({ kind, text: line }));
}
