// JSON as text: members are extracted and combined without parsing. So numbers with many digits and keys such as `__proto__`,
// which a parser would change, return to the service unchanged.

/** A member of an object: its key, the key as it is written, and its value as it is written. */
export interface Member {
  readonly key: string;
  readonly keyText: string;
  readonly text: string;
}

const blank = /\s/;

function skipBlanks(text: string, from: number): number {
  let at = from;
  while (at < text.length && blank.test(text.charAt(at))) at += 1;
  return at;
}

/** Returns the end of the string that starts at `start`. */
function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text.charAt(at) !== '"') at += text.charAt(at) === '\\' ? 2 : 1;
  return at + 1;
}

/** Returns the end of the value that starts at `start`. */
function endOfValue(text: string, start: number): number {
  let at = start;
  let depth = 0;
  while (at < text.length) {
    const char = text.charAt(at);
    if (char === '"') {
      at = endOfString(text, at);
    } else if (char === '{' || char === '[') {
      depth += 1;
      at += 1;
    } else if (char === '}' || char === ']') {
      if (depth === 0) return at;
      depth -= 1;
      at += 1;
    } else if (depth === 0 && (char === ',' || blank.test(char))) {
      return at;
    } else {
      at += 1;
    }
    if (depth === 0 && (char === '"' || char === '}' || char === ']')) return at;
  }
  return at;
}

/** Returns the members of an object, in their order. `text` is valid JSON of an object. */
export function membersOf(text: string): readonly Member[] {
  const members: Member[] = [];
  let at = skipBlanks(text, skipBlanks(text, 0) + 1);
  while (at < text.length && text.charAt(at) !== '}') {
    const keyEnd = endOfString(text, at);
    const keyText = text.slice(at, keyEnd);
    const start = skipBlanks(text, skipBlanks(text, keyEnd) + 1);
    const end = endOfValue(text, start);
    members.push({ key: String(JSON.parse(keyText)), keyText, text: text.slice(start, end) });
    at = skipBlanks(text, end);
    if (text.charAt(at) === ',') at = skipBlanks(text, at + 1);
  }
  return members;
}

/** Returns the value of a member as text. */
export function memberText(text: string, key: string): string | undefined {
  return membersOf(text).findLast((member) => member.key === key)?.text;
}

/** Returns the elements of an array as texts. `text` is valid JSON of an array. */
export function elementsOf(text: string): readonly string[] {
  const elements: string[] = [];
  let at = skipBlanks(text, skipBlanks(text, 0) + 1);
  while (at < text.length && text.charAt(at) !== ']') {
    const end = endOfValue(text, at);
    elements.push(text.slice(at, end));
    at = skipBlanks(text, end);
    if (text.charAt(at) === ',') at = skipBlanks(text, at + 1);
  }
  return elements;
}

/** Returns the object without some of its members. */
export function withoutMembers(text: string, keys: readonly string[]): string {
  const kept = membersOf(text).filter(({ key }) => !keys.includes(key));
  return `{${kept.map((member) => `${member.keyText}:${member.text}`).join(',')}}`;
}

/** Returns a value as shown in tables: strings without quotes, all other values unchanged. */
export function displayText(text: string): string {
  return text.startsWith('"') ? String(JSON.parse(text)) : text;
}

/** Formats valid JSON with one line for each member and element. */
export function indentJson(text: string): string {
  const parts: string[] = [];
  let depth = 0;
  let at = 0;
  const newLine = (): string => `\n${'  '.repeat(depth)}`;
  while (at < text.length) {
    const char = text.charAt(at);
    let end = at + 1;
    if (char === '"') {
      end = endOfString(text, at);
      parts.push(text.slice(at, end));
    } else if (char === '{' || char === '[') {
      const next = skipBlanks(text, end);
      if (text.charAt(next) === (char === '{' ? '}' : ']')) {
        end = next + 1;
        parts.push(char, text.charAt(next));
      } else {
        depth += 1;
        parts.push(char, newLine());
      }
    } else if (char === '}' || char === ']') {
      depth -= 1;
      parts.push(newLine(), char);
    } else if (char === ',') {
      parts.push(',', newLine());
    } else if (char === ':') {
      parts.push(': ');
    } else if (!blank.test(char)) {
      parts.push(char);
    }
    at = end;
  }
  return parts.join('');
}

/** Returns why the text is not a JSON object; `undefined` if it is one. */
export function faultOfObject(text: string): string | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? undefined : 'This must be a JSON object: members between { and }.';
  } catch (error) {
    return `This is not valid JSON: ${error instanceof Error ? error.message : String(error)}`;
  }
}

/** Returns the object with a member set; `undefined` removes it. Other members keep their places and their text. */
export function withMember(text: string, key: string, value: string | undefined): string {
  const members = membersOf(text);
  const kept = value === undefined ? members.filter((member) => member.key !== key) : members;
  const parts = kept.map((member) => `${member.keyText}:${member.key === key ? (value ?? '') : member.text}`);
  if (value !== undefined && !members.some((member) => member.key === key)) {
    parts.push(`${JSON.stringify(key)}:${value}`);
  }
  return `{${parts.join(',')}}`;
}

/** Returns whether the text is the JSON of an object. */
export function isObjectText(text: string): boolean {
  return text.startsWith('{');
}

/** Returns the text of a value as one line of at most `limit` characters, for tables. */
export function previewText(text: string, limit: number): string {
  // Long texts are cut before they are decoded, so a large member costs no more than a small one.
  const isCut = text.length > limit * 8;
  const shown = isCut ? text.slice(text.startsWith('"') ? 1 : 0, limit * 8) : displayText(text);
  const line = shown.replaceAll(/\s+/g, ' ');
  return line.length > limit || isCut ? `${line.slice(0, limit)}…` : line;
}
