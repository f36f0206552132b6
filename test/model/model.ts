// The protocol once more, as a value: it remembers what a service must remember, and says what it must answer. It has
// nothing in common with the service but the specification.
import { batchAnswer, readBatch, replyIn } from './batch.ts';
import { Refusal, uncached, type Ask, type Expected, type Reply } from './exchange.ts';
import { recordHistory } from './history.ts';
import { answerList } from './list-verbs.ts';
import { answerObject } from './object-verbs.ts';
import { answerPermissions } from './permissions-view.ts';
import { resolveAlias } from './personal-bucket.ts';
import { placeOf } from './places.ts';
import { personOf, type Person } from './rights.ts';
import { Collision, Store } from './store.ts';
import type { Change, Turn } from './turn.ts';

/** What the service said of somebody in its root view. */
export interface Account {
  readonly id: string;
  /** Id of the personal bucket. */
  readonly bucket: string;
}

/** Most entries of a batch, as the service is told. */
export const maxBatch = 100;

export class Model {
  readonly accounts: ReadonlyMap<string, Account>;
  store = new Store();

  constructor(accounts: ReadonlyMap<string, Account>) {
    this.accounts = accounts;
  }

  /** What has to be answered at this time; `hint` is what was. */
  answer(ask: Ask, hint: Reply, now: number): Expected {
    const before = isRead(ask) ? this.store : new Store(this.store);
    const changes: Change[] = [];
    const person = personOf(this.store, this.#account(ask)?.id);
    const isBatch = ask.target === '/batch';
    const expected = isBatch
      ? this.#batch(ask, hint, now, changes, person)
      : this.#one({ ask, hint, now, person, store: this.store, record: recorder(changes, person) });
    const answers = expected.entries ?? [expected];
    if (answers.some(({ status }) => status === 409)) {
      // Nothing is kept, but the tokens that were given out in vain.
      for (const nonce of this.store.nonces) before.nonces.add(nonce);
      this.store = before;
    } else recordHistory(this.store, changes, now);
    return expected;
  }

  #account({ user }: Ask): Account | undefined {
    return user === undefined ? undefined : this.accounts.get(user);
  }

  /** Principals are found out once for the whole batch. */
  #batch(outer: Ask, hint: Reply, now: number, changes: Change[], person: Person): Expected {
    try {
      const asks = readBatch(outer, maxBatch);
      const record = recorder(changes, person);
      const entries = asks.map((ask, index) =>
        this.#one({ ask, hint: replyIn(hint, index), now, person, store: this.store, record }),
      );
      return batchAnswer(asks, entries);
    } catch (error) {
      if (error instanceof Refusal) return error.expected;
      throw error;
    }
  }

  #one(turn: Turn): Expected {
    try {
      return finished(turn.ask, this.#route(turn));
    } catch (error) {
      if (error instanceof Refusal) return finished(turn.ask, error.expected);
      if (error instanceof Collision) return { status: 409, errno: 122, headers: { 'retry-after': '3' }, body: {} };
      throw error;
    }
  }

  #route(turn: Turn): Expected {
    const { ask } = turn;
    const path = ask.target.split('?')[0]!;
    if (path === '/permissions') {
      return isRead(ask) ? answerPermissions(turn) : notAllowed('GET, HEAD, OPTIONS');
    }
    const listed = placeOf(path);
    if (listed === undefined) throw new Refusal(404, 111);
    const methods = listed.id !== undefined ? 'GET HEAD PUT PATCH DELETE' : 'GET HEAD POST DELETE';
    const served = listed.kind === 'history' ? 'GET HEAD DELETE' : methods;
    if (!served.split(' ').includes(ask.method)) return notAllowed('*');
    const place = placeOf(resolveAlias(turn, path, this.#account(ask)?.bucket))!;
    return place.id === undefined ? answerList(turn, place) : answerObject(turn, place);
  }
}

function recorder(changes: Change[], { id }: Person): Turn['record'] {
  return (change) => void changes.push({ ...change, userId: id });
}

function isRead({ method }: Ask): boolean {
  return method === 'GET' || method === 'HEAD';
}

function notAllowed(allow: string): Expected {
  return { status: 405, errno: 115, headers: { allow }, body: {} };
}

/** What holds for every answer: HEAD has no body, and nothing that was said to somebody is kept by caches. */
function finished(ask: Ask, expected: Expected): Expected {
  const isPersonal = ask.user !== undefined && isRead(ask);
  const headers = isPersonal ? { ...uncached, ...expected.headers } : expected.headers;
  return ask.method === 'HEAD'
    ? { ...expected, headers, body: undefined, nextPage: undefined }
    : { ...expected, headers };
}
