// Runs a history against a service and the model side by side, and complains about the first answer that differs.
import { differences, type Seen } from './compare.ts';
import type { Ask, Expected, Reply } from './exchange.ts';
import { isMap, type JsonMap } from './json.ts';
import { filesOf, historiesOf, looksAt, type Look } from './looking.ts';
import { maxBatch, Model, type Setup } from './model.ts';
import { Store } from './store.ts';
import { finish, finishBatch, type Burst, type Sketch, type Step } from './sketch.ts';
import { users } from './steps.ts';

/** A service with an empty store, and its clock. */
export interface Subject extends Setup {
  ask(ask: Ask, door: Step['door']): Promise<Reply>;
  /** Empties the store. */
  flush(): Promise<void>;
  readonly clock: { now(): number; set(now: number): void };
}

/** How much was compared. */
export interface Tally {
  histories: number;
  requests: number;
  /** How often which status was the answer, entries of batches included. */
  readonly statuses: Map<number, number>;
}

export function newTally(): Tally {
  return { histories: 0, requests: 0, statuses: new Map() };
}

const start = 1_800_000_000_000;

/** @throws Error when an answer is not what the model expects */
export async function runHistory(subject: Subject, steps: readonly (Step | Burst)[], tally: Tally): Promise<void> {
  await subject.flush();
  subject.clock.set(start);
  const run = new Run(subject, tally);
  for (const step of steps) await run.step(step);
  // Objects that no request has read yet could be wrong as well.
  const callers = [...users, undefined];
  for (const [index, user] of callers.entries()) await run.lookAround(user, steps.length % callers.length === index);
  tally.histories++;
}

interface Exchange {
  readonly ask: Ask;
  readonly reply: Reply;
}

/** What the model remembers, and how it names ids. */
interface State {
  readonly model: Model;
  readonly seen: Seen;
}

class Run {
  readonly #subject: Subject;
  readonly #tally: Tally;
  /** More than one while nothing has told in which order requests were done that were sent together. */
  #states: readonly State[];
  /** Addresses of next pages, with the method that they are for, by user. */
  readonly #pages = new Map<string | undefined, { readonly method: string; readonly target: string }[]>();
  readonly #log: string[] = [];

  constructor(subject: Subject, tally: Tally) {
    this.#subject = subject;
    this.#tally = tally;
    this.#states = [{ model: new Model(subject), seen: new Map() }];
  }

  async step(step: Step | Burst): Promise<void> {
    const { clock } = this.#subject;
    const steps = 'together' in step ? step.together : [step];
    if ('together' in step && !steps.every(({ user }) => this.#model.mayChangeAll(user, step.list))) {
      // Access is asked before the list is locked, so more than one order would have to explain such answers.
      for (const each of steps) await this.step(each);
      return;
    }
    for (const { advance } of steps) clock.set(clock.now() + advance);
    const asks = steps.flatMap((each) => {
      const ask = this.#askOf(each);
      return ask === undefined ? [] : [{ ask, door: each.door }];
    });
    await this.#send(asks);
    // The history knows in which order.
    if (this.#states.length > 1) for (const user of users) await this.#look(user, historiesOf(this.#model.store));
  }

  get #model(): Model {
    return this.#states[0]!.model;
  }

  #askOf(step: Step): Ask | undefined {
    const { send, user } = step;
    const model = this.#model;
    const now = this.#subject.clock.now();
    if (typeof send === 'number') {
      const page = this.#pages.get(user)?.at(-1 - send);
      return page === undefined ? undefined : { user, ...page, headers: {}, body: undefined };
    }
    return isSketch(send) ? finish(model, step, send, now) : finishBatch(model, step, send, now);
  }

  /** Sends requests at the same time. There has to be an order in which the model expects all of the answers. */
  async #send(asks: readonly { readonly ask: Ask; readonly door: Step['door'] }[]): Promise<void> {
    const now = this.#subject.clock.now();
    const exchanges = await Promise.all(
      asks.map(async ({ ask, door }): Promise<Exchange> => ({ ask, reply: await this.#subject.ask(ask, door) })),
    );
    for (const [index, { ask, reply }] of exchanges.entries()) {
      this.#log.push(
        describeExchange(ask, reply, `${now}${asks.length > 1 ? ' at the same time' : ''} (${asks[index]!.door})`),
      );
      this.#note(ask, reply);
    }
    const wrong: string[] = [];
    const how = { now, isTogether: exchanges.length > 1, wrong };
    const states = this.#states.flatMap((state) => explain(state, exchanges, how));
    if (states.length === 0) {
      const answers = exchanges.map(({ reply }) => JSON.stringify(reply.body)?.slice(0, 2000) ?? '').join('\n');
      throw new Error(`${wrong.join('\n')}\nanswer: ${answers}\n${this.#log.join('\n')}`);
    }
    this.#states = distinct(states);
  }

  #note(ask: Ask, reply: Reply): void {
    this.#count(reply, ask.target === '/batch' && reply.status === 200);
    const next = reply.headers['next-page'];
    if (next === undefined) return;
    const { pathname, search } = new URL(next);
    const pages = this.#pages.get(ask.user) ?? [];
    pages.push({ method: ask.method, target: pathname.slice('/v1'.length) + search });
    this.#pages.set(ask.user, pages);
  }

