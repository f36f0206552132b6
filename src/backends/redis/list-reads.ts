// Reads of one list. Each is a script and so a snapshot, in which clock, version and entries belong together. Every commit
// replaces the version, so two reads with the same version have read the same state of the list.
import { StoredObject, type ListKey, type StoredEntry } from '../../core/objects/stored.ts';
import type { TimestampRange } from '../../core/query/timestamp-range.ts';
import type { RedisClient } from './client.ts';
import type { Keys } from './keys.ts';
import { script, type Script } from './script.ts';

/** Live objects, tombstones, or both. */
export type Part = 'live' | 'dead' | 'both';

/** The state of a list in its hash, with which every reply of a script begins. */
export interface ListState {
  /** `undefined` when the list was never written. */
  readonly clock: number | undefined;
  /** `''` when the list was never written. */
  readonly version: string;
  /** Highest timestamp of a deletion without a tombstone; 0 when every deletion has one. */
  readonly horizon: number;
}

export interface ListRange extends ListState {
  /** The entries in order, at most the requested number. */
  readonly entries: readonly StoredEntry[];
  /** Whether more entries of the range may follow. */
  readonly more: boolean;
}

/** The state of a list with the numbers of its objects and tombstones. */
export interface ListCounts extends ListState {
  readonly liveCount: number;
  readonly deadCount: number;
}

export interface ListHead extends ListCounts {
  /** The object or tombstone of each requested id; `undefined` when the list has neither. */
  readonly entries: readonly (StoredEntry | undefined)[];
}

const rangeScript = script(`
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
local rows, bytes, most = {}, 0, tonumber(ARGV[6])
for n = 1, #ids do
  local text = false
  if alive[n] then
    text = redis.call('HGET', KEYS[2], ids[n])
    bytes = bytes + #text
  end
  rows[#rows + 1] = ids[n]
  rows[#rows + 1] = scores[n]
  rows[#rows + 1] = text
  if bytes > most then break end
end
local state = redis.call('HMGET', KEYS[1], 'c', 'v', 'h')
return { state[1], state[2], state[3], rows, #ids }
`);

/** Length in bytes after which a script stops reading texts; it runs again for the rest. */
export const mostReplyBytes = 8_000_000;

/** Part of the head scripts: reads the state, the numbers of objects and tombstones, and the entry of each id. */
const readHead = `
local function readHead(ids, first, most)
  local rows, bytes = {}, 0
  for n = first, #ids do
    local text = redis.call('HGET', KEYS[2], ids[n])
    rows[#rows + 1] = redis.call('ZSCORE', KEYS[3], ids[n])
    rows[#rows + 1] = redis.call('ZSCORE', KEYS[4], ids[n])
    rows[#rows + 1] = text
    if text then bytes = bytes + #text end
    if bytes > most then break end
  end
  local state = redis.call('HMGET', KEYS[1], 'c', 'v', 'h')
  return { state[1], state[2], state[3], redis.call('ZCARD', KEYS[3]), redis.call('ZCARD', KEYS[4]), rows }
end
`;

const headScript = script(`${readHead}
return readHead(ARGV, 2, tonumber(ARGV[1]))
`);

/**
 * Reads the head unless another process has leased the list. A process that has to wait reserves the next lease. Arguments:
 * mark of the process, milliseconds of the lease (0 means none) and of the reservation, ids.
 */
const lockScript = script(`${readHead}
local holder, next = redis.call('GET', KEYS[5]), redis.call('GET', KEYS[6])
if (holder and holder ~= ARGV[1]) or (not holder and next and next ~= ARGV[1]) then
  if not next then redis.call('SET', KEYS[6], ARGV[1], 'PX', ARGV[3]) end
  return false
end
if ARGV[2] ~= '0' then
  redis.call('SET', KEYS[5], ARGV[1], 'PX', ARGV[2])
  if next == ARGV[1] then redis.call('DEL', KEYS[6]) end
end
return readHead(ARGV, 4, math.huge)
`);

/** Duration of a lease, in milliseconds, for a process that never commits. */
const leaseMs = 2000;
/** Duration of a reservation for a waiting process, in milliseconds. */
const reservationMs = 50;

