// The contract of security state as cases: counters that lose no increment, values that are taken once, and limits that
// refuse new entries and never evict a live one.
import assert from 'node:assert/strict';
import { SecurityStateFull } from '../../../contracts/errors.ts';
import type { SecurityEntry, SecurityState, SecurityStateLimits } from '../../../contracts/security-state.ts';
import type { ContractCase, TestClock } from '../contract-case.ts';

/** The limits with which the store is opened. */
export const securityStateLimits: SecurityStateLimits = { maxEntries: 12, maxEntriesPerRequester: 4 };

export interface SecurityStateContext {
  /** Empty, and with `securityStateLimits`. */
  readonly state: SecurityState;
  /** The clock that the store was opened with. */
  readonly clock: TestClock;
  /** Opens the same store again, as another process or a later one does. */
  readonly openAgain: () => Promise<SecurityState>;
}

export type SecurityStateCase = ContractCase<SecurityStateContext>;

function stateCase(name: string, run: (context: SecurityStateContext) => Promise<void>): SecurityStateCase {
  return { name, run };
}

function entry(key: string, requester?: string): SecurityEntry {
  return { purpose: 'test', key, requester };
}

function isFull(scope: SecurityStateFull['scope']): (error: unknown) => boolean {
  return (error) => error instanceof SecurityStateFull && error.scope === scope && error.retryAfterSeconds >= 1;
}

const window = { limit: 3, ttlSeconds: 60 };

async function fill(state: SecurityState, ttlSeconds = 60): Promise<void> {
  const { maxEntries } = securityStateLimits;
  for (let n = 0; n < maxEntries; n++) await state.put(entry(`filler-${n}`, `requester-${n}`), 'v', ttlSeconds);
}

const counters: readonly SecurityStateCase[] = [
  stateCase('a counter grows to its limit and then returns the seconds until it expires', async ({ state, clock }) => {
    for (let n = 0; n < 3; n++) assert.equal(await state.increment(entry('a'), window), undefined);
    clock.advance(20_000);
    assert.equal(await state.increment(entry('a'), window), 40);
    assert.equal(await state.increment(entry('b'), window), undefined);
  }),
  stateCase(
    'a counter starts anew when its window ends, and increments do not extend the window',
    async ({ state, clock }) => {
      await state.increment(entry('a'), window);
      clock.advance(59_000);
      for (let n = 0; n < 2; n++) assert.equal(await state.increment(entry('a'), window), undefined);
      assert.equal(await state.increment(entry('a'), window), 1);
      clock.advance(1000);
      for (let n = 0; n < 3; n++) assert.equal(await state.increment(entry('a'), window), undefined);
      assert.equal(await state.increment(entry('a'), window), 60);
    },
  ),
  stateCase('concurrent increments succeed exactly as often as the limit allows', async ({ state, openAgain }) => {
    const other = await openAgain();
    const options = { limit: 25, ttlSeconds: 60 };
    const outcomes = await Promise.all(
      Array.from({ length: 60 }, (_, n) => (n % 2 === 0 ? state : other).increment(entry('a', 'r'), options)),
    );
    assert.equal(outcomes.filter((outcome) => outcome === undefined).length, 25);
    assert.ok(outcomes.every((outcome) => outcome === undefined || outcome === 60));
  }),
  stateCase('an increment can be made again after a decrement', async ({ state }) => {
    for (let n = 0; n < 3; n++) await state.increment(entry('a'), window);
    await state.decrement(entry('a'));
    assert.equal(await state.increment(entry('a'), window), undefined);
    assert.equal(await state.increment(entry('a'), window), 60);
  }),
  stateCase('concurrent decrements are all counted', async ({ state }) => {
    const options = { limit: 20, ttlSeconds: 60 };
    for (let n = 0; n < 20; n++) await state.increment(entry('a'), options);
    await Promise.all(Array.from({ length: 12 }, () => state.decrement(entry('a'))));
    for (let n = 0; n < 12; n++) assert.equal(await state.increment(entry('a'), options), undefined);
    assert.equal(await state.increment(entry('a'), options), 60);
  }),
  stateCase('a decrement of an absent or expired counter gives no credit', async ({ state, clock }) => {
    await state.decrement(entry('a'));
    await state.increment(entry('b'), window);
    clock.advance(60_000);
    await state.decrement(entry('b'));
    for (const key of ['a', 'b']) {
      for (let n = 0; n < 3; n++) assert.equal(await state.increment(entry(key), window), undefined);
      assert.equal(await state.increment(entry(key), window), 60);
    }
  }),
  stateCase('a counter that returns to 0 leaves no entry', async ({ state }) => {
    for (let n = 0; n < 4; n++) {
      await state.increment(entry(`a${n}`, 'r'), window);
      await state.decrement(entry(`a${n}`));
    }
    await state.increment(entry('b', 'r'), window);
  }),
];

