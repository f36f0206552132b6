// The clients of a soak. Together they send requests at a bounded rate, check every response, and record the wrong ones.
import http from 'node:http';
import { createHistogram } from 'node:perf_hooks';
import { user } from '../lib/data.mjs';

const tickMs = 5;
const patienceMs = 30_000;
const maxComplaints = 20;

/**
 * @typedef {object} Question
 * @property {string} [by] name of the user; absent: anonymous
 * @property {string} [method] GET unless given
 * @property {string} path without version
 * @property {unknown} [data] sent as JSON
 * @property {Buffer} [bytes] sent in its place, as they are
 * @property {Record<string, string>} [headers]
 * @property {readonly number[]} [expected] statuses; 200 unless given
 * @property {boolean} [isAlone] on a connection of its own, which is closed
 * @property {boolean} [isLeft] the client goes away when the answer begins
 *
 * @typedef {{ status: number, headers: http.IncomingHttpHeaders, text: string }} Answer
 */

/** An unexpected response. The client that received it starts its cycle again. */
export class WrongAnswer extends Error {}

export class Clients {
  /** Number of responses by status. @type {Map<number, number>} */
  statuses = new Map();
  /** The first complaint of each kind. @type {string[]} */
  complaints = [];
  wrong = 0;
  answers = 0;
  slowestMs = 0;
  #url;
  #agent = new http.Agent({ keepAlive: true });
  #times = createHistogram();
  /** Clients that wait for their turn. @type {(() => void)[]} */
  #waiting = [];
  /** @type {NodeJS.Timeout} */
  #ticking;

  /**
   * @param {string} url scheme, host and port
   * @param {number} rate requests a second, all clients together
   */
  constructor(url, rate) {
    this.#url = url;
    let last = performance.now();
    let due = 0;
    this.#ticking = setInterval(() => {
      const now = performance.now();
      // Requests that were missed while all clients were busy are not sent later.
      due = Math.min(due + ((now - last) / 1000) * rate, Math.max(1, rate / 10));
      last = now;
      for (; due >= 1 && this.#waiting.length > 0; due--) this.#waiting.shift()?.();
    }, tickMs);
  }

  /** Returns the p99 of response times since the last call. @returns {number} milliseconds */
  takeP99() {
    const p99 = this.#times.count === 0 ? 0 : this.#times.percentile(99) / 1000;
    this.#times.reset();
    return p99;
  }

  /**
   * Sends a request when the rate permits it.
   *
   * @param {Question} question
   * @returns {Promise<Answer>}
   * @throws WrongAnswer
   */
  async ask(question) {
    await new Promise((/** @type {(_: void) => void} */ resolve) => {
      this.#waiting.push(resolve);
    });
    const began = performance.now();
    const { method = 'GET', path, expected = [200] } = question;
    /** @type {Answer} */
    let answer;
    try {
      answer = await this.#exchange(question);
    } catch (error) {
      throw this.complain(`${method} ${path}: ${error instanceof Error ? error.message : 'no answer'}`);
    }
    const elapsedMs = performance.now() - began;
    this.answers++;
    this.slowestMs = Math.max(this.slowestMs, elapsedMs);
    this.#times.record(Math.max(1, Math.round(elapsedMs * 1000)));
    this.statuses.set(answer.status, (this.statuses.get(answer.status) ?? 0) + 1);
    if (!expected.includes(answer.status))
      throw this.complain(`${method} ${path}: ${answer.status} ${answer.text.slice(0, 300)}`);
    return answer;
  }

  /** Records a complaint. @param {string} what @returns {WrongAnswer} */
  complain(what) {
    this.wrong++;
    if (this.complaints.length < maxComplaints) this.complaints.push(what);
    return new WrongAnswer(what);
  }

  close() {
    clearInterval(this.#ticking);
    this.#agent.destroy();
  }

  /** @param {Question} question @returns {Promise<Answer>} */
  #exchange({ by, method = 'GET', path, data, bytes, headers = {}, isAlone = false, isLeft = false }) {
    const body = bytes ?? (data === undefined ? undefined : Buffer.from(JSON.stringify(data)));
    const all = {
      ...(by === undefined ? {} : { authorization: authorizationOf(by) }),
      ...(body === undefined ? {} : { 'content-type': 'application/json', 'content-length': body.length }),
      ...headers,
    };
    return new Promise((resolve, reject) => {
      const agent = isAlone || isLeft ? false : this.#agent;
      const request = http.request(`${this.#url}/v1${path}`, { method, agent, headers: all, timeout: patienceMs });
      request.once('timeout', () => request.destroy(new Error(`no answer in ${patienceMs} ms`)));
      request.once('error', reject);
      request.once('response', (response) => {
        const status = response.statusCode ?? 0;
        /** @type {Buffer[]} */
        const chunks = [];
        const finish = () => resolve({ status, headers: response.headers, text: Buffer.concat(chunks).toString() });
        if (isLeft) {
          response.once('error', () => {});
          response.destroy();
          finish();
          return;
        }
        response.on('data', (/** @type {Buffer} */ chunk) => chunks.push(chunk));
        response.once('end', finish);
        response.once('error', reject);
      });
      request.end(body);
    });
  }
}

/** @type {Map<string, string>} */
const authorizations = new Map();

/** @param {string} name @returns {string} */
function authorizationOf(name) {
  const known = authorizations.get(name) ?? user(name).authorization;
  authorizations.set(name, known);
  return known;
}
