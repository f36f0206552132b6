// Lines of the log: reading them, the text of a line, and the search in loaded lines.
import { displayText, elementsOf, memberText, membersOf, previewText } from '../../core/json-text.ts';
import { wordsOf } from './settings.ts';

export interface LogLine {
  readonly id: string;
  /** Milliseconds since the epoch. */
  readonly time: number;
  readonly level: string;
  readonly message: string;
  /** What else the line says, as one line. */
  readonly details: string;
  /** Whether the line is of a request for files of the console, or for this area. */
  readonly isOwn: boolean;
  /** The line as JSON text. */
  readonly text: string;
}

/** Levels that the service filters by, from all lines to the fewest, with their labels. */
export const levels: ReadonlyMap<string, string> = new Map([
  ['debug', 'all lines'],
  ['info', 'information, warnings and errors'],
  ['warn', 'warnings and errors'],
  ['error', 'errors'],
]);

/** Maximum number of characters of the details. */
const detailsLimit = 300;

export function readLines(text: string): readonly LogLine[] {
  return elementsOf(memberText(text, 'data') ?? '[]').map(readLine);
}

function readLine(text: string): LogLine {
  const member = (name: string): string => displayText(memberText(text, name) ?? '""');
  const fields = memberText(text, 'fields') ?? '{}';
  const field = (name: string): string => displayText(memberText(fields, name) ?? '""');
  const isRequest = /^(?:sub)?request\.summary$/.test(member('message'));
  const search = field('querystring') === '' ? '' : `?${field('querystring')}`;
  return {
    id: member('id'),
    time: Number(member('time')),
    level: member('level'),
    message: readableText(isRequest ? `${field('method')} ${field('path')}${search}` : member('message')),
    details: readableText(
      isRequest ? `${field('code')} in ${field('t')} ms${userOf(field('uid'))}` : detailsOf(fields),
    ),
    isOwn: isRequest && /^\/v\d+\/(?:admin|operations)\//.test(field('path')),
    text: visibleText(text),
  };
}

/** Returns a visible text with shortened digests, such as those of user ids, which would fill the line. */
function readableText(text: string): string {
  return visibleText(text).replaceAll(/\b([\da-f]{8})[\da-f]{56}\b/g, '$1…');
}

/** Characters that change the order of the text around them, or are not seen at all. */
const invisible = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Returns a text with the escapes of JSON for characters that would hide or disguise other text. */
function visibleText(text: string): string {
  return text.replaceAll(invisible, (char) =>
    Array.from({ length: char.length }, (_value, index) => escapeUnit(char.charCodeAt(index))).join(''),
  );
}

function escapeUnit(unit: number): string {
  return `\\u${unit.toString(16).padStart(4, '0')}`;
}

function userOf(id: string): string {
  return id === '' || id === 'null' ? '' : ` · ${id.replace(/^(basicauth:[\da-f]{8})[\da-f]{56}$/, '$1…')}`;
}

function detailsOf(fields: string): string {
  const parts = membersOf(fields).map(({ key, text }) => `${key}=${previewText(text, 80)}`);
  const line = parts.join(' ');
  return line.length > detailsLimit ? `${line.slice(0, detailsLimit)}…` : line;
}

/** Returns the lines whose JSON contains all words. */
export function findLines(lines: readonly LogLine[], text: string): readonly LogLine[] {
  const words = wordsOf(text);
  if (words.length === 0) return lines;
  return lines.filter((line) => {
    const all = `${line.text} ${line.message} ${line.details}`.toLowerCase();
    return words.every((word) => all.includes(word));
  });
}

/** Returns the lines of both, newest first, each once. */
export function mergeLines(newer: readonly LogLine[], older: readonly LogLine[]): readonly LogLine[] {
  const known = new Set(older.map(({ id }) => id));
  return [...newer.filter(({ id }) => !known.has(id)), ...older].toSorted((a, b) => b.time - a.time);
}