const values: readonly SecurityStateCase[] = [
  stateCase('a value is returned until it expires', async ({ state, clock }) => {
    assert.equal(await state.get(entry('a')), undefined);
    await state.put(entry('a'), 'value with blanks: 1 2', 0.5);
    clock.advance(499);
    assert.equal(await state.get(entry('a')), 'value with blanks: 1 2');
    clock.advance(1);
    assert.equal(await state.get(entry('a')), undefined);
  }),
  stateCase('a later value replaces an earlier one and its time to live', async ({ state, clock }) => {
    await state.put(entry('a'), 'old', 10);
    await state.put(entry('a'), 'new', 60);
    clock.advance(11_000);
    assert.equal(await state.get(entry('a')), 'new');
    assert.equal(await state.take(entry('a'), 'old'), false);
  }),
  stateCase(
    'a value is added when the key has none, once of many concurrent times',
    async ({ state, clock, openAgain }) => {
      const other = await openAgain();
      const adding = Array.from({ length: 20 }, (_, n) => (n % 2 === 0 ? state : other).add(entry('a', 'r'), 'v', 60));
      assert.equal((await Promise.all(adding)).filter(Boolean).length, 1);
      clock.advance(60_000);
      assert.equal(await state.add(entry('a', 'r'), 'v', 60), true);
    },
  ),
  stateCase('exactly one of many concurrent callers takes a value', async ({ state, openAgain }) => {
    const other = await openAgain();
    await state.put(entry('a'), 'v', 60);
    const taken = await Promise.all(
      Array.from({ length: 20 }, (_, n) => (n % 2 === 0 ? state : other).take(entry('a'), 'v')),
    );
    assert.equal(taken.filter(Boolean).length, 1);
    assert.equal(await state.get(entry('a')), undefined);
  }),
  stateCase('taking with another value leaves the value', async ({ state }) => {
    await state.put(entry('a'), 'v', 60);
    for (const wrong of ['', 'V', 'v ', 'vv']) assert.equal(await state.take(entry('a'), wrong), false);
    assert.equal(await state.take({ purpose: 'other', key: 'a' }, 'v'), false);
    assert.equal(await state.take(entry('a'), 'v'), true);
  }),
  stateCase('expired and removed values cannot be taken', async ({ state, clock }) => {
    await state.put(entry('a'), 'v', 10);
    await state.put(entry('b'), 'v', 60);
    clock.advance(10_000);
    await state.remove(entry('b'));
    assert.equal(await state.take(entry('a'), 'v'), false);
    assert.equal(await state.take(entry('b'), 'v'), false);
  }),
  stateCase('a value is replaced for the rest of its time', async ({ state, clock }) => {
    await state.put(entry('a', 'r'), 'v', 60);
    clock.advance(20_000);
    assert.equal(await state.replace(entry('a'), 'v', 'w'), true);
    assert.equal(await state.get(entry('a')), 'w');
    clock.advance(39_000);
    assert.equal(await state.replace(entry('a'), 'w', 'v'), true);
    assert.equal(await state.get(entry('a')), 'v');
    clock.advance(1000);
    assert.equal(await state.replace(entry('a'), 'v', 'w'), false);
    assert.equal(await state.get(entry('a')), undefined);
  }),
  stateCase('exactly one of many concurrent callers replaces a value', async ({ state, openAgain }) => {
    const other = await openAgain();
    await state.put(entry('a'), 'v', 60);
    const marks = Array.from({ length: 20 }, (_, n) => `mark ${n}`);
    const outcomes = await Promise.all(
      marks.map((mark, n) => (n % 2 === 0 ? state : other).replace(entry('a'), 'v', mark)),
    );
    assert.deepEqual(
      marks.filter((_, n) => outcomes[n]),
      [await state.get(entry('a'))],
    );
  }),
  stateCase('an absent or another value is not replaced', async ({ state }) => {
    await state.put(entry('a'), 'v', 60);
    for (const wrong of ['', 'V', 'v ', 'vv']) assert.equal(await state.replace(entry('a'), wrong, 'w'), false);
    assert.equal(await state.replace({ purpose: 'other', key: 'a' }, 'v', 'w'), false);
    assert.equal(await state.get(entry('a')), 'v');
    await state.remove(entry('a'));
    assert.equal(await state.replace(entry('a'), 'v', 'w'), false);
    assert.equal(await state.get(entry('a')), undefined);
  }),
  stateCase('keys and purposes are compared byte for byte', async ({ state }) => {
    const keys = ['a', 'A', 'a%', 'a_', 'a*', 'constructor', '__proto__', 'a:entries'];
    for (const key of keys) await state.put(entry(key), `of ${key}`, 60);
    await state.put({ ...entry('a'), purpose: 'test:a' }, 'other', 60);
    await state.remove(entry('a_'));
    for (const key of keys) assert.equal(await state.get(entry(key)), key === 'a_' ? undefined : `of ${key}`);
    assert.equal(await state.get({ purpose: 'test:a', key: 'a' }), 'other');
  }),
];

