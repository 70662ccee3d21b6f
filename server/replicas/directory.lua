--[[
The directory of accounts and keys that all replicas have copies of: rows by name, each with the version in which it
changed last. A version is a number of rows written so far. Who writes says which version it has seen, so that what it
has checked (names that are free, numbers that come next) still holds when it is written.

KEYS  1 hash: epoch (names this directory: another one has another), version; 2 hash of rows; 3 rows' names by version;
      4 hash: what replicas have taken over, and when; 5 the replica that delivers events
ARGV  1 read, then: replica ("" for a command), version that it has taken over, version to read from, limit of rows
      1 write, then: epoch, version seen, new epoch where there is none, JSON array of rows' names and contents in turn
        ("" for a row that is gone)
      1 restore, then: epoch, JSON array of versions, names and contents in turn, of the next rows of a copy by version:
        what Redis has lost is written again
      1 members: versions that were taken over
      1 leave, then: replica
]]
local meta, rows, names, members, deliverer = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local call = redis.call
local op = ARGV[1]

local delivererMs = 3000
local goneMs = 60000
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local epoch = call('HGET', meta, 'epoch') or ''
local version = tonumber(call('HGET', meta, 'version') or 0)

local function put(name, content, at)
  call('ZADD', names, at, name)
  if content == '' then call('HDEL', rows, name) else call('HSET', rows, name, content) end
  version = math.max(version, at)
end

if op == 'read' then
  local replica, since, limit = ARGV[2], tonumber(ARGV[4]), tonumber(ARGV[5])
  local delivers = 0
  if replica ~= '' then
    call('HSET', members, replica, ARGV[3] .. ' ' .. now)
    local holder = call('GET', deliverer)
    if not holder or holder == replica then
      call('SET', deliverer, replica, 'PX', delivererMs)
      delivers = 1
    end
  end
  local list = call('ZRANGEBYSCORE', names, '(' .. since, '+inf', 'WITHSCORES', 'LIMIT', 0, limit)
  local found, upTo = {}, version
  for at = 1, #list, 2 do
    found[#found + 1] = { tonumber(list[at + 1]), list[at], call('HGET', rows, list[at]) or '' }
  end
  if #list == 2 * limit then upTo = tonumber(list[#list]) end
  return { epoch, version, upTo, found, delivers }
elseif op == 'write' then
  if epoch ~= ARGV[2] or version ~= tonumber(ARGV[3]) then return { 0, version } end
  local list = cjson.decode(ARGV[5])
  for at = 1, #list, 2 do put(list[at], list[at + 1], version + 1) end
  call('HSET', meta, 'epoch', epoch == '' and ARGV[4] or epoch, 'version', version)
  return { 1, version }
elseif op == 'restore' then
  if epoch ~= '' and epoch ~= ARGV[2] then return { 0, version } end
  local list = cjson.decode(ARGV[3])
  for at = 1, #list, 3 do
    local known = call('ZSCORE', names, list[at + 1])
    if not known or tonumber(known) < list[at] then put(list[at + 1], list[at + 2], list[at]) end
  end
  call('HSET', meta, 'epoch', ARGV[2], 'version', version)
  return { 1, version }
elseif op == 'members' then
  local list, found = call('HGETALL', members), {}
  for at = 1, #list, 2 do
    local taken, seen = string.match(list[at + 1], '(%d+) (%d+)')
    if now - seen > goneMs then
      call('HDEL', members, list[at])
    else
      found[#found + 1] = { list[at], tonumber(taken), now - seen }
    end
  end
  return found
elseif op == 'leave' then
  call('HDEL', members, ARGV[2])
  if call('GET', deliverer) == ARGV[2] then call('DEL', deliverer) end
end
