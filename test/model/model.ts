// The protocol once more, as a value: it remembers what a service must remember, and says what it must answer. It has
// nothing in common with the service but the specification.
import { isForged } from './attachment-field.ts';
import { answerAttachment, answerFile, checkForm, recordOfAttachment } from './attachments.ts';
import { batchAnswer, readBatch, replyIn } from './batch.ts';
import { pathOf, Refusal, requireNone, uncached, type Ask, type Expected, type Reply } from './exchange.ts';
import { recordHistory } from './history.ts';
import { answerList } from './list-verbs.ts';
import { answerObject } from './object-verbs.ts';
import { answerPermissions } from './permissions-view.ts';
import { resolveAlias } from './personal-bucket.ts';
import { placeOf } from './places.ts';
import { badIds, requireGoodIds } from './refused-ids.ts';
import { mayAll, personOf, type Person } from './rights.ts';
import { answerSnapshot, snapshotAt } from './snapshots.ts';
import { Collision, Store } from './store.ts';
import type { Change, Turn } from './turn.ts';
import { grantsFor, type World } from './world.ts';

/** The facts about its service that a model needs. */
export interface Setup {
  readonly world: World;
  readonly accounts: ReadonlyMap<string, Account>;
}

/** The entry of a user in the root view. */
export interface Account {
  readonly id: string;
  /** Id of the personal bucket. */
  readonly bucket: string;
  /** What a request says to come from them. */
  readonly authorization: string;
}

/** Maximum number of entries of a batch, as in the settings of the service. */
export const maxBatch = 100;

export class Model {
  readonly setup: Setup;
  readonly #grants: ReadonlyMap<string, readonly string[]>;
  store = new Store();
  #files: Turn['files'] = new Map();

  constructor(setup: Setup) {
    this.setup = setup;
    this.#grants = grantsFor(setup.world, (user) => setup.accounts.get(user)!.id);
  }

  get accounts(): ReadonlyMap<string, Account> {
    return this.setup.accounts;
  }

  /** What has to be answered at this time; `hint` is what was. */
  answer(ask: Ask, hint: Reply, now: number): Expected {
    const before = isRead(ask) ? this.store : new Store(this.store);
    this.#files = before.files;
    const changes: Change[] = [];
    const isBatch = ask.target === '/batch';
    const expected = isBatch
      ? this.#batch(ask, hint, now, changes)
      : this.#one(this.#turn({ ask, hint, now, person: this.#person(ask.user), changes }));
    const answers = expected.entries ?? [expected];
    const isConflict = answers.some(({ status }) => status === 409);
    const isRefused = isBatch && expected.status === 400;
    const isForging = this.setup.world.hasAttachments && changes.some(isForged);
    if (isConflict || isRefused || isForging) {
      // Nothing is kept, but what was given out in vain.
      for (const nonce of this.store.nonces) before.nonces.add(nonce);
      for (const location of this.store.locations) before.locations.add(location);
      this.store = before;
      return isConflict || isRefused ? expected : { status: 400, errno: 999, headers: {}, body: {} };
    } else if (this.setup.world.hasHistory) recordHistory(this.store, changes, now);
    return expected;
  }

  /** Whether everything in the list is the user's to change. */
  mayChangeAll(user: string | undefined, list: string): boolean {
    return mayAll(this.store, this.#person(user), placeOf(list)!, 'write');
  }

  #account({ user }: Ask): Account | undefined {
    return user === undefined ? undefined : this.accounts.get(user);
  }

  #person(user: string | undefined): Person {
    return personOf(this.store, user === undefined ? undefined : this.accounts.get(user)?.id, this.#grants);
  }