const limits: readonly SecurityStateCase[] = [
  stateCase('a requester at its limit gets no more entries, and other requesters do', async ({ state }) => {
    for (let n = 0; n < 4; n++) await state.put(entry(`a${n}`, 'r'), 'v', 60);
    await assert.rejects(state.put(entry('b', 'r'), 'v', 60), isFull('requester'));
    await assert.rejects(state.add(entry('b', 'r'), 'v', 60), isFull('requester'));
    await assert.rejects(state.increment(entry('b', 'r'), window), isFull('requester'));
    await state.put(entry('b', 'other'), 'v', 60);
    await state.put({ ...entry('b', 'r'), purpose: 'other' }, 'v', 60);
    for (let n = 0; n < 4; n++) assert.equal(await state.get(entry(`a${n}`)), 'v');
  }),
  stateCase('a call may lower the limit of its requester', async ({ state }) => {
    const low = { maxPerRequester: 1 };
    await state.put({ ...entry('a', 'r'), ...low }, 'v', 60);
    await assert.rejects(state.put({ ...entry('b', 'r'), ...low }, 'v', 60), isFull('requester'));
    await state.put(entry('b', 'r'), 'v', 60);
  }),
  stateCase(
    'a full purpose refuses new entries, keeps all live ones, and leaves other purposes alone',
    async ({ state }) => {
      await fill(state);
      await assert.rejects(state.put(entry('a', 'r'), 'v', 60), isFull('purpose'));
      await assert.rejects(state.put(entry('a'), 'v', 60), isFull('purpose'));
      await assert.rejects(state.increment(entry('a', 'r'), window), isFull('purpose'));
      for (let n = 0; n < 12; n++) assert.equal(await state.get(entry(`filler-${n}`)), 'v');
      await state.put({ ...entry('a', 'r'), purpose: 'other' }, 'v', 60);
    },
  ),
  stateCase(
    'entries that are bound elsewhere fit into a full purpose, within the limit of their requester',
    async ({ state }) => {
      await fill(state);
      const bound = { isBoundElsewhere: true };
      for (let n = 0; n < 4; n++) await state.put({ ...entry(`a${n}`, 'r'), ...bound }, 'v', 60);
      await assert.rejects(state.put({ ...entry('b', 'r'), ...bound }, 'v', 60), isFull('requester'));
      await assert.rejects(state.put(entry('b', 'other'), 'v', 60), isFull('purpose'));
    },
  ),
  stateCase(
    'keys with live entries are usable while the purpose and the requester are at their limits',
    async ({ state }) => {
      for (let n = 0; n < 3; n++) await state.put(entry(`a${n}`, 'r'), 'v', 60);
      await state.increment(entry('count', 'r'), window);
      for (let n = 0; n < 8; n++) await state.put(entry(`b${n}`, `r${n}`), 'v', 60);
      assert.equal(await state.increment(entry('count', 'stranger'), window), undefined);
      await state.put(entry('a0', 'stranger'), 'new', 60);
      assert.equal(await state.add(entry('a1', 'stranger'), 'new', 60), false);
      assert.equal(await state.take(entry('a0'), 'new'), true);
    },
  ),
  stateCase('taken, removed and zero entries make room', async ({ state }) => {
    await state.put(entry('a', 'r'), 'v', 60);
    await state.put(entry('b', 'r'), 'v', 60);
    await state.increment(entry('c', 'r'), window);
    await state.put(entry('d', 'r'), 'v', 60);
    await state.take(entry('a'), 'v');
    await state.remove(entry('b'));
    await state.decrement(entry('c'));
    for (const key of ['e', 'f', 'g']) await state.put(entry(key, 'r'), 'v', 60);
    await assert.rejects(state.put(entry('h', 'r'), 'v', 60), isFull('requester'));
  }),
  stateCase('expired entries make room for the requester and for all', async ({ state, clock }) => {
    await fill(state, 10);
    clock.advance(10_000);
    for (let n = 0; n < 4; n++) await state.put(entry(`a${n}`, 'r'), 'v', 10);
    clock.advance(10_000);
    for (let n = 0; n < 4; n++) await state.put(entry(`b${n}`, 'r'), 'v', 10);
    await assert.rejects(state.put(entry('c', 'r'), 'v', 60), isFull('requester'));
  }),
  stateCase('an expired key becomes an entry of the next requester that stores it', async ({ state, clock }) => {
    await state.put(entry('a', 'first'), 'v', 10);
    clock.advance(10_000);
    for (let n = 0; n < 4; n++) await state.put(entry(`b${n}`, 'second'), 'v', 60);
    await assert.rejects(state.put(entry('a', 'second'), 'v', 60), isFull('requester'));
    await state.put(entry('a', 'first'), 'v', 60);
  }),
  stateCase('a replaced value counts against its requester once', async ({ state }) => {
    await state.put(entry('a', 'r'), 'v', 60);
    await state.put(entry('b', 'r'), 'v', 60);
    assert.equal(await state.replace(entry('a'), 'v', 'w'), true);
    await state.put(entry('c', 'r'), 'v', 60);
    for (const key of ['d', 'e', 'f']) await state.put(entry(key, 'r'), 'v', 60).catch(() => undefined);
    await assert.rejects(state.put(entry('g', 'r'), 'v', 60), isFull('requester'));
    assert.equal(await state.replace(entry('a'), 'w', 'v'), true);
    assert.equal(await state.take(entry('a'), 'v'), true);
    await state.put(entry('g', 'r'), 'v', 60);
  }),
];

