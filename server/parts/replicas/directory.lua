--[[
The directory of accounts and keys, of which all servers have copies. It consists of rows by name. Each row has the
version in which it changed last. A writer names the version that it has seen, and is refused if there is a newer one.
So names that the writer has found free are still free when its rows are written.

A life is a time in which Redis has lost nothing. It ends when Redis is restarted, or when its data are gone or older.
The servers' copies still have the lost rows, so each server resends all of its rows once in each life. Other writes
wait until the first server reads, and then until the remaining servers have had time to resend their rows. If no
server has ever read, other writes wait for `noticedMs`. A server that founds the directory doesn't wait. When a life
begins, versions continue from Redis' time in microseconds, so that no version is given twice. A resent row that Redis
lacks, or has only in an older version, gets a new version, by which other servers notice it. The version that a row
had before a loss is its origin. Of two rows with the same name, the row with the newer origin is kept.

KEYS  1 hash of rows by name, each with origin and content. It also has the fields epoch (id of this directory),
      version, run (Redis' run id), life, since (start of the life), learning (time until which servers resend rows),
      served (whether a server has ever read) and count (number of names)
      2 sorted set of the rows' names by version
ARGV  1 read. The next arguments are: 1 for a server ("" for a command, which has no rows to resend), version of the
        caller's copy, version to read from, maximum rows, life in which the caller has resent its rows, milliseconds
        that servers have to resend rows
      1 write. The next arguments are: epoch, version seen, new epoch if there is none, JSON array of names and contents
        in turn ("" is the content of a deleted row), 1 if a server founds the directory with all of its rows, else 0
      1 restore. The next arguments are: epoch, JSON array of versions, names and contents of a copy's rows in turn,
        milliseconds to wait for the next call (0 after the last row)
      The last argument of each call is "check" if the script has to look for a restart of Redis, else ""
]]
local rows, names = KEYS[1], KEYS[2]
local call, op = redis.call, ARGV[1]

-- Milliseconds that servers have to notice that Redis is back. A server tries to connect once a second.
local noticedMs = 4000
local tooLongMs = 10000
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local known = call('HMGET', rows, 'epoch', 'version', 'run', 'life', 'since', 'learning', 'served', 'count')
local epoch, version, life = known[1] or '', tonumber(known[2] or 0), known[4] or ''
local since, learning, served = tonumber(known[5] or 0), tonumber(known[6] or 0), known[7] == '1'
-- If the end of the wait is too far ahead, Redis' clock was set back. Then the wait ends now.
if learning > now + tooLongMs then learning = now end

-- Writes a number as text with all of its digits. Lua's own conversion rounds large numbers.
local function whole(number)
  return string.format('%.0f', number)
end

local run = known[3]
if not run or ARGV[#ARGV] == 'check' then run = string.match(call('INFO', 'server'), 'run_id:(%w+)') end
local count = call('ZCARD', names)
local seen = op == 'read' and tonumber(ARGV[3]) or 0
if known[3] ~= run or count ~= tonumber(known[8] or 0) or op == 'read' and ARGV[6] == life and seen > version then
  life = run .. ':' .. time[1] .. string.format('%06d', time[2])
  -- Names without an epoch remain from a lost directory, which a server had read.
  since, learning, served = now, 0, served or epoch == '' and count > 0
  version = math.max(version, time[1] * 1000000 + time[2])
  call('HSET', rows, 'run', run, 'life', life, 'since', now, 'learning', 0, 'served', served and 1 or 0, 'count', count)
end
if seen > version or known[4] ~= life then
  version = math.max(version, seen)
  call('HSET', rows, 'version', whole(version))
end

-- Whether servers have resent what Redis may have lost, or have nothing to resend. Redis may have lost `served`, too,
-- so commands wait for `noticedMs` even if no server seems to have read. `abs`, because Redis' clock may be set back.
local function isSettled()
  if learning > 0 then return now >= learning end
  return not served and math.abs(now - since) >= noticedMs
end

local function put(name, content, origin)
  version = version + 1
  call('ZADD', names, whole(version), name)
  call('HSET', rows, name, whole(origin or version) .. ' ' .. content)
end

local function close(epoch)
  call('HSET', rows, 'epoch', epoch, 'version', whole(version), 'count', call('ZCARD', names))
end

if op == 'read' then
  local limit = tonumber(ARGV[5])
  if ARGV[2] == '1' and learning == 0 then
    learning = now + tonumber(ARGV[7])
    call('HSET', rows, 'learning', learning, 'served', 1)
  end
  local list = call('ZRANGEBYSCORE', names, '(' .. ARGV[4], '+inf', 'WITHSCORES', 'LIMIT', 0, limit)
  local found, upTo = {}, version
  for at = 1, #list, 2 do
    local content = string.match(call('HGET', rows, list[at]) or '', ' (.*)') or ''
    found[#found + 1] = { tonumber(list[at + 1]), list[at], content }
  end
  if #list == 2 * limit then upTo = tonumber(list[#list]) end
  return { epoch, version, upTo, found, life, isSettled() and 1 or 0 }
elseif op == 'write' then
  if epoch ~= ARGV[2] or epoch ~= '' and version ~= tonumber(ARGV[3]) then return { 0 } end
  if ARGV[6] == '0' and not isSettled() then return { 0 } end
  local list = cjson.decode(ARGV[5])
  for at = 1, #list, 2 do put(list[at], list[at + 1]) end
  close(epoch == '' and ARGV[4] or epoch)
  return { 1 }
elseif op == 'restore' then
  if epoch ~= '' and epoch ~= ARGV[2] then return { 0 } end
  local list = cjson.decode(ARGV[3])
  for i = 1, #list, 3 do
    local claimed, name, content = list[i], list[i + 1], list[i + 2]
    local at = tonumber(call('ZSCORE', names, name))
    local origin, kept = string.match(call('HGET', rows, name) or '', '(%d+) (.*)')
    if not origin or at ~= claimed and tonumber(origin) < claimed then
      put(name, content, claimed)
    elseif not at then
      put(name, kept, origin)
    end
  end
  close(ARGV[2])
  call('HSET', rows, 'learning', math.max(learning, now + tonumber(ARGV[4])))
  return { 1 }
end
