// Regular expressions from clients. They run on an engine whose time grows with the length of the text and never
// explodes; for that it knows no backreferences and no lookahead, and a pattern with either is refused as a whole.
// Patterns are read as ECMAScript with the `u` flag, which JSON Schema recommends; this file says the same in the
// engine's own syntax. `\A`, `\Z` and `(?P<name>…)` are understood too, since existing deployments used them.
import { RE2JS, RE2JSException } from 're2js';

export interface SafePattern {
  /** Whether the pattern is found anywhere in the text. */
  test(text: string): boolean;
  /** How much work the test of a text is at most, in steps of a validation. */
  stepsFor(text: string): number;
  /** Instructions of the compiled pattern. */
  readonly size: number;
}

/** The pattern cannot be run; the message says why. */
export class UnsupportedPattern extends Error {}

/** Characters a pattern may have. */
export const maxPatternChars = 2000;

/** Characters of a text that a pattern is tried on. The engine cannot be interrupted: these take some 30 ms. */
const maxTextChars = 1_000_000;

/** Instructions a compiled pattern may have: with them grows the time spent on each character. */
const maxProgramSize = 2500;

/** Instructions that a class such as `\p{L}` counts as: it is one, but made of hundreds of ranges. */
const propertySize = 20;

/** Instructions tried on characters that take as long as one step. */
const instructionsPerStep = 32;

/**
 * Compiles a pattern.
 *
 * @throws UnsupportedPattern
 */
export function compileSafePattern(pattern: string): SafePattern {
  if (pattern.length > maxPatternChars) throw new UnsupportedPattern(`longer than ${maxPatternChars} characters`);
  const properties = pattern.split(/\\[pP]/).length - 1;
  if (properties * propertySize > maxProgramSize) throw new UnsupportedPattern('it is too complex');
  const translated = new Translator(pattern).translate();
  let compiled: RE2JS;
  try {
    compiled = RE2JS.compile(translated, RE2JS.LOOKBEHINDS);
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error;
    throw new UnsupportedPattern(describe(error), { cause: error });
  }
  const size = compiled.programSize() + properties * propertySize;
  if (size > maxProgramSize) throw new UnsupportedPattern('it is too complex');
  return {
    size,
    test: (text) => compiled.test(text),
    stepsFor: (text) => (text.length > maxTextChars ? Infinity : 1 + (text.length * size) / instructionsPerStep),
  };
}

