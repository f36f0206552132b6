// Reads of one list. Each is a script and so a snapshot: clock, version and entries belong together. Every commit replaces the
// version, so two reads that found the same version have seen the same list.
import { largeTextChars } from '../../base/json-steps.ts';
import type { ListState } from '../../core/lists/list-state.ts';
import type { KeyRows } from '../../core/index/find-entries.ts';
import type { KeyRange } from '../../core/index/page-ranges.ts';
import { lostKeys } from './errors.ts';
import { boundsOf, parseMember } from './index-members.ts';
import { StoredObject, type ListKey, type StoredEntry } from '../../core/objects/stored.ts';
import type { RequireRoom } from '../../contracts/storage.ts';
import type { TimestampRange } from '../../core/query/timestamp-range.ts';
import type { RedisClient } from './client.ts';
import type { Keys } from './keys.ts';
import { unlimited, type Allowance } from './long-reads.ts';
import { script } from './script.ts';

/** Which entries a read selects: live objects, tombstones, or both. */
export type Part = 'live' | 'dead' | 'both';

/** The hash of a list. The replies of all scripts begin with it. */
export interface ListVersion extends Pick<ListState, 'clock' | 'horizon'> {
  /** `''` when the list was never written. */
  readonly version: string;
}

export interface ListRange extends ListVersion {
  /** In order, at most the requested number. */
  readonly entries: readonly StoredEntry[];
  /** Whether more entries of the range may follow. */
  readonly more: boolean;
}

/** The state of a list in one version. */
export interface VersionedList extends ListState {
  readonly version: string;
}

export interface ListHead extends VersionedList {
  /** One for each requested id; `undefined` when the id has neither object nor tombstone. */
  readonly entries: readonly (StoredEntry | undefined)[];
}

interface RangeOptions {
  readonly isDescending: boolean;
  readonly limit: number;
  readonly allowance: Allowance;
}

export interface HeadOptions {
  /** Default: unlimited. */
  readonly allowance?: Allowance;
  /** Called before long texts are read. */
  readonly requireRoom?: RequireRoom | undefined;
}

export interface LeaseOptions {
  /** Mark of the process. */
  readonly mark: string;
  /** Whether the process takes a lease. */
  readonly takes: boolean;
  /** Whether the process gets the next lease when another one has the lease. */
  readonly reserves: boolean;
}

/**
 * Common start of all scripts: the state of the list and its number of objects. Each object has a text and a timestamp, and
 * each list that has entries a version. If not, the server has lost one of the keys, and the list would appear shorter than it is,
 * or give a timestamp again.
 */
const readState = `
local state = redis.call('HMGET', KEYS[1], 'c', 'v', 'h')
local count = redis.call('ZCARD', KEYS[3])
if count ~= redis.call('HLEN', KEYS[2]) or (not state[2] and redis.call('EXISTS', KEYS[3], KEYS[4]) > 0) then
  return redis.error_reply('${lostKeys}')
end
`;

const rangeScript = script(`${readState}
local function walk(key)
  if ARGV[2] == '1' then
    return redis.call('ZREVRANGEBYSCORE', key, ARGV[4], ARGV[3], 'WITHSCORES', 'LIMIT', 0, ARGV[5])
  end
  return redis.call('ZRANGEBYSCORE', key, ARGV[3], ARGV[4], 'WITHSCORES', 'LIMIT', 0, ARGV[5])
end
local live = ARGV[1] ~= 'dead' and walk(KEYS[3]) or {}
local dead = ARGV[1] ~= 'live' and walk(KEYS[4]) or {}
local limit, down = tonumber(ARGV[5]), ARGV[2] == '1'
local ids, scores, alive = {}, {}, {}
local a, b = 1, 1
while #ids < limit and (live[a] or dead[b]) do
  local take = not dead[b]
  if live[a] and dead[b] then
    take = (tonumber(live[a + 1]) > tonumber(dead[b + 1])) == down
  end
  local n = #ids + 1
  if take then
    ids[n], scores[n], alive[n] = live[a], live[a + 1], true
    a = a + 2
  else
    ids[n], scores[n], alive[n] = dead[b], dead[b + 1], false
    b = b + 2
  end
end
local rows, bytes, most, keepsFirst = {}, 0, tonumber(ARGV[6]), ARGV[7] == '1'
for n = 1, #ids do
  local text = false
  if alive[n] then
    text = redis.call('HGET', KEYS[2], ids[n])
    bytes = bytes + #text
    if bytes > most and not (keepsFirst and n == 1) then break end
  end
  rows[#rows + 1] = ids[n]
  rows[#rows + 1] = scores[n]
  rows[#rows + 1] = text
end
return { state[1], state[2], state[3], rows, #ids }
`);

const noLimit = Number.MAX_SAFE_INTEGER;

/**
 * Common part of the head scripts: the state of the list, and the object or tombstone of each id. Texts longer than
 * `longest` are replaced by their lengths.
 */
