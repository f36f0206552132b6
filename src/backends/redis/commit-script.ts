// The script that commits a unit of work. First it verifies everything that the unit relies on, then it writes everything, in
// one atomic step.
//
// On a single server the script names keys that depend on the data itself, such as lists found in a registry. On a cluster
// it touches only the declared keys, all of one slot. While a slot moves to another node, the node decides by the declared
// keys whether it has everything that the script needs. With other keys it would write into a slot that it does not own.
//
// Arguments: root of all names, the time, the version to set, whether the script may touch every slot, the mark of the
// process, then operations, each a name and its own arguments. Returns `done`, or when nothing was written `conflict`, or
// `changed` when an object is not as it was read.
import { clockRule } from '../../core/lists/clock-rule.ts';
import { entryOperations } from './entry-operations.ts';
import { script } from './script.ts';

const foundation = `
local root, now, version, everywhere, mark = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4] == '1', ARGV[5]
local at = 5
local call = redis.call
if not everywhere then
  local declared = {}
  for _, key in ipairs(KEYS) do declared[key] = true end
  call = function(command, key, ...)
    if not declared[key] then error('the script uses an undeclared key: ' .. key) end
    return redis.call(command, key, ...)
  end
end
local function unlink(...)
  for _, key in ipairs({ ... }) do call('UNLINK', key) end
end
local function take()
  at = at + 1
  return ARGV[at]
end
local function takeMany()
  local many = {}
  for n = 1, tonumber(take()) do many[n] = take() end
  return many
end
local function escape(text)
  return (text:gsub('|', '|a'):gsub('}', '|b'))
end
local function startsWith(text, prefix)
  return text:sub(1, #prefix) == prefix
end
local function tagOf(place) return '{' .. root .. '=' .. place .. '}' end
local function who(name) return '{' .. root .. '@' .. escape(name) .. '}' end
-- The members of a sorted set of texts that are the text or start with it and a slash.
local function below(key, uri)
  local found = call('ZRANGEBYLEX', key, '[' .. uri .. '/', '(' .. uri .. '0')
  if call('ZSCORE', key, uri) then found[#found + 1] = uri end
  return found
end
local function members(key, prefix)
  if prefix == '' then return call('ZRANGE', key, 0, -1) end
  return call('ZRANGEBYLEX', key, '[' .. prefix, '(' .. prefix .. '\\255')
end
local operations = {}
`;

const verifications = `
function operations.version()
  local meta, lease, expected = take(), take(), take()
  local found, holder = call('HGET', meta, 'v') or '', call('GET', lease)
  if found ~= expected or (holder and holder ~= mark) then return 'conflict' end
end
function operations.lease()
  call('SET', take(), mark, 'PX', take())
end
function operations.object()
  local live, id, timestamp = take(), take(), tonumber(take())
  local found = call('ZSCORE', live, id)
  if not found or (timestamp and tonumber(found) ~= timestamp) then return 'changed' end
end
-- Writes nothing, but fails where a write would, before anything is written.
function operations.probe()
  call('SETRANGE', take(), 0, '')
end
`;

/** The clock rule as Lua. Its numbers are exact up to the last timestamp. */
const rule = clockRule<string, string>({
  literal: (value) => String(value),
  sum: (a, b) => `(${a} + ${b})`,
  larger: (a, b) => `math.max(${a}, ${b})`,
  smaller: (a, b) => `math.min(${a}, ${b})`,
  isAtMost: (a, b) => `${a} <= ${b}`,
});