function describe({ message }: Error): string {
  if (/`\(\?[=!]/.test(message)) return 'lookahead is not supported';
  return message.replace('error parsing regexp: ', '');
}

const whitespace = '\\t\\n\\x0b\\f\\r\\x{feff}\\p{Zs}\\x{2028}\\x{2029}';
const nothing = '[^\\x00-\\x{10ffff}]';
const anything = '[\\x00-\\x{10ffff}]';

/** Escapes that mean the same on both sides, inside and outside of classes. */
const sharedEscapes = new Set('dDwWnrtf');

const generalCategories: Readonly<Record<string, string>> = {
  Letter: 'L',
  Lowercase_Letter: 'Ll',
  Uppercase_Letter: 'Lu',
  Mark: 'M',
  Number: 'N',
  Decimal_Number: 'Nd',
  Punctuation: 'P',
  Symbol: 'S',
  Separator: 'Z',
  Space_Separator: 'Zs',
};

class Translator {
  readonly #pattern: string;
  #at = 0;
  #inClass = false;
  #result = '';

  constructor(pattern: string) {
    this.#pattern = pattern;
  }

  translate(): string {
    while (this.#at < this.#pattern.length) this.#result += this.#inClass ? this.#nextInClass() : this.#next();
    if (this.#inClass) throw new UnsupportedPattern('missing ]');
    return this.#result;
  }

  #next(): string {
    if (this.#take('[^]')) return anything;
    if (this.#take('[]')) return nothing;
    if (this.#take('[')) {
      this.#inClass = true;
      return this.#take('^') ? '[^' : '[';
    }
    if (this.#take('.')) return '[^\\n\\r\\x{2028}\\x{2029}]';
    if (this.#take('\\')) return this.#escape();
    // Names of groups are of no use to a test, and two syntaxes of them are around.
    const name = this.#match(/\(\?P?<(?![=!])[^>]*>/y);
    return name === undefined ? this.#character() : '(';
  }

  #nextInClass(): string {
    if (this.#take(']')) {
      this.#inClass = false;
      return ']';
    }
    // The engine would see the start of a named class such as [:alpha:].
    if (this.#take('[')) return '\\[';
    return this.#take('\\') ? this.#escape() : this.#character();
  }

  #escape(): string {
    const letter = this.#pattern[this.#at];
    if (letter === undefined) throw new UnsupportedPattern('the pattern ends in a backslash');
    if (sharedEscapes.has(letter)) return `\\${this.#character()}`;
    switch (letter) {
      case 's':
        this.#at++;
        return this.#inClass ? whitespace : `[${whitespace}]`;
      case 'S':
        this.#at++;
        // A complement cannot stand in a class; the engine's own leaves out the ASCII spaces.
        return this.#inClass ? '\\S' : `[^${whitespace}]`;
      case 'v':
        this.#at++;
        return '\\x0b';
      case 'b':
        this.#at++;
        return this.#inClass ? '\\x08' : '\\b';
      case 'p':
      case 'P':
        return this.#property();
      case 'u':
      case 'x':
      case 'c':
      case '0':
        return hexEscape(this.#codePoint());
    }
    const anchor = this.#inClass ? undefined : { A: '\\A', z: '\\z', Z: '\\z', B: '\\B' }[letter];
    if (anchor !== undefined) {
      this.#at++;
      return anchor;
    }
    if (/[1-9k]/.test(letter)) throw new UnsupportedPattern('backreferences are not supported');
    if (/[A-Za-z]/.test(letter)) throw new UnsupportedPattern(`unknown escape \\${letter}`);
    const character = this.#character();
    return character.charCodeAt(0) < 128 ? `\\${character}` : character;
  }

  #codePoint(): number {
    const pair = this.#match(/u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}/y);
    if (pair !== undefined) {
      return String.fromCharCode(Number.parseInt(pair.slice(1, 5), 16), Number.parseInt(pair.slice(7), 16)).codePointAt(
        0,
      )!;
    }
    const unit = this.#match(/u[0-9a-fA-F]{4}/y) ?? this.#match(/x[0-9a-fA-F]{2}/y);
    if (unit !== undefined) return Number.parseInt(unit.slice(1), 16);
    const braced = this.#match(/u\{[0-9a-fA-F]{1,8}\}/y);
    if (braced !== undefined) return Number.parseInt(braced.slice(2, -1), 16);
    const control = this.#match(/c[a-zA-Z]/y);
    if (control !== undefined) return control.charCodeAt(1) % 32;
    if (this.#match(/0(?!\d)/y) !== undefined) return 0;
    throw new UnsupportedPattern(`malformed escape \\${this.#pattern[this.#at]!}`);
  }

  #property(): string {
    const text = this.#match(/[pP]\{\^?[\w=]+\}/y) ?? this.#match(/[pP][CLMNPSZ]/y);
    if (text === undefined) throw new UnsupportedPattern('malformed escape \\p');
    const name = text.slice(text.includes('{') ? 2 : 1).replace(/[{}]/g, '');
    const value = name.slice(name.indexOf('=') + 1);
    const category = Object.hasOwn(generalCategories, value) ? generalCategories[value]! : value;
    return `\\${text[0]!}{${category}}`;
  }

  #character(): string {
    const character = String.fromCodePoint(this.#pattern.codePointAt(this.#at)!);
    this.#at += character.length;
    return character;
  }

  #take(text: string): boolean {
    if (!this.#pattern.startsWith(text, this.#at)) return false;
    this.#at += text.length;
    return true;
  }

  #match(sticky: RegExp): string | undefined {
    sticky.lastIndex = this.#at;
    const match = sticky.exec(this.#pattern);
    if (match === null) return undefined;
    this.#at += match[0].length;
    return match[0];
  }
}

function hexEscape(codePoint: number): string {
  if (codePoint > 0x10ffff) throw new UnsupportedPattern('there is no such character');
  // Half a surrogate pair occurs in no text that is stored, and the engine would not know what to do with it.
  if (codePoint >= 0xd800 && codePoint <= 0xdfff) throw new UnsupportedPattern('half of a surrogate pair');
  return `\\x{${codePoint.toString(16)}}`;
}
