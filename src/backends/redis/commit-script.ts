// The script that applies what a unit of work has buffered: first everything the unit relies on is verified, then
// everything is written, in one step that nobody sees the middle of. Keys that depend on the data (indexes by principal,
// lists found in a registry) are named inside; on a cluster all of them belong to the slot of the first key.
//
// Arguments: root of all names, the time, the version to set, whether the script may touch every slot, the mark of the
// process, then operations, each a name and its own arguments. Answers `done`, or `conflict` when nothing was written.
import { script } from './script.ts';

const foundation = `
local root, now, version, everywhere, mark = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4] == '1', ARGV[5]
local at = 5
local call = redis.call
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
function operations.exists()
  local objects, id = take(), take()
  if call('HEXISTS', objects, id) == 0 then return 'conflict' end
end
-- Writes nothing, but fails where writing would: nothing has been done then.
function operations.probe()
  call('SETRANGE', take(), 0, '')
end
`;

const lists = `
function operations.release()
  local lease = take()
  if call('GET', lease) == mark then call('DEL', lease) end
end
function operations.register()
  local shard, kind, place = take(), take(), take()
  call('SADD', shard .. 'kinds', kind)
  call('ZADD', shard .. 'k:' .. kind, 0, place)
end
-- Moves the horizon of a list forward, never back. Timestamps are texts without fractions.
local function raiseHorizon(meta, timestamp)
  if tonumber(timestamp) > tonumber(call('HGET', meta, 'h') or '0') then call('HSET', meta, 'h', timestamp) end
end
local function emptyList(tag, kind)
  local meta, live, dead = tag .. 'm:' .. kind, tag .. 't:' .. kind, tag .. 'd:' .. kind
  if call('EXISTS', live) == 1 then
    local clock = string.format('%.0f', math.max(now, tonumber(call('HGET', meta, 'c')) + 1))
    call('HSET', meta, 'c', clock, 'v', version)
    raiseHorizon(meta, clock)
  elseif call('EXISTS', dead) == 1 then
    call('HSET', meta, 'v', version)
    raiseHorizon(meta, call('HGET', meta, 'c'))
  end
  call('UNLINK', tag .. 'o:' .. kind, live, dead)
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
  call('UNLINK', tag .. 'm:' .. kind, tag .. 'o:' .. kind, tag .. 't:' .. kind, tag .. 'd:' .. kind)
end
function operations.drop()
  local tag, kind = take(), take()
  dropList(tag, kind)
end
function operations.dropAll()
  for _, shard in ipairs(takeMany()) do
    for _, kind in ipairs(call('SMEMBERS', shard .. 'kinds')) do
      for _, place in ipairs(members(shard .. 'k:' .. kind, '')) do dropList(tagOf(place), kind) end
      call('UNLINK', shard .. 'k:' .. kind)
    end
    call('UNLINK', shard .. 'kinds')
  end
end
function operations.list()
  local meta, objects, live, dead = take(), take(), take(), take()
  local clock, horizon, emptied, purged, count = take(), take(), take(), take(), tonumber(take())
  if emptied == '1' then
    -- A cascade has emptied the list as it was on the server, and knows nothing of what the unit did to it before.
    call('HSET', meta, 'h', horizon)
    call('UNLINK', objects, live, dead)
  elseif horizon ~= '' then raiseHorizon(meta, horizon) end
  if purged ~= '' then call('ZREMRANGEBYSCORE', dead, '-inf', '(' .. purged) end
  for _ = 1, count do
    local state, id = take(), take()
    if state == 'live' then
      local timestamp, text = take(), take()
      call('HSET', objects, id, text)
      call('ZADD', live, timestamp, id)
      call('ZREM', dead, id)
    else
      call('HDEL', objects, id)
      call('ZREM', live, id)
      if state == 'dead' then call('ZADD', dead, take(), id) else call('ZREM', dead, id) end
    end
  end
  call('HSET', meta, 'v', version)
  if clock ~= '' then call('HSET', meta, 'c', clock) end
end
`;

