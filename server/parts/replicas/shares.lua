--[[
One call of one replica about its accounts of one shard. All state of ceilings in Redis is read and written here.

What a replica may admit of an account is what it was granted, and on top of it, as long as the account is calm, what
every replica has without asking: a rest of tokens (burst / members) and a credit of requests of the month. Where those
are needed elsewhere the account becomes scarce (tokens) or tight (quota): a numbered change that all replicas read with
their next call. Until one has, its rest or credit counts as held. Always, and checked by the long trial:

  tokens:  level + sum of held + rests <= burst           quota:  sum of granted + lost + credits + unsaid <= quota

A replica's values are absolute, and a call whose sequence isn't above the last one's is ignored, so calls may be lost,
repeated and delayed. They say what it holds after lowering its own bounds: it grows here first and shrinks there first.

KEYS  1 meta hash, 2 version read by member, 3 time by member at which it may be alone, 4 scarce accounts by version,
      5 accounts that are calm again by version, 6 tokens hash, 7 events stream; of two months: 8 9 usage hash,
      10 11 tight accounts by version, 12 13 former members by how many members they knew of
ARGV  1 milliseconds, "" for Redis' own; 2 run id, "" for Redis' own; 3 replica; 4 sequence; 5 run id that it has
      asserted all it holds to; 6 version that it has read; 7 start, tick or leave;
      8 milliseconds in which it goes alone without an answer; 9 at most so many have passed since its last call came;
      10 11 the months' names; then rows of
      account, month (1 or 2), burst, quota, kind (read, hold or tight: that it knows the month to be), used, used in all when last told, used by this
      replica when last sent, granted, wanted, tokens held, given back, wanted, short (0 or 1)
]]
local meta, read, seen, scarce, calmed, tokens, events = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7]
local call = redis.call
local floor, min, max = math.floor, math.min, math.max

-- After Redis has lost writes, or may have: replicas say again what they hold, and nothing is granted. Each goes on as if
-- it was alone.
local learningMs = 2000
-- A member not seen for the time that it said may have gone over to its own share of the rate: nobody else gets that.
-- And after so much more it is none any more. It has stopped using anything by then (`lapseMs` in shares.ts).
local goneMs = 60000
local monthKeptMs, dayMs = 100 * 86400000, 86400000
local feedLength = 200
-- How long an account stays scarce after it was short of tokens.
local scarceMs = 2000
local columns = 14

local replica, sequence = ARGV[3], tonumber(ARGV[4])
local raw = tonumber(ARGV[1])
if not raw then
  local time = call('TIME')
  raw = time[1] * 1000 + floor(time[2] / 1000)
end
local run = ARGV[2]
if run == '' then run = string.match(call('INFO', 'server'), 'run_id:(%w+)') end

local known = call('HMGET', meta, 'boot', 'learning', 'clock', 'raw', 'version', 'epoch', 'changed', 'back', 'q:' .. replica,
  'keys', 'keys:' .. ARGV[10], 'keys:' .. ARGV[11], 'said:' .. ARGV[10], 'said:' .. ARGV[11])
local learningUntil, version, epoch = tonumber(known[2] or 0), tonumber(known[5] or 0), tonumber(known[6] or 0)
-- The version in which the number of members changed last, and when a silent one came back last, or when learning ends:
-- until then each has its part of the rate.
local changed, back = tonumber(known[7] or 0), tonumber(known[8] or 0)
-- Of this shard's keys without months, and of each month's, how many there are. Only this script makes and deletes them,
-- and none of them expires: one that is missing was lost.
local function countKeys()
  return { call('EXISTS', read, seen, scarce, calmed, tokens), call('EXISTS', KEYS[8], KEYS[10], KEYS[12]),
    call('EXISTS', KEYS[9], KEYS[11], KEYS[13]) }
end
local counted, isLost = countKeys(), false
for i = 1, 3 do isLost = isLost or counted[i] < tonumber(known[9 + i] or 0) end

-- Redis may have lost writes when it runs anew, when it was emptied while it ran, and when it dropped a key to make room.
local boot = known[1]
if not boot or isLost or string.match(boot, '^%w+') ~= run then boot = run .. ':' .. raw end
if known[9] and sequence <= tonumber(known[9]) then return { 'stale', tonumber(known[9]) } end