const whole: readonly SecurityStateCase[] = [
  stateCase('a flush removes everything and makes room', async ({ state }) => {
    await fill(state);
    await state.put({ ...entry('a'), purpose: 'other' }, 'v', 60);
    await state.flush();
    assert.equal(await state.get(entry('filler-0')), undefined);
    assert.equal(await state.get({ purpose: 'other', key: 'a' }), undefined);
    await fill(state);
  }),
  stateCase('initializing the schema again keeps everything', async ({ state }) => {
    await state.put(entry('a'), 'v', 60);
    assert.deepEqual(await state.initializeSchema({ dryRun: true }), []);
    await state.initializeSchema({ dryRun: false });
    assert.equal(await state.get(entry('a')), 'v');
  }),
];

/** Each case needs an empty store of its own. */
export const securityStateCases: readonly SecurityStateCase[] = [...counters, ...values, ...limits, ...whole];

/** For stores that outlive the process. */
export const durableSecurityStateCases: readonly SecurityStateCase[] = [
  stateCase('counters, values and limits survive closing and opening the store', async ({ state, openAgain }) => {
    for (let n = 0; n < 3; n++) await state.increment(entry('count', 'r'), window);
    for (let n = 0; n < 3; n++) await state.put(entry(`a${n}`, 'r'), 'v', 60);
    await state.close();
    const later = await openAgain();
    assert.equal(await later.increment(entry('count', 'r'), window), 60);
    await assert.rejects(later.put(entry('b', 'r'), 'v', 60), isFull('requester'));
    assert.equal(await later.take(entry('a0'), 'v'), true);
    assert.equal(await later.take(entry('a0'), 'v'), false);
    await later.put(entry('b', 'r'), 'v', 60);
  }),
];
