// JSON as text: members are extracted and combined without parsing. So numbers with many digits and keys such as `__proto__`,
// which a parser would change, return to the service unchanged.

/** @typedef {{ readonly key: string, readonly keyText: string, readonly text: string }} Member */

const blank = /\s/;

/** @param {string} text @param {number} from @returns {number} */
function skipBlanks(text, from) {
  let at = from;
  while (at < text.length && blank.test(text.charAt(at))) at += 1;
  return at;
}

/** Returns the end of the string that starts at `start`. @param {string} text @param {number} start @returns {number} */
function endOfString(text, start) {
  let at = start + 1;
  while (at < text.length && text.charAt(at) !== '"') at += text.charAt(at) === '\\' ? 2 : 1;
  return at + 1;
}

/** Returns the end of the value that starts at `start`. @param {string} text @param {number} start @returns {number} */
function endOfValue(text, start) {
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

/**
 * Returns the members of an object, in their order.
 *
 * @param {string} text valid JSON of an object
 * @returns {readonly Member[]}
 */
export function membersOf(text) {
  const members = [];
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

/** Returns the value of a member as text. @param {string} text @param {string} key @returns {string | undefined} */
export function memberText(text, key) {
  return membersOf(text).findLast((member) => member.key === key)?.text;
}

/** Returns the elements of an array as texts. @param {string} text valid JSON of an array @returns {readonly string[]} */
export function elementsOf(text) {
  const elements = [];
  let at = skipBlanks(text, skipBlanks(text, 0) + 1);
  while (at < text.length && text.charAt(at) !== ']') {
    const end = endOfValue(text, at);
    elements.push(text.slice(at, end));
    at = skipBlanks(text, end);
    if (text.charAt(at) === ',') at = skipBlanks(text, at + 1);
  }
  return elements;
}

/** Returns the object without some of its members. @param {string} text @param {readonly string[]} keys @returns {string} */
export function withoutMembers(text, keys) {
  const kept = membersOf(text).filter(({ key }) => !keys.includes(key));
  return `{${kept.map((member) => `${member.keyText}:${member.text}`).join(',')}}`;
}

/** Returns a value as shown in tables: strings without quotes, all other values unchanged. @param {string} text */
export function displayText(text) {
  return text.startsWith('"') ? String(JSON.parse(text)) : text;
}

/**
 * Formats JSON with one line for each member and element.
 *
 * @param {string} text valid JSON
 * @returns {string}
 */
export function indentJson(text) {
  const parts = [];
  let depth = 0;
  let at = 0;
  const newLine = () => `\n${'  '.repeat(depth)}`;
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

/** Returns why the text is not a JSON object; `undefined` if it is one. @param {string} text @returns {string | undefined} */
export function faultOfObject(text) {
  try {
    const value = /** @type {unknown} */ (JSON.parse(text));
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? undefined : 'This must be a JSON object: members between { and }.';
  } catch (error) {
    return `This is not valid JSON: ${error instanceof Error ? error.message : String(error)}`;
  }
}