-- No more time has passed than the caller's steady clock says: Redis' own may have been set.
local now = tonumber(known[3] or 0) + max(0, min(tonumber(ARGV[9]), raw - tonumber(known[4] or raw)))

local function bump()
  version = version + 1
  return version
end

if known[1] ~= boot then
  epoch = max(epoch + 1, raw)
  learningUntil = now + learningMs
  back = learningUntil
  call('DEL', read, scarce, calmed, tokens)
  -- Where the last version was lost, those of accounts that are tight still weren't.
  version = max(version, raw)
  for i = 10, 11 do version = max(version, tonumber(call('ZREVRANGE', KEYS[i], 0, 0, 'WITHSCORES')[2] or 0)) end
  -- Members that aren't heard of now may be using what they had: they stay members as if they were silent since now.
  for _, member in ipairs(call('ZRANGE', seen, 0, -1)) do call('ZADD', seen, now, member) end
  changed = bump()
end
local isLearning = now < learningUntil
if not isLearning and learningUntil > 0 then
  -- Only now is the number of members known, and told.
  learningUntil = 0
  changed = bump()
end

-- Of an account's tokens: the level, when it was that, the sum of what replicas hold beside their rests (less than
-- nothing: debts), the rests, when it was short last, and how many hold or owe.
local pattern, format = '(%S+) (%S+) (%S+) (%S+) (%S+) (%S+)', '%.3f %d %d %d %d %d'