const lists = `
-- Writes a timestamp as a text without fraction or exponent.
local function format(timestamp)
  return string.format('%.0f', timestamp)
end
function operations.release()
  local lease = take()
  if call('GET', lease) == mark then call('DEL', lease) end
end
function operations.register()
  local shard, kind, place = take(), take(), take()
  call('SADD', shard .. 'kinds', kind)
  call('ZADD', shard .. 'k:' .. kind, 0, place)
end
local function raiseHorizon(meta, timestamp)
  local horizon = tonumber(call('HGET', meta, 'h') or '') or 0
  call('HSET', meta, 'h', format(${rule.horizon('horizon', 'timestamp')}))
end
local function latest(key)
  return tonumber(call('ZREVRANGE', key, 0, 0, 'WITHSCORES')[2]) or 0
end
-- The server may have lost any of the keys. A list with lost keys can be deleted, which is what an operator does about it.
local function emptyList(tag, kind)
  local meta, objects, live, dead = tag .. 'm:' .. kind, tag .. 'o:' .. kind, tag .. 't:' .. kind, tag .. 'd:' .. kind
  local hasLive = call('EXISTS', live, objects) > 0
  if hasLive or call('EXISTS', dead) == 1 then
    local clock = tonumber(call('HGET', meta, 'c') or '') or math.max(now, latest(live), latest(dead))
    if hasLive then clock = ${rule.emptied('clock', 'now')} end
    call('HSET', meta, 'c', format(clock), 'v', version)
    raiseHorizon(meta, clock)
  end
  unlink(objects, live, dead, tag .. 'i:' .. kind, tag .. 'x:' .. kind)
end
function operations.empty()
  local tag, kind = take(), take()
  emptyList(tag, kind)
end
function operations.emptyBelow()
  local uri, shards = take(), takeMany()
  for _, shard in ipairs(shards) do
    for _, kind in ipairs(call('SMEMBERS', shard .. 'kinds')) do
      for _, place in ipairs(below(shard .. 'k:' .. kind, escape(uri))) do emptyList(tagOf(place), kind) end
    end
  end
end
local function dropList(tag, kind)
  unlink(tag .. 'm:' .. kind, tag .. 'o:' .. kind, tag .. 't:' .. kind, tag .. 'd:' .. kind, tag .. 'i:' .. kind,
    tag .. 'x:' .. kind)
end
function operations.drop()
  local tag, kind = take(), take()
  dropList(tag, kind)
end
function operations.dropAll()
  for _, shard in ipairs(takeMany()) do
    for _, kind in ipairs(call('SMEMBERS', shard .. 'kinds')) do
      for _, place in ipairs(members(shard .. 'k:' .. kind, '')) do dropList(tagOf(place), kind) end
      unlink(shard .. 'k:' .. kind)
    end
    unlink(shard .. 'kinds')
  end
end
function operations.countFlush()
  call('HINCRBY', take(), 'flushes', 1)
end
function operations.list()
  local meta, objects, live, dead, indexed, members = take(), take(), take(), take(), take(), take()
  local clock, horizon, emptied, purged, count = take(), take(), take(), take(), tonumber(take())
  -- First, because a server out of memory refuses it. After a deletion the server would let the script go on.
  call('HSET', meta, 'v', version)
  if emptied == '1' then
    -- A cascade has emptied the list as it was on the server, without the earlier writes of the unit.
    call('HSET', meta, 'h', horizon)
    unlink(objects, live, dead, indexed, members)
  elseif horizon ~= '' then raiseHorizon(meta, tonumber(horizon)) end
  if purged ~= '' then call('ZREMRANGEBYSCORE', dead, '-inf', '(' .. purged) end
  local hasKeys = call('HEXISTS', meta, 'i') == 1
  for _ = 1, count do
    local state, id = take(), take()
    if hasKeys then
      local old = call('HGET', members, id)
      if old then
        call('ZREM', indexed, unpack(cjson.decode(old)))
        call('HDEL', members, id)
      end
    end
    if state == 'live' then
      local timestamp, text = take(), take()
      call('HSET', objects, id, text)
      call('ZADD', live, timestamp, id)
      call('ZREM', dead, id)
      local keys = take()
      if keys ~= '' then
        if not hasKeys then call('HSET', meta, 'i', '1') end
        hasKeys = true
        for _, key in ipairs(cjson.decode(keys)) do call('ZADD', indexed, 0, key) end
        call('HSET', members, id, keys)
      end
    else
      call('HDEL', objects, id)
      call('ZREM', live, id)
      if state == 'dead' then call('ZADD', dead, take(), id) else call('ZREM', dead, id) end
    end
  end
  if clock ~= '' then call('HSET', meta, 'c', clock) end
end
`;

const memberships = `
-- The parent of the list of an object id.
local function parentOf(id)
  return (id:match('^(.*)/') or ''):match('^(.*)/') or ''
end
local function usersOf(principal) return tagOf(escape(parentOf(principal))) .. 'u:' .. principal end
local registered = {}
-- On a cluster the principal is registered, and announced to the user, before the script.
function operations.admit()
  local shard, principal, user = take(), take(), take()
  if everywhere then
    if not registered[principal] then call('ZADD', shard .. 'h', 0, principal) end
    registered[principal] = true
    call('SADD', who(user) .. 'm', principal)
  end
  call('SADD', usersOf(principal), user)
end
function operations.expel()
  local user, principal = take(), take()
  call('SREM', usersOf(principal), user)
  if everywhere then call('SREM', who(user) .. 'm', principal) end
end
local function expelAll(principal)
  if everywhere then
    for _, user in ipairs(call('SMEMBERS', usersOf(principal))) do call('SREM', who(user) .. 'm', principal) end
  end
  unlink(usersOf(principal))
end
function operations.expelAll()
  expelAll(take())
end
function operations.expelBelow()
  local prefix, shards = take(), takeMany()
  registered = {}
  for _, shard in ipairs(shards) do
    for _, principal in ipairs(members(shard .. 'h', prefix)) do
      expelAll(principal)
      call('ZREM', shard .. 'h', principal)
    end
  end
end
function operations.clearMemberships()
  registered = {}
  for _, shard in ipairs(takeMany()) do
    for _, principal in ipairs(members(shard .. 'h', '')) do expelAll(principal) end
    unlink(shard .. 'h')
  end
end
`;

const main = `
while at < #ARGV do
  local fault = operations[take()]()
  if fault then return fault end
end
settle()
return 'done'
`;

export const commitScript = script([foundation, verifications, lists, entryOperations, memberships, main].join(''));