const entries = `
local function readEntries(place, object)
  local text = call('HGET', tagOf(place) .. 'e', object)
  return text and cjson.decode(text) or {}
end
local function holders(all)
  local found = {}
  for _, principals in pairs(all) do
    for _, principal in ipairs(principals) do found[principal] = true end
  end
  return found
end
local function forgetPlace(place, principal)
  if everywhere then call('SREM', who(principal) .. 'p', place) end
end
-- The text of the entries is what counts; the sets by principal follow it.
local function writeEntries(place, object, before, all)
  local tag = tagOf(place)
  if next(all) == nil then call('HDEL', tag .. 'e', object)
  else call('HSET', tag .. 'e', object, cjson.encode(all)) end
  local after = holders(all)
  for principal in pairs(before) do
    if not after[principal] then
      call('SREM', tag .. 'g:' .. principal, object)
      if call('EXISTS', tag .. 'g:' .. principal) == 0 then
        call('SREM', tag .. 'q', principal)
        forgetPlace(place, principal)
      end
    end
  end
  for principal in pairs(after) do
    if not before[principal] then
      call('SADD', tag .. 'g:' .. principal, object)
      call('SADD', tag .. 'q', principal)
    end
  end
end
local function without(principals, unwanted)
  local left = {}
  for _, principal in ipairs(principals or {}) do
    if principal ~= unwanted then left[#left + 1] = principal end
  end
  return #left > 0 and left or nil
end
function operations.announce()
  local shard, place = take(), take()
  call('ZADD', shard .. 'e', 0, place)
end
function operations.announcePrincipal()
  local principal, place = take(), take()
  call('SADD', who(principal) .. 'p', place)
end
function operations.grant()
  local place, object, permission, principal = take(), take(), take(), take()
  local all = readEntries(place, object)
  local before = holders(all)
  local principals = without(all[permission], principal) or {}
  principals[#principals + 1] = principal
  all[permission] = principals
  writeEntries(place, object, before, all)
end
function operations.revoke()
  local place, object, permission, principal = take(), take(), take(), take()
  local all = readEntries(place, object)
  local before = holders(all)
  all[permission] = without(all[permission], principal)
  writeEntries(place, object, before, all)
end
function operations.replace()
  local place, object, count = take(), take(), tonumber(take())
  local all = readEntries(place, object)
  local before = holders(all)
  for _ = 1, count do
    local permission, principals = take(), takeMany()
    all[permission] = #principals > 0 and principals or nil
  end
  writeEntries(place, object, before, all)
end
function operations.clear()
  local place, object = take(), take()
  writeEntries(place, object, holders(readEntries(place, object)), {})
end
local function clearPlace(place)
  local tag = tagOf(place)
  for _, principal in ipairs(call('SMEMBERS', tag .. 'q')) do
    call('UNLINK', tag .. 'g:' .. principal)
    forgetPlace(place, principal)
  end
  call('UNLINK', tag .. 'e', tag .. 'q')
end
-- The objects of a place whose ids start with the prefix; all of them when the prefix is the place's own.
local function clearInPlace(place, prefix)
  if place ~= '' and startsWith(place .. '/', escape(prefix)) then
    clearPlace(place)
    return
  end
  for _, object in ipairs(call('HKEYS', tagOf(place) .. 'e')) do
    if startsWith(object, prefix) then
      writeEntries(place, object, holders(readEntries(place, object)), {})
    end
  end
end
function operations.clearPlace()
  local place, prefix = take(), take()
  clearInPlace(place, prefix)
end
function operations.clearBelow()
  local uri, parent, shards = take(), take(), takeMany()
  local prefix = uri .. '/'
  clearInPlace(escape(parent), prefix)
  for _, shard in ipairs(shards) do
    for _, place in ipairs(below(shard .. 'e', escape(uri))) do clearInPlace(place, prefix) end
  end
end
local function withdrawIn(place, principal)
  for _, object in ipairs(call('SMEMBERS', tagOf(place) .. 'g:' .. principal)) do
    local all = readEntries(place, object)
    local before = holders(all)
    local left = {}
    for permission, principals in pairs(all) do left[permission] = without(principals, principal) end
    writeEntries(place, object, before, left)
  end
end
function operations.withdrawIn()
  local place, principal = take(), take()
  withdrawIn(place, principal)
end
function operations.withdraw()
  local principal = take()
  for _, place in ipairs(call('SMEMBERS', who(principal) .. 'p')) do withdrawIn(place, principal) end
end
function operations.clearAll()
  for _, shard in ipairs(takeMany()) do
    for _, place in ipairs(members(shard .. 'e', '')) do clearPlace(place) end
    call('UNLINK', shard .. 'e')
  end
end
`;

const memberships = `
function operations.hold()
  local shard, principal = take(), take()
  call('ZADD', shard .. 'h', 0, principal)
end
function operations.join()
  local principal, user = take(), take()
  call('SADD', who(principal) .. 'u', user)
end
function operations.admit()
  local user, principal = take(), take()
  call('SADD', who(user) .. 'm', principal)
end
function operations.expel()
  local user, principal = take(), take()
  call('SREM', who(user) .. 'm', principal)
  if everywhere then call('SREM', who(principal) .. 'u', user) end
end
local function expelAll(principal)
  for _, user in ipairs(call('SMEMBERS', who(principal) .. 'u')) do call('SREM', who(user) .. 'm', principal) end
  call('UNLINK', who(principal) .. 'u')
end
function operations.expelAll()
  expelAll(take())
end
function operations.expelBelow()
  local prefix, shards = take(), takeMany()
  for _, shard in ipairs(shards) do
    for _, principal in ipairs(members(shard .. 'h', prefix)) do
      expelAll(principal)
      call('ZREM', shard .. 'h', principal)
    end
  end
end
function operations.expelEverybody()
  for _, shard in ipairs(takeMany()) do
    for _, principal in ipairs(members(shard .. 'h', '')) do expelAll(principal) end
    call('UNLINK', shard .. 'h')
  end
end
`;

const main = `
while at < #ARGV do
  local fault = operations[take()]()
  if fault then return fault end
end
return 'done'
`;

export const commitScript = script([foundation, verifications, lists, entries, memberships, main].join(''));