  #count(reply: Reply, isBatch: boolean): void {
    const { statuses } = this.#tally;
    const responses = isBatch ? (reply.body as { responses: { status: number }[] }).responses : [];
    for (const { status } of [reply, ...responses]) statuses.set(status, (statuses.get(status) ?? 0) + 1);
    this.#tally.requests += 1 + responses.length;
  }

  /** Everything that there is or was, as this user sees it. */
  async lookAround(user: string | undefined, closely: boolean): Promise<void> {
    await this.#look(user, looksAt(this.#model.store, closely));
    for (const target of ['/permissions', ...filesOf(this.#model.store)]) {
      await this.#send([{ ask: { user, method: 'GET', target, headers: {}, body: undefined }, door: 'inside' }]);
    }
  }

  async #look(user: string | undefined, looks: readonly Look[]): Promise<void> {
    for (let at = 0; at < looks.length; at += maxBatch) {
      const body = { requests: looks.slice(at, at + maxBatch).map((look): JsonMap => ({ ...look })) };
      await this.#send([{ ask: { user, method: 'POST', target: '/batch', headers: {}, body }, door: 'inside' }]);
    }
  }
}

interface Comparison {
  readonly now: number;
  /** Whether the requests were sent at the same time. */
  readonly isTogether: boolean;
  /** The differences, for the report. */
  readonly wrong: string[];
}

/**
 * POST that finds its object there only reads, and nothing is locked for that: the object may be from before a deletion and
 * its entries from after it.
 */
function asTorn(expected: Expected, { method, target }: Ask, { body }: Reply): Expected {
  const isRead = method === 'POST' && expected.status === 200 && target !== '/batch' && isMap(expected.body);
  const isWithout = isMap(body) && isMap(body['permissions']) && Object.keys(body['permissions']).length === 0;
  return isRead && isWithout ? { ...expected, body: { ...expected.body, permissions: {} } } : expected;
}

/**
 * The states that there may be after the exchanges, one for each order that explains them; when there is none, `wrong` tells
 * why.
 */
function explain(before: State, exchanges: readonly Exchange[], how: Comparison): readonly State[] {
  const { now, isTogether, wrong } = how;
  if (exchanges.length === 0) return [before];
  return exchanges.flatMap(({ ask, reply }, index) => {
    // Where there is no choice there is nothing to go back to.
    const { model, seen } = exchanges.length === 1 ? before : copyOf(before);
    const expected = model.answer(ask, reply, now);
    const found = differences(isTogether ? asTorn(expected, ask, reply) : expected, reply, seen);
    if (found.length === 0) return explain({ model, seen }, exchanges.toSpliced(index, 1), { now, isTogether, wrong });
    wrong.push(...found.slice(0, 5));
    return [];
  });
}

/** Most often the order of requests makes no difference. */
function distinct(states: readonly State[]): readonly State[] {
  if (states.length === 1) return states;
  return [...new Map(states.map((state) => [fingerprint(state), state])).values()];
}

function fingerprint({ model, seen }: State): string {
  const plain = (_key: string, value: unknown): unknown => {
    if (value instanceof Map) return [...value].toSorted(([a], [b]) => compareTexts(String(a), String(b)));
    return value instanceof Set ? [...value].map(String).toSorted(compareTexts) : value;
  };
  return JSON.stringify([model.store, seen], plain);
}

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function copyOf({ model, seen }: State): State {
  const copy = new Model(model.setup);
  copy.store = new Store(model.store);
  return { model: copy, seen: new Map(seen) };
}

function describeExchange(ask: Ask, { status }: Reply, when: string): string {
  const { user = 'nobody', method, target, headers, body, form } = ask;
  return [when, user, method, target, JSON.stringify(headers), JSON.stringify(body ?? form), `-> ${status}`].join(' ');
}

function isSketch(send: Sketch | readonly Sketch[]): send is Sketch {
  return !Array.isArray(send);
}
