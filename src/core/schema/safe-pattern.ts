// Regular expressions from clients, on an engine with linear time. It supports neither backreferences nor lookahead: patterns
// with either are refused. Patterns are read as ECMAScript with the `u` flag, which JSON Schema recommends, and translated to
// the syntax of the engine. `\A`, `\Z` and `(?P<name>…)` are accepted too, because existing deployments use them.
import { RE2JS, RE2JSException } from 're2js';

export interface SafePattern {
  /** Whether the pattern matches anywhere in the text. */
  test(text: string): boolean;
  /** Returns the maximum work of a test of the text, in steps of a validation. */
  stepsFor(text: string): number;
  /** Number of instructions of the compiled pattern. */
  readonly size: number;
}

/** The pattern is not supported; the message says why. */
export class UnsupportedPattern extends Error {}

/** Maximum length of a pattern in characters. */
export const maxPatternChars = 2000;

/** Maximum length of a tested text in characters. The engine cannot be interrupted: this length takes about 30 ms. */
const maxTextChars = 1_000_000;

/** Maximum number of instructions of a compiled pattern: the time per character grows with them. */
const maxProgramSize = 2500;

/** Cost of a class such as `\p{L}` in instructions: it is one instruction with hundreds of ranges. */
const propertySize = 20;

/** Instructions per character that take as long as one step. */
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

/** Escapes with the same meaning in both syntaxes, inside and outside classes. */
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
    // A test needs no group names, and patterns have two syntaxes for them.
    const name = this.#match(/\(\?P?<(?![=!])[^>]*>/y);
    return name === undefined ? this.#character() : '(';
  }

  #nextInClass(): string {
    if (this.#take(']')) {
      this.#inClass = false;
      return ']';
    }
    // The engine would read a named class such as [:alpha:].
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
        // A class cannot contain a complement; `\S` of the engine excludes only ASCII white space.
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
  if (codePoint > 0x10ffff) throw new UnsupportedPattern('no such character exists');
  // Lone surrogates occur in no stored text, and the engine does not support them.
  if (codePoint >= 0xd800 && codePoint <= 0xdfff) throw new UnsupportedPattern('half of a surrogate pair');
  return `\\x{${codePoint.toString(16)}}`;
}
