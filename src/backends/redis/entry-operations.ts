// The operations of the commit script on permission entries. A script reads and writes the entries of an object once,
// however many changes it makes. With one pass over the entry for each principal, a script could block the server for
// seconds, and a cluster would replace the node meanwhile.

/** Lua, which uses the definitions of the commit script. `settle` writes the changes of the operations. */
export const entryOperations = `
-- Principals in the order of insertion. The list may contain removed ones; at contains only present ones.
local function setOf(principals)
  local set = { list = {}, at = {} }
  for n, principal in ipairs(principals) do
    set.list[n] = principal
    set.at[principal] = n
  end
  return set
end
-- Entries with all holders of a permission since they were read, and whether the set of grants contains them.
local function readEntries(place, object)
  local entries = { place = place, object = object, permissions = {}, holders = {} }
  local text = call('HGET', tagOf(place) .. 'e', object)
  for permission, principals in pairs(text and cjson.decode(text) or {}) do
    entries.permissions[permission] = setOf(principals)
    for _, principal in ipairs(principals) do entries.holders[principal] = 'stored' end
  end
  return entries
end
local function add(entries, permission, principal)
  local set = entries.permissions[permission] or setOf({})
  entries.permissions[permission] = set
  if set.at[principal] then return end
  set.list[#set.list + 1] = principal
  set.at[principal] = #set.list
  entries.holders[principal] = entries.holders[principal] or 'new'
end
-- The escaped principal, with which members of the set of grants begin, before U+0001 and the object.
local function escapePrincipal(principal)
  return (principal:gsub('\\2', '\\2\\3'):gsub('\\1', '\\2\\2'))
end
local function grantOf(principal, object)
  return escapePrincipal(principal) .. '\\1' .. object
end
local function grantsOf(grants, principal, ...)
  local escaped = escapePrincipal(principal)
  return call('ZRANGEBYLEX', grants, '[' .. escaped .. '\\1', '(' .. escaped .. '\\2', ...)
end
local function forgetPlace(place, principal)
  if everywhere then call('SREM', who(principal) .. 'p', place) end
end
-- Returns the text of the entries. Adds to the grants of the object before the text refers to them.
local function encodeEntries(entries)
  local grants, all, after = tagOf(entries.place) .. 'g', {}, {}
  for permission, set in pairs(entries.permissions) do
    local principals = {}
    for n, principal in ipairs(set.list) do
      if set.at[principal] == n then
        principals[#principals + 1] = principal
        if not after[principal] and entries.holders[principal] == 'new' then
          call('ZADD', grants, 0, grantOf(principal, entries.object))
        end
        after[principal] = true
      end
    end
    if #principals > 0 then all[permission] = principals end
  end
  entries.after = after
  return next(all) and cjson.encode(all)
end
-- The text of the entries is authoritative. While it changes, the grants may name too many objects, never too few.
local function writeEntries(changed)
  for _, entries in ipairs(changed) do
    local text = encodeEntries(entries)
    if text then call('HSET', tagOf(entries.place) .. 'e', entries.object, text)
    else call('HDEL', tagOf(entries.place) .. 'e', entries.object) end
  end
  for _, entries in ipairs(changed) do
    local grants = tagOf(entries.place) .. 'g'
    for principal in pairs(entries.holders) do
      if not entries.after[principal] then
        call('ZREM', grants, grantOf(principal, entries.object))
        if everywhere and #grantsOf(grants, principal, 'LIMIT', 0, 1) == 0 then forgetPlace(entries.place, principal) end
      end
    end
  end
end
-- Entries that operations have changed and that are not written yet, in the order they were first changed.
local changed, known = {}, {}
local function settle()
  writeEntries(changed)
  changed, known = {}, {}
end
local function entriesOf(place, object)
  local objects = known[place] or {}
  known[place] = objects
  if not objects[object] then
    objects[object] = readEntries(place, object)
    changed[#changed + 1] = objects[object]
  end
  return objects[object]
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
  local entries, permission = entriesOf(take(), take()), take()
  for _, principal in ipairs(takeMany()) do add(entries, permission, principal) end
end
function operations.revoke()
  local permissions, permission, principal = entriesOf(take(), take()).permissions, take(), take()
  if permissions[permission] then permissions[permission].at[principal] = nil end
end
function operations.replace()
  local entries = entriesOf(take(), take())
  for _ = 1, tonumber(take()) do
    local permission = take()
    entries.permissions[permission] = nil
    for _, principal in ipairs(takeMany()) do add(entries, permission, principal) end
  end
end
function operations.clear()
  entriesOf(take(), take()).permissions = {}
end
local function clearPlace(place)
  local tag = tagOf(place)
  local low = '-'
  while everywhere do
    local first = call('ZRANGEBYLEX', tag .. 'g', low, '+', 'LIMIT', 0, 1)[1]
    if not first then break end
    local escaped = first:match('^[^\\1]*')
    forgetPlace(place, (escaped:gsub('\\2(.)', { ['\\2'] = '\\1', ['\\3'] = '\\2' })))
    low = '[' .. escaped .. '\\2'
  end
  unlink(tag .. 'e', tag .. 'g')
end
-- The objects of a place whose ids start with the prefix; all of them when the prefix is the place's own.
local function clearInPlace(place, prefix)
  settle()
  if place ~= '' and startsWith(place .. '/', escape(prefix)) then
    clearPlace(place)
    return
  end
  for _, object in ipairs(call('HKEYS', tagOf(place) .. 'e')) do
    if startsWith(object, prefix) then entriesOf(place, object).permissions = {} end
  end
  settle()
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
  settle()
  local prefix = grantOf(principal, '')
  for _, member in ipairs(grantsOf(tagOf(place) .. 'g', principal)) do
    local entries = readEntries(place, member:sub(#prefix + 1))
    for _, set in pairs(entries.permissions) do set.at[principal] = nil end
    writeEntries({ entries })
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
  settle()
  for _, shard in ipairs(takeMany()) do
    for _, place in ipairs(members(shard .. 'e', '')) do clearPlace(place) end
    unlink(shard .. 'e')
  end
end
`;
