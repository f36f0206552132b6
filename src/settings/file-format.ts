// Formats settings for INI and TOML files. Reading the result returns the same text.
import { unwrap } from './readers.ts';

export type FileFormat = 'ini' | 'toml';

/** Returns the lines that set a key to a text. The key must satisfy `canHoldKey`. */
export function formatAssignment(key: string, text: string, format: FileFormat): readonly string[] {
  return format === 'ini' ? formatIni(key, text) : [`${formatTomlKey(key)} = ${formatTomlValue(text)}`];
}

/** Whether the format can represent the name: INI files cannot quote names. */
export function canHoldKey(key: string, format: FileFormat): boolean {
  return format === 'toml' || (key === key.trim() && /^[^#;[\r\n=:][^\r\n=:]*$/.test(key));
}

/** Returns a text as comment lines. */
export function formatComment(text: string): readonly string[] {
  return text.split(lineBreak).map((line) => `# ${escapeControls(line)}`.trimEnd());
}

/** Line breaks of the INI reader. */
const lineBreak = /\r\n|\n|\r/;

/** Escapes control characters, which TOML forbids everywhere. */
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

/** Quotes text as JSON when lines have outer blanks, would be read as comments, or would be dropped. */
function quoteWhereNeeded(text: string): string {
  if (!/[\r\n]/.test(text)) return text === text.trim() ? text : JSON.stringify(text);
  const isPlain = text.split(lineBreak).every((line) => line === line.trim() && /^[^#;]/.test(line));
  if (isPlain && !text.includes('\r')) return text;
  return tryArray(text) ?? JSON.stringify(text);
}

/** Returns a JSON array on one line, or `undefined`: on several lines, a list would be read as words. */
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
  // The TOML reader keeps JSON strings and `null` as text, so they are unwrapped here.
  return quoteToml(text === 'null' || text.startsWith('"') ? unwrap(text) : text);
}

/** Quotes text with JSON escapes, which TOML shares, and escapes DEL and later controls, as TOML requires. */
function quoteToml(text: string): string {
  return escapeControls(JSON.stringify(text));
}
