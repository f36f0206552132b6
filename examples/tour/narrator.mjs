// The voice of the tour: headings, sentences, requests with their answers, and a progress bar that is drawn on a
// terminal and told in a few plain lines everywhere else.
import { styleText } from 'node:util';

/** @typedef {import('./client.mjs').Answer} Answer */

const barWidth = 40;
const bodyLimit = 260;
const shownHeaders = ['ETag', 'Total-Objects', 'Next-Page'];

/** Prints what happens. */
export class Narrator {
  /** @type {(text: string) => void} */
  #write;
  /** @type {boolean} */
  #isTerminal;
  #chapters = 0;

  /** @param {{ write: (text: string) => void, isTerminal: boolean }} options */
  constructor({ write, isTerminal }) {
    this.#write = write;
    this.#isTerminal = isTerminal;
  }

  /** Begins a chapter. @param {string} title @returns {void} */
  chapter(title) {
    this.#chapters += 1;
    this.#write(`\n${this.#paint('bold', `${this.#chapters}. ${title}`)}\n`);
  }

  /** @param {string} text a sentence or two @returns {void} */
  say(text) {
    this.#write(`\n  ${text}\n`);
  }

  /** A result, one line. @param {string} text @returns {void} */
  result(text) {
    this.#write(`    ${this.#paint('green', '=')} ${text}\n`);
  }

  /** A request and what came back, both cut to a readable length. @param {Answer} answer @returns {void} */
  show({ method, path, sent, status, headers, body }) {
    const request = sent === undefined ? '' : ` ${shorten(JSON.stringify(sent))}`;
    this.#write(`    ${this.#paint('cyan', `${method} ${decodeURI(path)}`)}${request}\n`);
    const told = shownHeaders.flatMap((name) => {
      const value = headers.get(name);
      return value === null ? [] : [`${name}: ${shorten(value, 60)}`];
    });
    const content = Object.keys(body).length === 0 ? '' : ` ${shorten(JSON.stringify(body))}`;
    this.#write(`    ${this.#paint('yellow', `-> ${[status, ...told].join('  ')}`)}${content}\n`);
  }

  /**
   * Starts a progress bar.
   *
   * @param {string} label
   * @param {number} total
   * @returns {(done: number) => void} to be called with how many are done by now
   */
  progress(label, total) {
    let quarter = 0;
    return (done) => {
      const share = total === 0 ? 1 : done / total;
      const text = `${label} ${done} of ${total}, ${Math.floor(share * 100)} %`;
      if (this.#isTerminal) {
        const full = Math.round(share * barWidth);
        this.#write(`\r    [${'#'.repeat(full)}${'.'.repeat(barWidth - full)}] ${text}${done === total ? '\n' : ''}`);
      } else if (Math.floor(share * 4) > quarter) {
        quarter = Math.floor(share * 4);
        this.#write(`    ${text}\n`);
      }
    };
  }

  /** @param {Parameters<typeof styleText>[0]} style @param {string} text */
  #paint(style, text) {
    return this.#isTerminal ? styleText(style, text) : text;
  }
}

/** @param {string} text @param {number} [limit] */
function shorten(text, limit = bodyLimit) {
  // Ids of users are long and say nothing to a reader; the beginning tells them apart.
  const readable = text.replaceAll(/(basicauth:[0-9a-f]{6})[0-9a-f]+/g, '$1…');
  return readable.length <= limit ? readable : `${readable.slice(0, limit)} …`;
}
