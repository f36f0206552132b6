// CSV by RFC 4180: rows of cells, quoted where they hold quotes, separators or line ends. A cell is a text; a text that
// would be read as other JSON, or as a formula, is written with the quotes of JSON, so what is exported is imported unchanged.

export interface CsvRow {
  /** Number of the first line, from 1. */
  readonly line: number;
  readonly cells: readonly string[];
}

/** Returns the separator that the first line has most. */
export function separatorOf(text: string): string {
  const [first = ''] = text.split(/\r?\n/, 1);
  const count = (separator: string): number => first.split(separator).length;
  return [',', ';', '\t'].toSorted((a, b) => count(b) - count(a))[0] ?? ',';
}

/**
 * Returns the rows of a CSV text; empty lines are left out.
 *
 * @throws Error for a quote that does not end
 */
export function parseCsv(text: string, separator: string): readonly CsvRow[] {
  const rows: CsvRow[] = [];
  let cells: string[] = [];
  let line = 1;
  let start = 1;
  let at = text.startsWith('\u{feff}') ? 1 : 0;
  const end = (): void => {
    if (cells.length > 1 || cells[0] !== '') rows.push({ line: start, cells });
    cells = [];
  };
  while (at <= text.length) {
    if (cells.length === 0) start = line;
    let cell: string;
    if (text.charAt(at) === '"') {
      const close = endOfQuoted(text, at);
      if (close === -1) throw new Error(`Line ${line}: a quote does not end.`);
      cell = text.slice(at + 1, close).replaceAll('""', '"');
      line += cell.split('\n').length - 1;
      at = close + 1;
    } else {
      const from = at;
      while (at < text.length && text.charAt(at) !== separator && text.charAt(at) !== '\n') at += 1;
      cell = text.slice(from, at).replace(/\r$/, '');
    }
    cells.push(cell);
    if (text.charAt(at) === '\r') at += 1;
    if (at >= text.length || text.charAt(at) === '\n') {
      end();
      line += 1;
    } else if (text.charAt(at) !== separator) {
      throw new Error(`Line ${line}: expected a separator after a quote.`);
    }
    at += 1;
  }
  return rows;
}

function endOfQuoted(text: string, start: number): number {
  let at = start + 1;
  for (;;) {
    at = text.indexOf('"', at);
    if (at === -1 || text.charAt(at + 1) !== '"') return at;
    at += 2;
  }
}

export function formatCsvRow(cells: readonly string[]): string {
  return cells.map((cell) => (/[",;\t\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(',');
}

/** Texts that programs for spreadsheets would compute as formulas. */
const formula = /^\s*[=+\-@]/;

/** Returns the cell of a JSON value; an absent value has an empty cell. */
export function cellOfValue(text: string | undefined): string {
  if (text === undefined || !text.startsWith('"')) return text ?? '';
  const shown = String(JSON.parse(text));
  return valueOfCell(shown) === text && !formula.test(shown) ? shown : text;
}

/** Returns the name of a column from its cell, which has the quotes of JSON where a value would have them. */
export function nameOfCell(cell: string): string {
  const name = cell.trim();
  return name.startsWith('"') ? String(JSON.parse(valueOfCell(name) ?? '""')) : name;
}

/** Returns the JSON value of a cell: other JSON as it is written, and all else as a text; `undefined` for an empty cell. */
export function valueOfCell(cell: string): string | undefined {
  const text = cell.trim();
  if (text === '') return undefined;
  if (!/^(?:[-\d"[{]|true$|false$|null$)/.test(text)) return JSON.stringify(cell);
  try {
    JSON.parse(text);
    return text;
  } catch {
    // A text that begins like other JSON.
    return JSON.stringify(cell);
  }
}
