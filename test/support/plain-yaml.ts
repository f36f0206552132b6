// Reads the plain part of YAML that our Compose files keep to: maps and lists in blocks, lists of texts in one line,
// anchors, and texts. Everything else is an error, also words that YAML takes for true and false without saying so.

export type Yaml = string | undefined | readonly Yaml[] | { readonly [key: string]: Yaml };

interface Line {
  readonly indent: number;
  readonly text: string;
}

/** The value of a document. All scalars are texts; `undefined` where nothing stands. */
export function parseYaml(document: string): Yaml {
  const lines = document
    .split('\n')
    .filter((line) => !/^\s*(?:#|$)/.test(line))
    .map((line) => ({ indent: line.search(/\S/), text: line.trim() }));
  const reader = new Reader(lines);
  const value = reader.block(0);
  reader.requireEnd();
  return value;
}

/** What is below a key, or at a path of keys; `undefined` when there is nothing. */
export function at(value: Yaml, ...keys: readonly string[]): Yaml {
  return keys.reduce<Yaml>((found, key) => Object.fromEntries(entriesOf(found))[key], value);
}

/** The entries of a map; none of anything else. */
export function entriesOf(value: Yaml): readonly (readonly [string, Yaml])[] {
  return typeof value === 'object' && !Array.isArray(value) ? Object.entries(value) : [];
}

class Reader {
  readonly #lines: Line[];
  readonly #anchors = new Map<string, Yaml>();
  #at = 0;

  constructor(lines: Line[]) {
    this.#lines = lines;
  }

  requireEnd(): void {
    const line = this.#lines[this.#at];
    if (line !== undefined) throw new Error(`not where it belongs: ${line.text}`);
  }

  block(indent: number): Yaml {
    return this.#lines[this.#at]?.text.startsWith('- ') === true ? this.#list(indent) : this.#map(indent);
  }

  #list(indent: number): Yaml {
    const items: Yaml[] = [];
    for (let line = this.#lineAt(indent); line?.text.startsWith('- ') === true; line = this.#lineAt(indent)) {
      const text = line.text.slice(2);
      if (keyed.test(text)) {
        // A map whose first key stands in the line of the dash.
        this.#lines[this.#at] = { indent: indent + 2, text };
        items.push(this.#map(indent + 2));
      } else {
        this.#at++;
        items.push(scalar(text));
      }
    }
    return items;
  }

  #map(indent: number): Yaml {
    const merged: (readonly [string, Yaml])[] = [];
    const own = new Map<string, Yaml>();
    for (let line = this.#lineAt(indent); line !== undefined; line = this.#lineAt(indent)) {
      const [, key, text] = keyed.exec(line.text) ?? [];
      if (key === undefined) throw new Error(`not a key with a value: ${line.text}`);
      this.#at++;
      const value = this.#value(text, indent);
      if (key === '<<') merged.push(...entriesOf(value));
      else if (own.has(key)) throw new Error(`${key} is there twice`);
      else own.set(key, value);
    }
    return Object.fromEntries([...merged, ...own]);
  }

  #value(text: string | undefined, indent: number): Yaml {
    if (text?.startsWith('*') === true) {
      const name = text.slice(1);
      if (!this.#anchors.has(name)) throw new Error(`there is no anchor ${name}`);
      return this.#anchors.get(name);
    }
    if (text !== undefined && !text.startsWith('&')) return text.startsWith('[') ? flowList(text) : scalar(text);
    const next = this.#lines[this.#at];
    const value = next !== undefined && next.indent > indent ? this.block(next.indent) : undefined;
    if (text !== undefined) this.#anchors.set(text.slice(1), value);
    return value;
  }

  #lineAt(indent: number): Line | undefined {
    const line = this.#lines[this.#at];
    return line?.indent === indent ? line : undefined;
  }
}

const keyed = /^([\w.<-]+):(?: +(.+))?$/;

function flowList(text: string): Yaml {
  if (!/^\[(?:'[^']*'(?:, )?)*\]$/.test(text)) throw new Error(`not a list of texts in single quotes: ${text}`);
  return [...text.matchAll(/'([^']*)'/g)].map(([, item = '']) => item);
}

function scalar(text: string): string {
  if (/^'[^']*'$/.test(text)) return text.slice(1, -1);
  const isPlain = /^[\w./$]/.test(text) && !/: | #|:$/.test(text);
  if (!isPlain) throw new Error(`not a plain text: ${text}`);
  if (/^(?:yes|no|on|off|y|n|null|0x.*|0\d+)$/i.test(text)) throw new Error(`write it in quotes: ${text}`);
  return text;
}
