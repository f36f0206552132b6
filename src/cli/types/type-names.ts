// Names and texts of generated TypeScript, made of texts that anyone may have chosen.

/** Names that generated types must not hide or repeat. */
const taken: ReadonlySet<string> = new Set(['Type', 'Array', 'Object', 'String', 'Number', 'Boolean', 'Record']);

/** Returns the text as the name of a type: `todo-list` becomes `TodoList`. */
export function typeNameOf(text: string): string {
  const words = text.split(/[^A-Za-z0-9]+/).filter((word) => word !== '');
  const name = words.map((word) => word[0]!.toUpperCase() + word.slice(1)).join('');
  const safe = /^[A-Z]/.test(name) ? name : `Type${name}`;
  return taken.has(safe) ? `${safe}Value` : safe;
}

/** Gives each type a name of its own. */
export class TypeNames {
  readonly #used = new Set<string>();

  /** Returns the name for a text, with a number behind it if another type has it. */
  claim(text: string): string {
    const name = typeNameOf(text.slice(0, 100));
    let own = name;
    for (let count = 2; this.#used.has(own); count += 1) own = `${name}${count}`;
    this.#used.add(own);
    return own;
  }
}

/** Returns a text as a literal of TypeScript. */
export function formatText(text: string): string {
  // Two characters that JSON accepts end a line in some tools.
  const escaped = JSON.stringify(text)
    .slice(1, -1)
    .replaceAll('\\"', '"')
    .replaceAll("'", String.raw`\'`);
  return `'${escaped.replaceAll('\u2028', String.raw`\u2028`).replaceAll('\u2029', String.raw`\u2029`)}'`;
}

/** Returns a text as the name of a property. */
export function formatKey(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) && name !== '__proto__' ? name : formatText(name);
}

const maxCommentChars = 1000;

/** Returns a comment with the text, with a line end behind it; nothing for no text. */
export function formatComment(text: unknown, indent: string): string {
  if (typeof text !== 'string' || text.trim() === '') return '';
  const lines = text
    .slice(0, maxCommentChars)
    .replaceAll('*/', String.raw`*\/`)
    // Control characters and those that reverse the order of text could show other code than there is.
    .split(/[\r\n\u2028\u2029]+/)
    .map((line) => line.replaceAll(/[\p{Cc}\p{Cf}\p{Cs}]/gu, ' ').trim())
    .filter((line) => line !== '');
  if (lines.length <= 1) return lines.length === 0 ? '' : `${indent}/** ${lines[0]} */\n`;
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line}\n`).join('')}${indent} */\n`;
}