const readHead = `${readState}
local function readHead(ids, first, most, keepsFirst, longest)
  local rows, bytes = {}, 0
  for n = first, #ids do
    local text = redis.call('HGET', KEYS[2], ids[n])
    if text and #text > longest then text = #text
    elseif text then bytes = bytes + #text end
    if bytes > most and not (keepsFirst and n == first) then break end
    rows[#rows + 1] = redis.call('ZSCORE', KEYS[3], ids[n])
    rows[#rows + 1] = redis.call('ZSCORE', KEYS[4], ids[n])
    rows[#rows + 1] = text
  end
  return { state[1], state[2], state[3], count, redis.call('ZCARD', KEYS[4]), rows }
end
`;

const headScript = script(`${readHead}
return readHead(ARGV, 4, tonumber(ARGV[1]), ARGV[2] == '1', tonumber(ARGV[3]))
`);

/**
 * The head, unless another process has a lease on the list. A process that waits gets the next lease. Arguments: mark of the
 * process, milliseconds of the lease and of the reservation of the next one (0: none), ids.
 */
const lockScript = script(`${readHead}
local holder, next = redis.call('GET', KEYS[5]), redis.call('GET', KEYS[6])
if (holder and holder ~= ARGV[1]) or (not holder and next and next ~= ARGV[1]) then
  if not next and ARGV[3] ~= '0' then redis.call('SET', KEYS[6], ARGV[1], 'PX', ARGV[3]) end
  return false
end
if ARGV[2] ~= '0' then
  redis.call('SET', KEYS[5], ARGV[1], 'PX', ARGV[2])
  if next == ARGV[1] then redis.call('DEL', KEYS[6]) end
end
return readHead(ARGV, 4, math.huge, true, math.huge)
`);

/** Duration of a lease that no commit ends. */
const leaseMs = 2000;
/** Time for which a list stays reserved for the process that waits for it. */
const reservationMs = 50;

const countScript = script(`${readState}
local total = 0
if ARGV[1] ~= 'dead' then total = total + redis.call('ZCOUNT', KEYS[3], ARGV[2], ARGV[3]) end
if ARGV[1] ~= 'live' then total = total + redis.call('ZCOUNT', KEYS[4], ARGV[2], ARGV[3]) end
return { state[1], state[2], state[3], total }
`);

/** The ids of the entries that have one of the timestamps. */
const idsAtScript = script(`${readState}
local ids = {}
for n = 1, #ARGV do
  for key = 3, 4 do
    for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[key], ARGV[n], ARGV[n])) do ids[#ids + 1] = id end
  end
end
return { state[1], state[2], state[3], ids }
`);

/** Members of the indexes in ranges: for each its ends, its limit, and whether it is read from its end. */
const membersScript = script(`${readState}
local found = {}
for n = 1, #ARGV, 4 do
  if ARGV[n + 3] == '1' then
    found[#found + 1] = redis.call('ZREVRANGEBYLEX', KEYS[5], ARGV[n + 1], ARGV[n], 'LIMIT', 0, ARGV[n + 2])
  else
    found[#found + 1] = redis.call('ZRANGEBYLEX', KEYS[5], ARGV[n], ARGV[n + 1], 'LIMIT', 0, ARGV[n + 2])
  end
end
return { state[1], state[2], state[3], count, found }
`);

const countMembersScript = script(`${readState}
local total = 0
for n = 1, #ARGV, 2 do total = total + redis.call('ZLEXCOUNT', KEYS[5], ARGV[n], ARGV[n + 1]) end
return { state[1], state[2], state[3], total }
`);

type Reply = readonly [
  clock: string | null,
  version: string | null,
  horizon: string | null,
  ...rest: readonly unknown[],
];

export class ListReads {
  readonly #client: RedisClient;
  readonly #keys: Keys;

  constructor(client: RedisClient, keys: Keys) {
    this.#client = client;
    this.#keys = keys;
  }