  #turn({
    changes,
    ...given
  }: Omit<Turn, 'store' | 'files' | 'world' | 'record' | 'changes'> & { readonly changes: Change[] }): Turn {
    const { id: userId } = given.person;
    const record: Turn['record'] = (change) => void changes.push({ ...change, userId });
    return { ...given, changes, record, store: this.store, files: this.#files, world: this.setup.world };
  }

  /** The principals of a caller are determined once for the whole batch, at its first entry of that caller. */
  #batch(outer: Ask, hint: Reply, now: number, changes: Change[]): Expected {
    try {
      const known = [...this.accounts];
      const userOf = (given: string): string | undefined =>
        known.find(([, { authorization }]) => authorization === given)?.[0];
      const asks = readBatch(outer, maxBatch, userOf);
      const people = new Map<string | undefined, Person>();
      const entries = asks.map((ask, index) => {
        const person = people.get(ask.user) ?? this.#person(ask.user);
        people.set(ask.user, person);
        return this.#one(this.#turn({ ask, hint: replyIn(hint, index), now, person, changes }));
      });
      if (asks.some((ask, index) => isFile(ask) && entries[index]!.status === 200)) {
        throw new Refusal(400, 107, [{ location: 'body', name: 'requests' }]);
      }
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
    const path = pathOf(ask);
    if (path === '/permissions') {
      return isRead(ask) ? answerPermissions(turn) : notAllowed('GET, HEAD, OPTIONS');
    }
    if (this.setup.world.hasAttachments) {
      const record = recordOfAttachment(path);
      if (record !== undefined) return this.#routeAttachment(turn, path);
      if (path.startsWith('/attachments/')) return isRead(ask) ? answerFile(turn, path) : notAllowed('*');
    }
    if (this.setup.world.hasHistory && snapshotAt(path) !== undefined) {
      if (!isRead(ask)) return notAllowed('*');
      return answerSnapshot(turn, snapshotAt(resolveAlias(turn, path, this.#account(ask)?.bucket))!);
    }
    const listed = placeOf(path);
    if (listed === undefined || (listed.kind === 'history' && !this.setup.world.hasHistory)) {
      throw new Refusal(404, 111);
    }
    const methods = listed.id !== undefined ? 'GET HEAD PUT PATCH DELETE' : 'GET HEAD POST DELETE';
    const served = listed.kind === 'history' ? 'GET HEAD DELETE' : methods;
    if (!served.split(' ').includes(ask.method)) return notAllowed('*');
    const type = ask.headers['content-type'] ?? 'application/json';
    if ((ask.method === 'PUT' || ask.method === 'POST') && type !== 'application/json') {
      throw new Refusal(415, 107, [{ location: 'header', name: 'Content-Type' }]);
    }
    const place = placeOf(resolveAlias(turn, path, this.#account(ask)?.bucket))!;
    requireGoodIds(turn, place);
    return place.id === undefined ? answerList(turn, place) : answerObject(turn, place);
  }

  #routeAttachment(turn: Turn, path: string): Expected {
    const { ask, person } = turn;
    if (ask.method !== 'POST' && ask.method !== 'DELETE') return notAllowed('*');
    const isAlias = path.startsWith('/buckets/default/');
    const given = recordOfAttachment(path)!;
    const bucket = this.#account(ask)?.bucket;
    const issues = badIds(given);
    const hasCollection = turn.store.find(`/buckets/${bucket}/collections/${given.collection}`) !== undefined;
    if (!isAlias) requireNone(issues);
    else if (person.id !== undefined && issues.length === 0 && !hasCollection) checkForm(ask);
    return answerAttachment(turn, recordOfAttachment(resolveAlias(turn, path, bucket))!);
  }
}

function isRead({ method }: Ask): boolean {
  return method === 'GET' || method === 'HEAD';
}

/** Files are not to be had in a batch. */
function isFile({ method, target }: Ask): boolean {
  return method === 'GET' && target.startsWith('/attachments/');
}

function notAllowed(allow: string): Expected {
  return { status: 405, errno: 115, headers: { allow }, body: {} };
}

/** Applies the rules for all responses: HEAD has no body, and caches do not store responses to authenticated callers. */
function finished(ask: Ask, expected: Expected): Expected {
  const isPersonal = (ask.user !== undefined || ask.headers['authorization'] !== undefined) && isRead(ask);
  const headers = isPersonal ? { ...uncached, ...expected.headers } : expected.headers;
  return ask.method === 'HEAD'
    ? { ...expected, headers, body: undefined, nextPage: undefined }
    : { ...expected, headers };
}
