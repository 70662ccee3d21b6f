--[[
The directory of accounts and keys that all servers have copies of: rows by name, each with the version in which it
changed last. Who writes says which version it has seen, so that what it has checked (names that are free, numbers that
come next) still holds when it is written.

A life is a time in which Redis has lost nothing: it ends when Redis starts anew or its data are gone or older. What was
lost is in the servers' copies, and each says it again once in a life. Until the first server has, and for a time in
which the others may, nothing else is written. Versions are counted on from Redis' time in microseconds when a life
begins, so that none is given twice: a row that is said again gets a new one, by which the others see it, and is compared
by the one it had.

KEYS  1 hash: epoch (names this directory: another one has another), version; run (of Redis), life, last (the life
      before), kept (version that Redis had when the life began), since, learning (until when), served (whether a server
      was ever heard of), rows and names (how many there are);
      2 hash of rows; 3 rows' names by version; 4 hash: versions that rows had which were said again
ARGV  1 read, then: whether a server reads (1; a command "", which has nothing to say again), version of its copy, version
        to read from, limit of rows, life in which it has said what it has, milliseconds of learning
      1 write, then: epoch, version seen, new epoch where there is none, JSON array of rows' names and contents in turn
        ("" for a row that is gone), whether it is all that a server has and founds the directory (0 or 1)
      1 restore, then: epoch, JSON array of versions, names and contents in turn, of the next rows of a copy by version:
        what Redis has lost is written again
      after all of them: check where the connection is a new one, or wasn't checked for a while
]]
local meta, rows, names, origins = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local call = redis.call
local op = ARGV[1]

-- After a restart of Redis, servers get this long to notice it.
local noticedMs = 500
local tooLongMs = 10000
local time = call('TIME')
local known = call('HMGET', meta, 'epoch', 'version', 'run', 'life', 'last', 'kept', 'since', 'learning', 'served', 'rows', 'names')
local epoch, version = known[1] or '', tonumber(known[2] or 0)
local life, last, kept = known[4] or '', known[5] or '', known[6] or '0'
local since, learning, served = tonumber(known[7] or 0), tonumber(known[8] or 0), known[9] == '1'

local now = time[1] * 1000 + math.floor(time[2] / 1000)
-- Redis' clock may have been set back, so deadlines in the distant future are replaced by now.
if learning > now + noticedMs + tooLongMs then learning = now end

-- Lua's own conversion rounds large numbers.
local function whole(number)
  return string.format('%.0f', number)
end

local function beginLife(run, hasAll)
  last, kept = life, hasAll and whole(version) or '0'
  life = run .. ':' .. time[1] .. string.format('%06d', time[2])
  since, learning = now, 0
  -- Rows without their other keys are the remains of a directory that was partly lost.
  served = served or epoch == '' and call('EXISTS', rows, names) > 0
  version = math.max(version, time[1] * 1000000 + time[2])
  call('HSET', meta, 'version', whole(version), 'run', run, 'life', life, 'last', last, 'kept', kept, 'since', now,
    'learning', 0, 'served', served and 1 or 0, 'rows', call('HLEN', rows), 'names', call('ZCARD', names))
end

local run = known[3]
if not run or ARGV[#ARGV] == 'check' then run = string.match(call('INFO', 'server'), 'run_id:(%w+)') end
local isWhole = epoch ~= '' and (not known[10] or
  call('HLEN', rows) == tonumber(known[10]) and call('ZCARD', names) == tonumber(known[11]))
local isOlder = op == 'read' and ARGV[6] == life and tonumber(ARGV[3]) > version
if known[3] ~= run or epoch ~= '' and not isWhole or isOlder then beginLife(run, isWhole) end
-- Versions go on from the latest, too.
if op == 'read' and tonumber(ARGV[3]) > version then
  version = tonumber(ARGV[3])
  call('HSET', meta, 'version', whole(version))
end

-- 0: servers have reported what Redis may have lost; 1: they may still be reporting; 2: there is no server to report.
local function state()
  if learning > 0 then return now < learning and 1 or 0 end
  if served then return 2 end
  return epoch == '' and since <= now and now - since < noticedMs and 1 or 0
end

local function put(name, content, origin)
  version = version + 1
  call('ZADD', names, whole(version), name)
  if content == '' then call('HDEL', rows, name) else call('HSET', rows, name, content) end
  if origin then call('HSET', origins, name, whole(origin)) else call('HDEL', origins, name) end
end

local function close(newEpoch)
  call('HSET', meta, 'epoch', newEpoch, 'version', whole(version), 'rows', call('HLEN', rows), 'names', call('ZCARD', names))
end

if op == 'read' then
  local limit = tonumber(ARGV[5])
  if ARGV[2] == '1' and learning == 0 then
    learning, served = now + tonumber(ARGV[7]), true
    call('HSET', meta, 'learning', learning, 'served', 1)
  end
  local list = call('ZRANGEBYSCORE', names, '(' .. ARGV[4], '+inf', 'WITHSCORES', 'LIMIT', 0, limit)
  local found, upTo = {}, version
  for at = 1, #list, 2 do
    found[#found + 1] = { tonumber(list[at + 1]), list[at], call('HGET', rows, list[at]) or '' }
  end
  if #list == 2 * limit then upTo = tonumber(list[#list]) end
  return { epoch, version, upTo, found, life, last, tonumber(kept), state() }
elseif op == 'write' then
  if epoch ~= ARGV[2] or epoch ~= '' and version ~= tonumber(ARGV[3]) then return { 0, version, 0 } end
  if ARGV[6] == '0' and state() > 0 then return { 0, version, state() } end
  if ARGV[6] == '1' and call('EXISTS', rows, names) > 0 then return { 0, version, 2 } end
  local list = cjson.decode(ARGV[5])
  for at = 1, #list, 2 do put(list[at], list[at + 1]) end
  close(epoch == '' and ARGV[4] or epoch)
  return { 1, version, 0 }
elseif op == 'restore' then
  if epoch ~= '' and epoch ~= ARGV[2] then return { 0, version } end
  local list = cjson.decode(ARGV[3])
  for i = 1, #list, 3 do
    local origin, name, content = list[i], list[i + 1], list[i + 2]
    local at = tonumber(call('ZSCORE', names, name) or -1)
    local there = tonumber(at >= 0 and call('HGET', origins, name) or at)
    local isGone = content ~= '' and there <= origin and call('HEXISTS', rows, name) == 0
    if at ~= origin and there < origin or isGone then put(name, content, origin) end
  end
  close(ARGV[2])
  return { 1, version }
end