  /**
   * Reads the first entries in the range, by timestamp.
   *
   * @throws ReadIsLong
   */
  async range(
    list: ListKey,
    part: Part,
    { low, high }: TimestampRange,
    { isDescending, limit, allowance }: RangeOptions,
  ): Promise<ListRange> {
    const order = [part, isDescending ? '1' : '0', formatBound(low), formatBound(high), limit];
    const args = [...order, ...limitOf(allowance)];
    const reply = (await this.#client.query('storage', rangeScript, this.#keys.list(list), args)) as Reply;
    const rows = reply[3] as readonly (string | null)[];
    const entries: StoredEntry[] = [];
    for (let at = 0; at < rows.length; at += 3) entries.push(entryOf(rows[at]!, rows[at + 1]!, rows[at + 2] ?? null));
    const selected = Number(reply[4]);
    allowance.take(entries, entries.length < selected);
    return { ...versionOf(reply), entries, more: entries.length < selected || selected === limit };
  }

  /**
   * Reads the state of a list and the entries of all ids, or of the first ids when the texts are long.
   *
   * @throws ReadIsLong
   */
  async head(
    list: ListKey,
    ids: readonly string[],
    { allowance = unlimited, requireRoom }: HeadOptions = {},
  ): Promise<ListHead> {
    const args = [...limitOf(allowance), requireRoom === undefined ? noLimit : largeTextChars, ...ids];
    const reply = (await this.#client.query('storage', headScript, this.#keys.list(list), args)) as Reply;
    const rows = reply[5] as readonly unknown[];
    const lengths = rows.filter((value) => typeof value === 'number');
    if (lengths.length > 0) {
      requireRoom?.(lengths.reduce((sum, length) => sum + length, 0));
      return this.head(list, ids, { allowance });
    }
    const head = headOf(reply, ids.slice(0, rows.length / 3));
    const entries = head.entries.filter((entry) => entry !== undefined);
    allowance.take(entries, head.entries.length < ids.length);
    return head;
  }

  /** Reads the head, unless another process than the marked one has a lease on the list. */
  async lock(
    list: ListKey,
    ids: readonly string[],
    { mark, takes, reserves }: LeaseOptions,
  ): Promise<ListHead | undefined> {
    const keys = [...this.#keys.list(list), ...this.#keys.lease(list)];
    const args = [mark, takes ? leaseMs : 0, reserves ? reservationMs : 0, ...ids];
    const reply = (await this.#client.query('storage', lockScript, keys, args)) as Reply | null;
    return reply === null ? undefined : headOf(reply, ids);
  }

  /** Reads ranges of the declared indexes. */
  async members(list: ListKey, ranges: readonly KeyRange[]): Promise<ListVersion & KeyRows> {
    const args = ranges.flatMap((range) => {
      return [...boundsOf(range), Math.min(range.limit, noLimit), range.isReverse ? '1' : '0'];
    });
    const keys = [...this.#keys.list(list), ...this.#keys.indexes(list)];
    const reply = (await this.#client.query('storage', membersScript, keys, args)) as Reply;
    const rows = (reply[4] as readonly (readonly string[])[]).map((members) => members.map(parseMember));
    return { ...versionOf(reply), live: Number(reply[3]), rows };
  }

  /** Counts the objects in ranges of the declared indexes. */
  async countMembers(list: ListKey, ranges: readonly KeyRange[]): Promise<ListVersion & { readonly total: number }> {
    const keys = [...this.#keys.list(list), ...this.#keys.indexes(list)];
    const args = ranges.flatMap((range) => boundsOf(range));
    const reply = (await this.#client.query('storage', countMembersScript, keys, args)) as Reply;
    return { ...versionOf(reply), total: Number(reply[3]) };
  }

  /** Counts the entries with a timestamp in the range. */
  async count(
    list: ListKey,
    part: Part,
    { low, high }: TimestampRange,
  ): Promise<ListVersion & { readonly total: number }> {
    const args = [part, formatBound(low), formatBound(high)];
    const reply = (await this.#client.query('storage', countScript, this.#keys.list(list), args)) as Reply;
    return { ...versionOf(reply), total: Number(reply[3]) };
  }

  /** Reads the ids of the objects and tombstones that have one of the timestamps. */
  async idsAt(
    list: ListKey,
    timestamps: readonly number[],
  ): Promise<ListVersion & { readonly ids: readonly string[] }> {
    const reply = (await this.#client.query('storage', idsAtScript, this.#keys.list(list), timestamps)) as Reply;
    return { ...versionOf(reply), ids: reply[3] as readonly string[] };
  }

  /** Returns clock, horizon and version of a list. */
  async version(list: ListKey): Promise<ListVersion> {
    return versionOf((await this.#client.read('storage', 'HMGET', this.#keys.meta(list), 'c', 'v', 'h')) as Reply);
  }
}

function headOf(reply: Reply, ids: readonly string[]): ListHead {
  const rows = reply[5] as readonly (string | null)[];
  const entries = ids.map((id, index) => {
    const [live = null, dead = null, text = null] = rows.slice(3 * index, 3 * index + 3);
    if (live !== null) return entryOf(id, live, text);
    return dead === null ? undefined : entryOf(id, dead, null);
  });
  return { ...versionOf(reply), live: Number(reply[3]), dead: Number(reply[4]), entries };
}

function limitOf(allowance: Allowance): readonly [bytes: number, keepsFirst: string] {
  const { bytes, isFirstKept } = allowance.next();
  return [bytes, isFirstKept ? '1' : '0'];
}

function versionOf([clock, version, horizon]: Reply): ListVersion {
  return { clock: clock === null ? undefined : Number(clock), version: version ?? '', horizon: Number(horizon ?? 0) };
}

function entryOf(id: string, timestamp: string, text: string | null): StoredEntry {
  const lastModified = Number(timestamp);
  return text === null ? { id, lastModified, deleted: true } : new StoredObject(id, lastModified, text);
}

function formatBound(value: number): string {
  if (value === Infinity) return '+inf';
  return value === -Infinity ? '-inf' : String(value);
}