-- What a member held that is no more goes back, debts too.
local function forget(member)
  local suffix = ':' .. member
  for _, field in ipairs(call('HKEYS', tokens)) do
    if string.sub(field, -#suffix) == suffix then
      local account = string.sub(field, 1, -#suffix - 1)
      local held = tonumber(call('HGET', tokens, field))
      local level, at, sum, rests, short, holders = string.match(call('HGET', tokens, account), pattern)
      call('HDEL', tokens, field)
      call('HSET', tokens, account,
        string.format(format, level + held, at, sum - held, rests, short, holders - 1))
    end
  end
end

local lastSeen = tonumber(call('ZSCORE', seen, replica) or -1)
local isNew = lastSeen < 0 or ARGV[7] == 'start' or not call('ZSCORE', read, replica)
if isNew then
  if lastSeen >= 0 then forget(replica) end
  changed = bump()
  -- From here on it has credit as a member.
  call('ZREM', KEYS[12], replica)
  call('ZREM', KEYS[13], replica)
end
if lastSeen < now then back = max(back, now) end
for _, member in ipairs(call('ZRANGEBYSCORE', seen, '-inf', now - goneMs)) do
  if member ~= replica then
    forget(member)
    -- What it admitted by credit and hasn't said may be said yet, if it comes back.
    local isAware = tonumber(call('ZSCORE', read, member) or -1) >= changed
    for i = 12, 13 do
      call('ZADD', KEYS[i], 'LT', isAware and call('ZCARD', seen) or 1, member)
    end
    call('ZREM', seen, member)
    call('ZREM', read, member)
    changed = bump()
  end
end
local from = isNew and 0 or tonumber(ARGV[6])
call('ZADD', seen, now + tonumber(ARGV[8]), replica)
call('ZADD', read, from, replica)

local members = call('ZCARD', seen)
local quiet = call('ZRANGEBYSCORE', seen, '-inf', '(' .. now)
local silent = #quiet
local leastRead = tonumber(call('ZRANGE', read, 0, 0, 'WITHSCORES')[2])
-- Whether every member that is heard of knows how many there are: until then rests may be of another number. A silent one
-- can't be told, and what others may have can't wait for it.
local behind, silentBehind = call('ZCOUNT', read, '-inf', '(' .. changed), 0
-- What silent ones have read; less than anything for one that wasn't heard of in this run of Redis.
local silentRead = {}
for i, member in ipairs(quiet) do
  silentRead[i] = tonumber(call('ZSCORE', read, member) or -1)
  if silentRead[i] < changed then silentBehind = silentBehind + 1 end
  if silentRead[i] < changed and silentRead[i] >= 0 then behind = behind - 1 end
end
local isSettled = not isLearning and behind == 0
local asserts = ARGV[5] ~= boot

-- Members that may still use what they have without asking.
local function unaware(since)
  if not since then return members end
  return members - call('ZCOUNT', read, since, '+inf')
end

-- Silent members that have given up their rests: while they are alone they have them again.
local function silentAware(since)
  local count = 0
  for _, version in ipairs(since and silentRead or {}) do
    if version >= tonumber(since) then count = count + 1 end
  end
  return count
end

-- What silent members owe of an account: they repay it themselves.
local function silentDebts(account)
  local sum = 0
  for _, member in ipairs(quiet) do sum = sum + min(0, tonumber(call('HGET', tokens, account .. ':' .. member) or 0)) end
  return sum
end

local function allowanceOf(burst, quota, members)
  return min(floor(quota / members / 2), floor(burst / members) + max(1, floor(burst / members / 10)))
end

-- Requests that former members may have admitted.
local former = {}
local function unsaid(month, burst, quota)
  former[month] = former[month] or call('ZRANGE', KEYS[11 + month], 0, -1, 'WITHSCORES')
  local sum = 0
  for i = 2, #former[month], 2 do sum = sum + allowanceOf(burst, quota, tonumber(former[month][i])) end
  return sum
end

local function share(account, burst, held, given, wanted, isShort)
  local own = account .. ':' .. replica
  local rest = floor(burst / members)
  local since = call('ZSCORE', scarce, account)
  -- An account that is scarce elsewhere is said to be so by those who hold more than a rest.
  if asserts and held > 0 then
    if not isLearning then held, given = 0, 0 end
    if not since then
      since = bump()
      call('ZADD', scarce, since, account)
      call('ZREM', calmed, account)
    end
  end
  local rests = unaware(since) * rest
  local level, at, sum, lastRests, short, holders
  local entry = call('HGET', tokens, account)
  if entry then
    level, at, sum, lastRests, short, holders = string.match(entry, pattern)
    level, at, sum, lastRests, short = level + 0, at + 0, sum + 0, lastRests + 0, short + 0
    -- A rest that is given up goes into the level, and one that is given comes from there.
    level = level + lastRests - rests
  else
    level, at, sum, short, holders = max(0, burst - rests), now, 0, -scarceMs, 0
  end
  -- First what has flowed since, as if all was used at the end of it: what ran over while it was full is lost.
  local flow = burst * (members - silent) / members / 1000
  level = level + max(0, now - max(at, back)) * flow
  local room = burst - sum + silentDebts(account) - (isSettled and rests + silentAware(since) * rest or burst)
  level = min(level, max(0, room))
  local before = tonumber(call('HGET', tokens, own) or 0)
  sum = sum + held - before
  level = min(level + given, max(0, burst - sum - rests))
  if not isLearning and wanted > held and level >= 1 then
    local grant = min(wanted - held, floor(level))
    level, sum, held = level - grant, sum + grant, held + grant
  end
  if since and wanted > held and level < 1 and sum > held then
    -- Held elsewhere, perhaps by who doesn't need them: they are called back, one call at a time.
    local last = tonumber(call('ZSCORE', scarce, account .. '!') or 0)
    if leastRead >= last then call('ZADD', scarce, bump(), account .. '!') end
  end
  if isShort then
    short = now
    if not since and members > 1 and held < wanted + 1 then
      since = bump()
      call('ZADD', scarce, since, account)
      call('ZREM', calmed, account)
    end
  end
  if since and isSettled and silent == 0 and now - short > scarceMs and rests == 0 and level >= members * rest then
    since = nil
    call('ZREM', scarce, account, account .. '!')
    call('ZADD', calmed, bump(), account)
    rests = members * rest
    level = level - rests
  end
  if ARGV[7] == 'leave' then
    level, sum, held = level + held, sum - held, 0
  end
  holders = holders + (held == 0 and 0 or 1) - (before == 0 and 0 or 1)
  if held ~= 0 then
    call('HSET', tokens, own, held)
  elseif before ~= 0 then
    call('HDEL', tokens, own)
  end
  if not since and holders == 0 and level >= burst - rests then
    call('HDEL', tokens, account)
  else
    call('HSET', tokens, account, string.format(format, level, now, sum, rests, short, holders))
  end
  return held
end

local function lease(account, month, burst, quota, used, toldInAll, toldOwn, granted, wanted, isTight)
  local usage, tight = KEYS[7 + month], KEYS[9 + month]
  local own = account .. ':' .. replica
  local inAll, grantedInAll, heard, counted, mark, lastQuota = 0, 0, 0, 0, 0, 0
  local entry = call('HGET', usage, account)
  if entry then
    inAll, grantedInAll, heard, counted, mark, lastQuota =
      string.match(entry, '(%S+) (%S+) (%S+) (%S+) (%S+) (%S+)')
    inAll, grantedInAll, heard, counted = inAll + 0, grantedInAll + 0, heard + 0, counted + 0
    mark, lastQuota = mark + 0, lastQuota + 0
  end
  local ownUsed, ownGranted, ownMark = 0, 0, 0
  local record = call('HGET', usage, own)
  if record then
    ownUsed, ownGranted, ownMark = string.match(record, '(%S+) (%S+) (%S+)')
    ownUsed, ownGranted, ownMark = ownUsed + 0, ownGranted + 0, ownMark + 0
  end
  -- What was used and is in no replica's count here: `heard` of in all, beyond what was `counted` then.
  local lostBefore = max(0, heard - counted)
  local isAsserted = asserts and ownMark ~= epoch
  if isAsserted then
    if mark ~= epoch then heard, counted, mark = inAll + lostBefore, inAll, epoch end
    heard = max(heard, toldInAll)
    counted = counted + max(0, toldOwn - ownUsed)
    ownMark = epoch
    if isTight and not call('ZSCORE', tight, account) then call('ZADD', tight, bump(), account) end
  elseif not record then
    ownMark = epoch
  end
  local lost = max(0, heard - counted)
  granted = max(granted, used)
  local allowance = allowanceOf(burst, quota, members)
  local since = call('ZSCORE', tight, account)
  local credits = isSettled and unaware(since) * allowance
    or unaware(since) > 0 and min(floor(quota / 2), floor(1.1 * burst) + members + 1) or 0
  -- Silent ones that don't know how many there are may take themselves for the only one.
  if credits > 0 then credits = credits + silentBehind * allowanceOf(burst, quota, 1) end
  local others = grantedInAll - ownGranted + lost + unsaid(month, burst, quota)
  -- Too late to say it: others may have been granted it.
  if isAsserted and not isLearning then granted = max(used, min(granted, quota - others - credits)) end
  local before = inAll + lostBefore
  inAll = inAll + used - ownUsed
  local free = quota - others - granted - credits
  if not isLearning and ARGV[7] ~= 'leave' then
    if wanted > granted and free >= 1 then
      -- By what it needs and others hold: so all come to the end of the quota together.
      local needed, held = wanted - used, max(0, grantedInAll - ownGranted - (inAll - used))
      local grant = min(wanted - granted, max(1, floor(free * needed / (needed + held))))
      granted, free = granted + grant, free - grant
    end
    if since and wanted > granted and free < 1 and grantedInAll - ownGranted > inAll - used then
      -- The last requests are leased elsewhere, perhaps to who doesn't need them: they are called back, one call at a time.
      local last = tonumber(call('ZSCORE', tight, account .. '!') or 0)
      if leastRead >= last then call('ZADD', tight, bump(), account .. '!') end
    end
    local reserve = members * (allowance + 1)
    if not since and free < reserve then
      call('ZADD', tight, bump(), account)
      call('ZREM', calmed, account .. '@' .. ARGV[9 + month])
    elseif since and isSettled and credits == 0 and free >= 4 * reserve then
      call('ZREM', tight, account, account .. '!')
      call('ZADD', calmed, bump(), account .. '@' .. ARGV[9 + month])
    end
  end
  grantedInAll = grantedInAll - ownGranted + granted
  call('HSET', usage, own, string.format('%d %d %d', used, granted, ownMark))
  call('HSET', usage, account,
    string.format('%d %d %d %d %d %d', inAll, grantedInAll, heard, counted, mark, quota))
  local total = inAll + lost
  for _, threshold in ipairs({ 80, 90, 100 }) do
    local line = quota * threshold
    if total * 100 >= line and (before * 100 < line or lastQuota ~= quota) then
      local name = account .. '!' .. threshold .. '!' .. quota
      if call('HSETNX', usage, name, total) == 1 then
        call('XADD', events, '*', 'account', account, 'month', ARGV[9 + month], 'threshold', threshold,
          'quota', quota, 'used', total)
      end
    end
  end
  return granted, total
end

local rows = {}
for at = 12, #ARGV, columns do
  local account, month, burst, quota = ARGV[at], tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3])
  if ARGV[at + 4] == 'read' then
    local record = call('HGET', KEYS[7 + month], account .. ':' .. replica)
    rows[#rows + 1] = { tonumber(record and string.match(record, '%S+') or 0), 0, 0, 0 }
  else
    local used = tonumber(ARGV[at + 5])
    local granted, total = lease(account, month, burst, quota, used, tonumber(ARGV[at + 6]), tonumber(ARGV[at + 7]),
      tonumber(ARGV[at + 8]), tonumber(ARGV[at + 9]), ARGV[at + 4] == 'tight')
    -- An account's tokens come with one of its months.
    local held = tonumber(ARGV[at + 10])
    if held then
      held = share(account, burst, held, tonumber(ARGV[at + 11]), tonumber(ARGV[at + 12]), ARGV[at + 13] == '1')
    end
    rows[#rows + 1] = { used, granted, total, held or 0 }
  end
end
-- A month that nothing was said of for long is deleted when another one comes. By Redis' time, as clocks may be wrong.
for i = 10, 11 do
  local field = 'said:' .. ARGV[i]
  if raw - tonumber(known[i + 3] or -dayMs) >= dayMs and call('EXISTS', KEYS[i - 2]) == 1 then
    call('HSET', meta, field, raw)
    local all = call('HGETALL', meta)
    for at = 1, #all, 2 do
      local month = string.match(all[at], '^said:(.*)')
      if month and raw - all[at + 1] > monthKeptMs and month ~= ARGV[10] and month ~= ARGV[11] then
        for _, kind in ipairs({ 8, 10, 12 }) do
          call('DEL', string.sub(KEYS[kind], 1, -1 - #ARGV[10]) .. month)
        end
        call('HDEL', meta, all[at], 'keys:' .. month)
      end
    end
  end
end

-- The changes that the replica hasn't read yet: of what is cut off, the rest with the next call.
local changes, upTo = {}, version
local function changesOf(key, suffix, isSpare)
  local list = call('ZRANGEBYSCORE', key, '(' .. from, '+inf', 'WITHSCORES', 'LIMIT', 0, feedLength)
  if #list == 2 * feedLength then upTo = min(upTo, tonumber(list[#list])) end
  for i = 1, #list, 2 do changes[#changes + 1] = { list[i] .. suffix, isSpare, tonumber(list[i + 1]) } end
end
changesOf(scarce, '', 1)
changesOf(KEYS[10], '@' .. ARGV[10], 1)
changesOf(KEYS[11], '@' .. ARGV[11], 1)
changesOf(calmed, '', 0)
call('ZREMRANGEBYSCORE', calmed, '-inf', leastRead)
local news = {}
for _, change in ipairs(changes) do
  if change[3] <= upTo then
    news[#news + 1] = change[1]
    news[#news + 1] = change[2]
  end
end

if ARGV[7] == 'leave' then
  forget(replica)
  call('ZREM', seen, replica)
  call('ZREM', read, replica)
  changed = bump()
end
counted = countKeys()
call('HSET', meta, 'boot', boot, 'learning', learningUntil, 'clock', now, 'raw', raw, 'version', version,
  'epoch', epoch, 'changed', changed, 'back', back, 'q:' .. replica, ARGV[4],
  'keys', counted[1], 'keys:' .. ARGV[10], counted[2], 'keys:' .. ARGV[11], counted[3])
return { 'ok', boot, isLearning and learningUntil - now or 0, isNew and 1 or 0, members, isSettled and 1 or 0, upTo,
  upTo == version and 1 or 0, news, rows }
