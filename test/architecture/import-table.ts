// Reads the tables of docs/architecture.md: the page people read is the data the checks run on.

export interface ImportTable {
  /** Room → what it may import; a star stands for every room of a family, `backends/*`. */
  readonly rooms: ReadonlyMap<string, readonly string[]>;
  /** Package → the rooms or folders it may be imported in. */
  readonly packages: ReadonlyMap<string, readonly string[]>;
}

/**
 * The two tables of the page.
 *
 * @throws Error when one is missing, empty or names something twice
 */
export function parseImportTable(markdown: string): ImportTable {
  return {
    rooms: parseTable(markdown, 'Room'),
    packages: parseTable(markdown, 'Package'),
  };
}

/** The table whose first column has this heading: name → names in the second column, all of them in backticks. */
function parseTable(markdown: string, heading: string): ReadonlyMap<string, readonly string[]> {
  const lines = markdown.split('\n');
  const start = lines.findIndex((line) => cellsOf(line)[0] === heading);
  if (start === -1) throw new Error(`There is no table headed "${heading}".`);
  const rows = new Map<string, readonly string[]>();
  for (const line of lines.slice(start + 2)) {
    if (!line.startsWith('|')) break;
    const [first = '', second = ''] = cellsOf(line);
    const [name] = namesIn(first);
    if (name === undefined) throw new Error(`A row of "${heading}" has no name in backticks: ${line}`);
    if (rows.has(name)) throw new Error(`"${heading}" has two rows for ${name}.`);
    rows.set(name, namesIn(second));
  }
  if (rows.size === 0) throw new Error(`The table headed "${heading}" is empty.`);
  return rows;
}

function cellsOf(line: string): readonly string[] {
  if (!line.startsWith('|')) return [];
  return line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim());
}

function namesIn(cell: string): readonly string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].flatMap(([, name]) => (name === undefined ? [] : [name]));
}

/** Whether a room or folder is one of the names: itself, below it, or of its family for `family/*`. */
export function covers(names: readonly string[], place: string): boolean {
  return names.some((name) => {
    if (name.endsWith('/*')) return place.startsWith(name.slice(0, -1));
    return place === name || place.startsWith(`${name}/`);
  });
}
