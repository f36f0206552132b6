// Reads of one list, each a script and so a snapshot: clock, version and entries fit together. The version is a text that
// every commit replaces, so two reads that found the same one have seen the same list.
import { StoredObject, type ListKey, type StoredEntry } from '../../core/objects/stored.ts';
import type { TimestampRange } from '../../core/query/timestamp-range.ts';
import type { RedisClient } from './client.ts';
import type { Keys } from './keys.ts';
import { script } from './script.ts';

/** Which entries take part. */
export type Part = 'live' | 'dead' | 'both';

/** What the hash of a list says; what scripts answer begins with it. */
export interface ListState {
  /** `undefined` when the list was never written. */
  readonly clock: number | undefined;
  /** `''` when the list was never written. */
  readonly version: string;
  /** The highest timestamp of a deletion that no tombstone tells of; 0 when there is none. */
  readonly horizon: number;
}

export interface ListRange extends ListState {
  /** In order, no more than asked for. */
  readonly entries: readonly StoredEntry[];
  /** Whether more entries of the range may follow. */
  readonly more: boolean;
}

/** The same, and how much there is in the list. */
export interface ListCounts extends ListState {
  readonly liveCount: number;
  readonly deadCount: number;
}

export interface ListHead extends ListCounts {
  /** For each id asked for; `undefined` when there is neither an object nor a tombstone. */
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

/** A script stops reading texts beyond this, whatever they are read for, and is run again for the rest. */
export const mostReplyBytes = 8_000_000;

/** What the head scripts have in common: what the hash says, the numbers of objects and of tombstones, and what there is of each id. */
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
 * The head, unless another process holds the list. A process that has to wait is the next to get it. Arguments: mark of
 * the process, milliseconds to hold the list for (0: not at all) and to be the next for, ids.
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

/** How long a process keeps others from a list at most, should it never come to the commit. */
const leaseMs = 2000;
/** How long a list stays reserved for the process that waits for it. */
const reservationMs = 50;

const countScript = script(`
local total = 0
if ARGV[1] ~= 'dead' then total = total + redis.call('ZCOUNT', KEYS[3], ARGV[2], ARGV[3]) end
if ARGV[1] ~= 'live' then total = total + redis.call('ZCOUNT', KEYS[4], ARGV[2], ARGV[3]) end
local state = redis.call('HMGET', KEYS[1], 'c', 'v', 'h')
return { state[1], state[2], state[3], total }
`);

/** The ids of whatever has one of some timestamps. */
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

  /** The first entries in the range, by timestamp. */
  async range(
    list: ListKey,
    part: Part,
    { low, high }: TimestampRange,
    { isDescending, limit }: { readonly isDescending: boolean; readonly limit: number },
  ): Promise<ListRange> {
    const args = [part, isDescending ? '1' : '0', formatBound(low), formatBound(high), limit, mostReplyBytes];
    const reply = (await this.#client.query('storage', rangeScript, this.#keys.list(list), args)) as Reply;
    const rows = reply[3] as readonly (string | null)[];
    const entries: StoredEntry[] = [];
    for (let at = 0; at < rows.length; at += 3) entries.push(entryOf(rows[at]!, rows[at + 1]!, rows[at + 2] ?? null));
    const selected = Number(reply[4]);
    return { ...stateOf(reply), entries, more: entries.length < selected || selected === limit };
  }

  /**
   * The clock of a list, the number of its objects, and some of its entries: those of all ids, or of the first ones when
   * their texts are long.
   */
  async head(list: ListKey, ids: readonly string[]): Promise<ListHead> {
    const args = [mostReplyBytes, ...ids];
    const reply = (await this.#client.query('storage', headScript, this.#keys.list(list), args)) as Reply;
    const rows = reply[5] as readonly unknown[];
    return headOf(reply, ids.slice(0, rows.length / 3));
  }

  /** The same, unless another process than the marked one holds the list; with `takes` this one holds it from now on. */
  async lock(list: ListKey, ids: readonly string[], mark: string, takes: boolean): Promise<ListHead | undefined> {
    const keys = [...this.#keys.list(list), ...this.#keys.lease(list)];
    const args = [mark, takes ? leaseMs : 0, reservationMs, ...ids];
    const reply = (await this.#client.query('storage', lockScript, keys, args)) as Reply | null;
    return reply === null ? undefined : headOf(reply, ids);
  }

  /** How many entries have a timestamp in the range. */
  async count(
    list: ListKey,
    part: Part,
    { low, high }: TimestampRange,
  ): Promise<ListState & { readonly total: number }> {
    const args = [part, formatBound(low), formatBound(high)];
    const reply = (await this.#client.query('storage', countScript, this.#keys.list(list), args)) as Reply;
    return { ...stateOf(reply), total: Number(reply[3]) };
  }

  /** The ids of the objects and tombstones that have one of the timestamps. */
  async idsAt(list: ListKey, timestamps: readonly number[]): Promise<ListState & { readonly ids: readonly string[] }> {
    const reply = (await this.#client.query('storage', idsAtScript, this.#keys.list(list), timestamps)) as Reply;
    return { ...stateOf(reply), ids: reply[3] as readonly string[] };
  }

  /** What the hash says. */
  async state(list: ListKey): Promise<ListState> {
    return stateOf((await this.#client.read('storage', 'HMGET', this.#keys.meta(list), 'c', 'v', 'h')) as Reply);
  }

  async clock(list: ListKey): Promise<number | undefined> {
    const clock = await this.#client.read('storage', 'HGET', this.#keys.meta(list), 'c');
    return clock === null ? undefined : Number(clock);
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