const countScript = script(`
local total = 0
if ARGV[1] ~= 'dead' then total = total + redis.call('ZCOUNT', KEYS[3], ARGV[2], ARGV[3]) end
if ARGV[1] ~= 'live' then total = total + redis.call('ZCOUNT', KEYS[4], ARGV[2], ARGV[3]) end
local state = redis.call('HMGET', KEYS[1], 'c', 'v', 'h')
return { state[1], state[2], state[3], total }
`);

/** Reads the ids of all entries with one of the given timestamps. */
const idsAtScript = script(`
local ids = {}
for n = 1, #ARGV do
  for key = 3, 4 do
    for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[key], ARGV[n], ARGV[n])) do ids[#ids + 1] = id end
  end
end
local state = redis.call('HMGET', KEYS[1], 'c', 'v', 'h')
return { state[1], state[2], state[3], ids }
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

  /** Returns the first entries of the range, by timestamp. */
  async range(
    list: ListKey,
    part: Part,
    { low, high }: TimestampRange,
    { isDescending, limit }: { readonly isDescending: boolean; readonly limit: number },
  ): Promise<ListRange> {
    const args = [part, isDescending ? '1' : '0', formatBound(low), formatBound(high), limit, mostReplyBytes];
    const reply = await this.#query(rangeScript, list, args);
    const rows = reply[3] as readonly (string | null)[];
    const entries: StoredEntry[] = [];
    for (let at = 0; at < rows.length; at += 3) entries.push(entryOf(rows[at]!, rows[at + 1]!, rows[at + 2] ?? null));
    const selected = Number(reply[4]);
    return { ...stateOf(reply), entries, more: entries.length < selected || selected === limit };
  }

  /**
   * Returns the state of a list, its counts, and the entries of the given ids; only of the first ids when their texts are
   * long.
   */
  async head(list: ListKey, ids: readonly string[]): Promise<ListHead> {
    const reply = await this.#query(headScript, list, [mostReplyBytes, ...ids]);
    const rows = reply[5] as readonly unknown[];
    return headOf(reply, ids.slice(0, rows.length / 3));
  }

  /** Returns the head unless a process other than the marked one has leased the list; `takes` leases it to the marked one. */
  async lock(list: ListKey, ids: readonly string[], mark: string, takes: boolean): Promise<ListHead | undefined> {
    const keys = [...this.#keys.list(list), ...this.#keys.lease(list)];
    const args = [mark, takes ? leaseMs : 0, reservationMs, ...ids];
    const reply = (await this.#client.query('storage', lockScript, keys, args)) as Reply | null;
    return reply === null ? undefined : headOf(reply, ids);
  }

  /** Returns the number of entries with a timestamp in the range. */
  async count(
    list: ListKey,
    part: Part,
    { low, high }: TimestampRange,
  ): Promise<ListState & { readonly total: number }> {
    const reply = await this.#query(countScript, list, [part, formatBound(low), formatBound(high)]);
    return { ...stateOf(reply), total: Number(reply[3]) };
  }

  /** Returns the ids of all objects and tombstones with one of the timestamps. */
  async idsAt(list: ListKey, timestamps: readonly number[]): Promise<ListState & { readonly ids: readonly string[] }> {
    const reply = await this.#query(idsAtScript, list, timestamps);
    return { ...stateOf(reply), ids: reply[3] as readonly string[] };
  }

  /** Returns the state of a list. */
  async state(list: ListKey): Promise<ListState> {
    return stateOf((await this.#client.read('storage', 'HMGET', this.#keys.meta(list), 'c', 'v', 'h')) as Reply);
  }

  async clock(list: ListKey): Promise<number | undefined> {
    const clock = await this.#client.read('storage', 'HGET', this.#keys.meta(list), 'c');
    return clock === null ? undefined : Number(clock);
  }

  async #query(source: Script, list: ListKey, args: readonly (string | number)[]): Promise<Reply> {
    return (await this.#client.query('storage', source, this.#keys.list(list), args)) as Reply;
  }
}

function headOf(reply: Reply, ids: readonly string[]): ListHead {
  const rows = reply[5] as readonly (string | null)[];
  const entries = ids.map((id, index) => {
    const [live = null, dead = null, text = null] = rows.slice(3 * index, 3 * index + 3);
    if (live !== null) return entryOf(id, live, text);
    return dead === null ? undefined : entryOf(id, dead, null);
  });
  return { ...stateOf(reply), liveCount: Number(reply[3]), deadCount: Number(reply[4]), entries };
}

function stateOf([clock, version, horizon]: Reply): ListState {
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
