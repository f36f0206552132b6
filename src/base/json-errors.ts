// Messages for malformed JSON: line and column, what was found and what was expected. They quote one word of the text at
// most.

/** Descriptions of what the reader expects. */
export const expectations = {
  value: 'a value',
  'first value': 'a value or "]"',
  key: 'a name in double quotes',
  'first key': 'a name in double quotes or "}"',
  colon: '":"',
  item: '"," or "]"',
  member: '"," or "}"',
  digit: 'a digit',
  end: 'the end of the text',
} as const;

export type Expectation = keyof typeof expectations;

/** Returns the message for a text that is not JSON from index `at` on. */
export function describeMalformed(text: string, at: number, expected: Expectation): string {
  const { line, column } = positionOf(text, at);
  const found = at < text.length ? foundAt(text, at) : 'the end of the text';
  return `malformed JSON at line ${line}, column ${column}: expected ${expectations[expected]}, found ${found}${hintAt(text, at, expected)}`;
}

/** Returns the message for a malformed string that begins with the quote at index `start`. */
export function describeMalformedString(text: string, start: number): string {
  for (let at = start + 1; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 34) break;
    if (code < 32) return describeInString(text, at, 'a control character must be escaped, a line break as \\n');
    if (code !== 92) continue;
    if (!isEscape(text, at)) {
      return describeInString(text, at, 'unknown escape sequence; a backslash is written as \\\\');
    }
    at++;
  }
  return describeInString(text, start, 'this text has no closing double quote');
}

/** Whether an escape sequence begins at the backslash. Allocates nothing: a text may hold millions of them. */
function isEscape(text: string, at: number): boolean {
  const next = text.charCodeAt(at + 1);
  return next === letterU ? /^[\da-fA-F]{4}$/.test(text.slice(at + 2, at + 6)) : simpleEscapes.has(next);
}

const letterU = 117;
const simpleEscapes: ReadonlySet<number> = new Set(Array.from('"\\/bfnrt', (character) => character.charCodeAt(0)));

function describeInString(text: string, at: number, fault: string): string {
  const { line, column } = positionOf(text, at);
  return `malformed JSON at line ${line}, column ${column}: ${fault}`;
}

/** Returns line and column, both from 1; columns in UTF-16 units, as editors and `String` count them. */
function positionOf(text: string, at: number): { readonly line: number; readonly column: number } {
  let line = 1;
  let lineStart = 0;
  for (let feed = text.indexOf('\n'); feed !== -1 && feed < at; feed = text.indexOf('\n', feed + 1)) {
    line++;
    lineStart = feed + 1;
  }
  return { line, column: at - lineStart + 1 };
}

const maxWordChars = 20;

function foundAt(text: string, at: number): string {
  const word = /^[A-Za-z_$][\w$]*/.exec(text.slice(at, at + maxWordChars))?.[0];
  if (word !== undefined) return word;
  const character = String.fromCodePoint(text.codePointAt(at) ?? 0);
  return /^[\p{C}\p{Z}]$/u.test(character)
    ? `U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}`
    : JSON.stringify(character);
}

/** Returns a hint for a common mistake, or an empty text. */
function hintAt(text: string, at: number, expected: Expectation): string {
  const character = text[at];
  if (character === "'") return ' (JSON takes double quotes)';
  if (character === '/') return ' (JSON has no comments)';
  const isEnd = character === '}' || character === ']';
  if (isEnd && (expected === 'key' || expected === 'value') && previous(text, at) === ',') {
    return ` (JSON takes no comma before "${character}")`;
  }
  return '';
}

/** Returns the last character before the index that is not white space. */
function previous(text: string, at: number): string | undefined {
  let before = at - 1;
  while (before >= 0 && ' \n\r\t'.includes(text[before]!)) before--;
  return text[before];
}

/** Describes a text with too many levels or values. */
export function describeExcess(
  excess: 'levels' | 'values',
  { maxDepth, maxValues }: { readonly maxDepth: number; readonly maxValues: number },
): string {
  return excess === 'levels'
    ? `nested deeper than ${maxDepth} levels`
    : `more than ${maxValues} JSON values (max_json_values): each member, item and nested value counts`;
}
