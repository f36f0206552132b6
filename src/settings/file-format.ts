// How settings are written into INI and TOML files, so that reading gives the same text again.

export type FileFormat = 'ini' | 'toml';

/** Returns the lines that set a key to a text. */
export function formatAssignment(key: string, text: string, format: FileFormat): readonly string[] {
  return format === 'ini' ? formatIni(key, text) : [`${formatTomlKey(key)} = ${formatTomlValue(text)}`];
}

/** Returns a text as lines of comments. */
export function formatComment(text: string): readonly string[] {
  return text.split('\n').map((line) => `# ${line}`.trimEnd());
}

function formatIni(key: string, text: string): readonly string[] {
  const escaped = quoteWhereNeeded(text).replaceAll('%', '%%');
  const lines = escaped.split('\n');
  if (lines.length === 1) return [`${key} = ${escaped}`.trimEnd()];
  return [`${key} =`, ...lines.map((line) => `    ${line.trim()}`)];
}

/** Blanks at the ends, and lines that would be read as comments or dropped, survive in JSON spelling alone. */
function quoteWhereNeeded(text: string): string {
  const isPlain =
    text === text.trim() && text.split('\n').every((line, index) => index === 0 || /^\s*[^\s#;]/.test(line));
  return isPlain ? text : JSON.stringify(text);
}

function formatTomlKey(key: string): string {
  return /^[\w-]+$/.test(key) ? key : JSON.stringify(key);
}

function formatTomlValue(text: string): string {
  return /^(?:true|false|0|-?[1-9]\d{0,14})$/.test(text) ? text : JSON.stringify(text);
}
