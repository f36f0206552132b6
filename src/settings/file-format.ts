// How settings are written into INI and TOML files, so that reading gives the same text again.
import { unwrap } from './readers.ts';

export type FileFormat = 'ini' | 'toml';

/** Returns the lines that set a key to a text; the key is one that `canHoldKey`. */
export function formatAssignment(key: string, text: string, format: FileFormat): readonly string[] {
  return format === 'ini' ? formatIni(key, text) : [`${formatTomlKey(key)} = ${formatTomlValue(text)}`];
}

/** Returns whether a file of the format can hold a setting of that name: INI files have no way to quote names. */
export function canHoldKey(key: string, format: FileFormat): boolean {
  return format === 'toml' || (key === key.trim() && /^[^#;[\r\n=:][^\r\n=:]*$/.test(key));
}

/** Returns a text as lines of comments. */
export function formatComment(text: string): readonly string[] {
  return text.split(lineBreak).map((line) => `# ${escapeControls(line)}`.trimEnd());
}

/** Line breaks of the INI reader. */
const lineBreak = /\r\n|\n|\r/;

/** TOML allows control characters nowhere. */
function escapeControls(text: string): string {
  return text.replaceAll(
    /(?!\t)\p{Cc}/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

function formatIni(key: string, text: string): readonly string[] {
  const escaped = quoteWhereNeeded(text).replaceAll('%', '%%');
  const lines = escaped.split('\n');
  if (lines.length === 1) return [`${key} = ${escaped}`.trimEnd()];
  return [`${key} =`, ...lines.map((line) => `    ${line}`)];
}

/** Blanks at the ends of lines, and lines that would be read as comments or dropped, survive in JSON spelling alone. */
function quoteWhereNeeded(text: string): string {
  if (!/[\r\n]/.test(text)) return text === text.trim() ? text : JSON.stringify(text);
  const isPlain = text.split(lineBreak).every((line) => line === line.trim() && /^[^#;]/.test(line));
  if (isPlain && !text.includes('\r')) return text;
  return tryArray(text) ?? JSON.stringify(text);
}

/** Returns a JSON array in one line; lists in a text of their own would be words. */
function tryArray(text: string): string | undefined {
  if (!text.startsWith('[')) return undefined;
  try {
    return JSON.stringify(JSON.parse(text));
  } catch {
    return undefined;
  }
}

function formatTomlKey(key: string): string {
  return /^[\w-]+$/.test(key) ? key : quoteToml(key);
}

function formatTomlValue(text: string): string {
  if (/^(?:true|false|0|-?[1-9]\d{0,14})$/.test(text)) return text;
  // The reader of TOML files gives texts in quotes of JSON, and `null`, the meaning that they have without those.
  return quoteToml(text === 'null' || text.startsWith('"') ? unwrap(text) : text);
}

/** JSON escapes are those of TOML, which also wants DEL and the controls after it escaped. */
function quoteToml(text: string): string {
  return escapeControls(JSON.stringify(text));
}
