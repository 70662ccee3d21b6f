--[[
Keeps the ceilings of all accounts: leases of quotas, and shares of rates. Only this script writes the records of
ceilings. Each server has a part, which is the same for all accounts. With N servers the parts approach 1/N. They
never sum to more than 1. While an account is at rest, each server may use its resting part, which is its part of the
account's rate, and its credit, a few requests of the account's quota, without asking. Two inequalities hold at any
time, and the tests check them:

  quota:  use of servers that left + what each server was granted or used + credit that servers may use  <=  quota
  rate:   shares in force + resting parts that servers may use                                           <=  rate

An account that needs more on a server is flagged. The flag "ID" means that the account is active: its servers have
shares and no resting parts. The flag "ID@MONTH" means that its quota is tight: its servers have no credit. Flags are
numbered. Each call names the last flag that the calling server has read. Until a server has read a flag, its credit and
its resting part count as used. When a flag has ended, a server learns it by its next report about the account, and uses
less than allowed until then. A server reports less only after it uses less. It uses more only after an answer allows
it. A call may be lost, repeated or late, because calls are numbered and have absolute values.

A server's id consists of its place and the number of its start. The record of an account in a month has these fields:

  servers        what each server used and was granted, with `base`, the count of the earlier servers at its place
  left           what earlier servers at each place used
  total          the use of all servers, as the answers have it
  n              the number of the record's version
  tight          the number of its flag while the quota is tight
  life           the life of Redis in which a server last reported it
  ceilings       the last reported rate and quota
  burst, quota   the highest ceilings
  till           a minute after the ceilings last changed

KEYS  1 hash with the servers in meta, a heartbeat beat:ID for each server, and rate:ID for each active account
      2 sorted set of the flags by number
      3 and 4 hashes of the months that the call names, two at most, with a record for each account
ARGV  1 the call as JSON. Its `op` is the name of an operation. `ms` and `run` replace Redis' time and run id in tests.
]]
local hash, flags = KEYS[1], KEYS[2]
local call, floor, min, max = redis.call, math.floor, math.min, math.max
local ask = cjson.decode(ARGV[1])

-- Milliseconds of learning after a loss of data. Servers report their leases and shares, and Redis grants nothing.
local learningMs = 2000
-- Milliseconds for which Redis goes on learning: it awaits the first call of each known server, and the next call of
-- each unfinished report. A server sends a lost call again after 2 s, and may have to connect first.
local nextCallMs = 6000
-- Milliseconds that a share counts as used. A server uses it for 2 s. The margin covers changes of Redis' clock.
local shareMs = 3500
-- Milliseconds without demand after which an account is at rest again, even if a server still has a share.
local restMs = 5000
-- A server counts as gone after these milliseconds without a heartbeat. It stops using its part 10 s earlier, unless
-- QUOTA_WITHOUT_REDIS is `free`.
local goneMs = 60000
-- For these milliseconds after a server has left, its late or repeated calls are ignored.
local lateMs = 10000
local monthKeptMs = 100 * 86400000
-- If the server that delivers events sends no report for these milliseconds, Redis chooses another server. The former
-- server stops 2 s after its last answered report. The margin covers changes of Redis' clock.
local delivererMs = 3000

local meta = cjson.decode(call('HGET', hash, 'meta') or
  '{"version":0,"learning":0,"skew":0,"knew":0,"old":{},"flags":0,"servers":{},"left":{},"months":{}}')
local before = cjson.encode(meta)
-- For a minute after a loss, `old` has the servers from before the loss, by place. The value is false until the server
-- calls. Then it is the server's part at the time of the loss, or an equal part if the server was restarted.
meta.old = meta.old or {}
-- `servers` has the servers' reports, and `beats` their heartbeats, by id. `last` is the latest known time. `writes`
-- has the fields of the hash to write.
local servers, beats, last, writes = meta.servers, {}, 0, {}
for id in pairs(servers) do
  beats[id] = cjson.decode(call('HGET', hash, 'beat:' .. id))
  last = max(last, beats[id].at)
end
for _, at in pairs(meta.left) do last = max(last, at) end

local function placeOf(id)
  return string.match(id, '^[^.]*')
end

local function startOf(id)
  return tonumber(string.match(id, '%d*$')) or 0
end

-- Redis' clock may be set, so `now` advances at most as much as the caller's steady clock.
local raw = ask.ms
if not raw then
  local time = call('TIME')
  raw = time[1] * 1000 + floor(time[2] / 1000)
end
local now = max(last, raw - meta.skew)
if ask.elapsed and last > 0 then now = min(now, last + ask.elapsed) end
if ask.elapsed then meta.skew = raw - now end

-- Redis may have lost writes if its run id, the number of flags or the hash of a month isn't as expected. A backup may
-- also be put back without a restart. Then Redis doesn't know a flag that the caller has read, or a call that Redis has
-- answered in this life.
local run = meta.run
if ask.check or not run then run = ask.run or string.match(call('INFO', 'server'), 'run_id:(%w+)') end
local beat, read = beats[ask.server], ask.read or 0
local isLost = run ~= meta.run or call('ZCARD', flags) ~= meta.flags or read > meta.version
  or beat and ask.life == meta.life and ask.answered > beat.seq
for i, month in ipairs(ask.months or {}) do
  if meta.months[month] and call('EXISTS', KEYS[2 + i]) == 0 then isLost, meta.months[month] = true, nil end
end
if isLost and ask.op ~= 'tick' then
  -- A command has found the loss. Only a server's call begins the new life, because servers then report what they hold.
  meta.run = nil
elseif isLost then
  -- The time alone could name two lives, because the clock may be set back. So the name also has Redis' run id.
  meta.life = string.format('%s:%.0f', run, raw)
  meta.run, meta.learning, meta.since = run, now + learningMs, now
  meta.version = max(meta.version, raw, read, tonumber(call('ZREVRANGE', flags, 0, 0, 'WITHSCORES')[2] or 0))
  meta.knew, meta.old = 0, {}
  -- Servers that don't report may still use their leases and parts. The time until they are gone starts now.
  for id, server in pairs(servers) do
    server.read, server.till, meta.old[placeOf(id)] = 0, 0, false
    beats[id].at = now
    writes['beat:' .. id] = beats[id]
  end
end
-- Soon after a loss, a caller may know more servers than earlier callers, which may be new. Then Redis goes on
-- learning.
if ask.knew and ask.life ~= meta.life and ask.knew > meta.knew and now < meta.since + nextCallMs then
  meta.knew, meta.learning = ask.knew, max(meta.learning, now)
end
local isLearning, heard = isLost or now < meta.learning, 0
for _, server in pairs(servers) do isLearning = isLearning or now < (server.till or 0) end
for _, part in pairs(meta.old) do heard = heard + (part and 1 or 0) end
-- Redis goes on learning until it has heard from all servers from before the loss, but at most for `nextCallMs`.
if meta.learning > 0 and heard < meta.knew and now < meta.since + nextCallMs then isLearning = true end
if not isLearning then meta.learning = 0 end

local function flag(name)
  meta.version = meta.version + 1
  call('ZADD', flags, meta.version, name)
  return meta.version
end

local function remove(id)
  servers[id] = nil
  call('HDEL', hash, 'beat:' .. id)
end

local function save()
  meta.flags = call('ZCARD', flags)
  local text = cjson.encode(meta)
  if text ~= before then writes.meta = text end
  for field, value in pairs(writes) do
    call('HSET', hash, field, type(value) == 'string' and value or cjson.encode(value))
  end
end

-- `me` is the caller's id, `own` its entry in `servers`. `count` is the number of servers that aren't gone. `missing`
-- is the number of servers from before a loss that haven't called since, `unheard` the sum of their parts.
local me, own, count, missing, unheard = ask.server, nil, 0, 0, 0
-- The number of servers that are gone, and the sum of their parts.
local lost = { count = 0, part = 0 }

-- Requests that a server may admit without a lease. Must equal `creditOf` in share.ts.
local function creditOf(burst, quota, part)
  return part > 0 and min(floor(quota * part / 4), max(1, floor(burst * part + 1e-6))) or 0
end

-- Returns two sums of credits: what present servers may use, and what gone servers may have used without reporting it.
-- The present ceilings apply to the caller, and to servers that have called more than a minute after the ceilings
-- changed. The highest ceilings apply to all other servers, which may not know the change.
local function credits(month, record, burst, quota, tight)
  local live, gone = 0, 0
  for id, server in pairs(servers) do
    if server.read < (tight or math.huge) then
      local part, isCurrent = server.gone or server.part, id == me or beats[id].at > record.till
      local credit = isCurrent and creditOf(burst, quota, part) or creditOf(record.burst, record.quota, part)
      if not server.gone then
        live = live + credit
      elseif server.months[1] <= month and month <= server.months[2] then
        gone = gone + credit
      end
    end
  end
  return live, gone
end

local function writeRecord(i, account, record)
  -- While Redis learns, `n` stays the same. So the newest copy of a record has the highest `n`, even after a loss.
  if not isLearning then record.n = record.n + 1 end
  local text = cjson.encode(record)
  call('HSET', KEYS[2 + i], account, text)
  if not meta.months[ask.months[i]] then
    meta.months[ask.months[i]] = true
    call('PEXPIRE', KEYS[2 + i], monthKeptMs)
    -- Months before the two of the call are over, so their flags aren't needed any more.
    for _, name in ipairs(call('ZRANGE', flags, 0, -1)) do
      local month = string.match(name, '@(.*)')
      if month and month < ask.months[1] then call('ZREM', flags, name) end
    end
  end
  return text
end

-- Returns the largest number of requests that a server may have used: its grant, or its report if that is larger. A
-- forgotten server counts with at most 2 * burst + 1 requests above its report. It may not have reported its last
-- second, in which a full bucket allows this number.
local function charged(id, entry, burst)
  local most = servers[id] and servers[id].forgotten and entry.used + 2 * burst + 1 or math.huge
  return max(entry.used, min(entry.granted, most))
end

-- `base` is the number of requests that earlier servers at a server's place counted. If a record has fewer, adds the
-- lacking requests: first to the earlier servers' leases, then to `left`. Returns whether requests were lacking. A
-- server reports `base` again after each start, so no count is lost with Redis' records or added twice.
local function settle(record, id, base, burst)
  local place, earlier = placeOf(id), {}
  local left = record.left[place] or 0
  local lacking = base - left
  for other, entry in pairs(record.servers) do
    if placeOf(other) == place and startOf(other) < startOf(id) then
      earlier[other], lacking = entry, lacking - entry.used
    end
  end
  if lacking <= 0 then return false end
  for other, entry in pairs(earlier) do
    local used = min(charged(other, entry, burst), entry.used + lacking)
    entry.used, lacking = used, lacking - (used - entry.used)
  end
  if lacking > 0 then record.left[place] = left + lacking end
  return true
end

-- Returns an account's record and its text, which is nil if there is no record yet.
local function readRecord(i, account)
  local text = call('HGET', KEYS[2 + i], account)
  return text and cjson.decode(text) or { n = 0, left = {}, total = 0, servers = {} }, text or nil
end

-- Keeps a month's highest ceilings in a record: servers may have used credit by them without reporting it. A server
-- counts as not knowing a change until it calls more than a minute after the change. Returns whether the record has
-- changed.
local function keepHighest(record, burst, quota)
  local ceilings = burst .. '/' .. quota
  if record.ceilings == ceilings then return false end
  record.ceilings, record.till = ceilings, now + goneMs
  record.burst, record.quota = max(burst, record.burst or 0), max(quota, record.quota or 0)
  return true
end

-- Takes a server's report of an account's month, and grants a lease.
local function lease(row, i, report)
  local month, quota = ask.months[i], report.quota
  local record, text = readRecord(i, row.id)
  local isNew = not text
  if report.copy and isLearning then
    local copy = cjson.decode(report.copy)
    if copy.n > record.n or isNew then
      -- Adds the reports since the loss to the copy, because they are newer. Earlier starts come first, because
      -- `settle` needs the counts of earlier servers. An entry from before an upgrade may lack `base`.
      local since = {}
      for id, entry in pairs(record.servers) do
        if entry.life == meta.life then copy.servers[id], since[#since + 1] = entry, id end
      end
      table.sort(since, function(a, b) return startOf(a) < startOf(b) end)
      for _, id in ipairs(since) do settle(copy, id, copy.servers[id].base or 0, row.burst) end
      copy.burst, copy.quota = max(copy.burst, record.burst or 0), max(copy.quota or 0, record.quota or 0)
      record, isNew = copy, true
    end
  end
  if keepHighest(record, row.burst, quota) then isNew = true end
  if record.life ~= meta.life then
    record.life, record.till, isNew = meta.life, now + goneMs, true
    if record.tight then record.tight = flag(row.id .. '@' .. month) end
  end
  local mine = record.servers[me] or { used = 0, granted = 0 }
  if settle(record, me, report.base, record.burst) then isNew = true end
  local used, dead = 0, 0
  for _, count in pairs(record.left) do used = used + count end
  local others = used
  for id, entry in pairs(record.servers) do
    if id ~= me then
      local most = charged(id, entry, record.burst)
      used, others = used + entry.used, others + most
      if not servers[id] or servers[id].gone then dead = dead + most - entry.used end
    end
  end
  local live, gone = credits(month, record, row.burst, quota)
  local kept, keptByGone = live, gone
  if record.tight then kept, keptByGone = credits(month, record, row.burst, quota, record.tight) end
  local free = quota - others - kept - keptByGone
  local granted = max(report.granted, report.used)
  -- If a report claims more than the record grants, it comes too late. Other servers may have got the requests.
  if not isLearning and granted > max(charged(me, mine, record.burst), report.used) then
    granted = max(report.used, min(granted, free))
  end
  free = free - granted
  local tight = record.tight
  if not ask.isLeaving then
    if not isLearning and report.wanted > granted and free >= 1 then
      local grant = min(report.wanted - granted, max(1, floor(free / 2 / count)))
      granted, free = granted + grant, free - grant
    end
    local scarce = live + count
    -- While Redis learns, assumes the largest credit. Servers may get parts and credit before their next report.
    if isLearning then scarce = 2 * creditOf(record.burst, record.quota, 1) + max(count, meta.knew) end
    if not tight and free < scarce then
      record.tight = flag(row.id .. '@' .. month)
    elseif tight and not isLearning and free >= 4 * scarce then
      record.tight = nil
      call('ZREM', flags, row.id .. '@' .. month)
    end
  end
  used = used + report.used
  -- If the quota is used or held by gone servers, the leases of gone servers count as used.
  local total = used + dead + keptByGone >= quota and max(used, quota) or used
  if isNew or mine.used ~= report.used or mine.granted ~= granted or mine.life ~= meta.life
    or record.tight ~= tight or record.total ~= total or ask.isLeaving then
    record.total = total
    granted = ask.isLeaving and report.used or granted
    record.servers[me] = { used = report.used, granted = granted, base = report.base, life = meta.life }
    -- While Redis learns, the entry of a server that leaves stays in `servers`. Otherwise its requests would only be in
    -- `left`, and another server may send a newer copy of the record without these requests.
    if ask.isLeaving and not isLearning then
      local place = placeOf(me)
      record.left[place], record.servers[me] = (record.left[place] or 0) + report.used, nil
    end
    text = writeRecord(i, row.id, record)
  end
  return { granted = granted, total = total, tight = record.tight and true, copy = report.fresh and text or nil }
end

-- Takes a server's demand for an account's rate, and grants a share in proportion to it.
local function share(row)
  local field, burst = 'rate:' .. row.id, row.burst
  local text = call('HGET', hash, field)
  local rate = text and cjson.decode(text)
  -- Shares from before a loss have to expire first, so Redis grants no share while it learns.
  if isLearning then return {} end
  local function rest()
    call('HDEL', hash, field)
    call('ZREM', flags, row.id)
    return { share = 0 }
  end
  if not rate or rate.life ~= meta.life then
    if row.demand == 0 then return rest() end
    rate = { life = meta.life, version = flag(row.id), at = now, shares = {} }
  end
  if row.demand > 0 then rate.at = now end
  local isShared = row.demand > 0 or row.share > 0
  for id, entry in pairs(rate.shares) do isShared = isShared or id ~= me and entry.till > now end
  if not isShared or now - rate.at >= restMs then return rest() end
  local reserved, demands = burst * unheard, row.demand
  for id, server in pairs(servers) do
    local entry = rate.shares[id]
    if id ~= me then
      local rest = burst * server.part
      local held = entry and entry.share or 0
      local isValid = entry and entry.till > now
      if isValid then demands = demands + entry.demand end
      if server.read < rate.version then
        reserved = reserved + max(rest, held)
      else
        reserved = reserved + (isValid and held or min(held, rest))
      end
    end
  end
  local granted = row.demand > 0 and max(0, min(burst * row.demand / demands, burst - reserved)) or 0
  local held = max(row.share, granted)
  rate.shares[me] = (held > 0 or row.demand > 0) and { share = held, demand = row.demand, till = now + shareMs } or nil
  writes[field] = rate
  return { active = true, share = granted }
end

-- Adds the caller to the servers, marks other servers as gone, and returns the caller's part. A report may take several
-- calls. Only its last call changes `read` and `part`. Until then Redis reserves the caller's earlier credit, because
-- it may lack requests from before the caller read a flag or lowered its part.
local function join()
  own = servers[me]
  local isAsserting = ask.life ~= meta.life
  if not own then
    -- All fields have values: setting a missing field to nil may change the order in which the table is encoded.
    own = { read = 0, part = 0, till = 0, gone = false, forgotten = false }
    servers[me] = own
    -- A backup from before this call lacks the server. If the backup is restored, the new number shows the loss.
    meta.version = meta.version + 1
  end
  if isAsserting then
    -- A new process doesn't know its predecessor's part. An equal part for each server is assumed.
    local place, part = placeOf(me), ask.answered == 0 and 1 / ask.knew or ask.part
    if ask.knew > 0 then meta.old[place] = max(meta.old[place] or 0, part) end
    -- After a loss, a server's report may take several calls. Until it ends, the server uses its earlier part.
    if isLearning then own.part = max(own.part, ask.part) end
  end
  -- If the caller has more to report, Redis goes on learning until the caller's next call.
  local hasMore = isAsserting and isLearning and (ask.hasMore or ask.life ~= '')
  own.till = hasMore and min(now + nextCallMs, meta.since + goneMs) or 0
  -- After the learning, the caller's number of servers may be from after the loss, so it isn't used.
  if isAsserting and isLearning then meta.knew = max(meta.knew, ask.knew) end
  own.months, own.taken = ask.months, ask.taken
  if not ask.hasMore then
    own.gone = false
    own.read = isAsserting and 0 or ask.read
  end
  local others = 0
  for id, server in pairs(servers) do
    if id ~= me and not server.gone and (now - beats[id].at > goneMs or placeOf(id) == placeOf(me)) then
      server.gone, server.part = server.part, 0
    end
    if server.gone and server.months[2] < ask.months[1] then
      remove(id)
    elseif not server.gone then
      count = count + 1
      if id ~= me then others = others + server.part end
    else
      lost.count, lost.part = lost.count + 1, lost.part + server.gone
    end
  end
  count = max(1, count)
  -- For a minute after a loss, servers from before it may use parts that Redis doesn't know.
  if now - meta.since >= goneMs then
    meta.old = {}
  else
    local known, parts = 0, 0
    for _, part in pairs(meta.old) do known, parts = known + 1, parts + (part or 0) end
    missing = max(0, meta.knew - known)
    if missing > 0 then unheard = max(0, 1 - parts) end
  end
  if ask.hasMore then return ask.part end
  local room = 1 - others - unheard
  -- A value below 1e-6 is a rounding error.
  if room < 1e-6 then room = 0 end
  own.part = isLearning and isAsserting and ask.part or min(ask.part, isAsserting and room or own.part)
  if own.part > 1 / count then return 1 / count end
  if not isLearning then own.part = max(own.part, min(1 / count, room)) end
  return own.part
end

-- Returns whether the caller delivers events. One server delivers events until it stops reporting. While Redis learns,
-- no other server is chosen, because the server from before the loss may still deliver.
local function delivers()
  local holder = servers[meta.deliverer]
  if not isLearning and (not holder or holder.gone or now - beats[meta.deliverer].at >= delivererMs) then
    meta.deliverer = me
  end
  return meta.deliverer == me
end

local ops = {}

function ops.tick()
  own = servers[me]
  for id, at in pairs(meta.left) do
    if now - at > lateMs then meta.left[id] = nil end
  end
  if meta.left[me] or own and ask.seq <= beats[me].seq then return { stale = true } end
  -- An unknown caller has left, and its call is late or repeated, or it counts as gone. The answer makes the caller
  -- join again, and report its leases and shares.
  local isKnown = own and not own.gone
  if not isKnown and ask.life == meta.life and not (own and ask.isLeaving) then return { gone = true } end
  local part = 0
  if isKnown or not ask.isLeaving then part = join() end
  if own then writes['beat:' .. me] = { at = now, seq = ask.seq } end
  local rows = {}
  for at, row in ipairs(ask.rows) do
    local answer = row.demand and share(row) or {}
    answer.months = {}
    for i, month in ipairs(ask.months) do
      if row.months[month] then answer.months[month] = lease(row, i, row.months[month]) end
    end
    rows[at] = answer
  end
  if own and not ask.hasMore then own.forgotten = false end
  local unread, isDelivering = {}, false
  if not ask.isLeaving then
    unread = call('ZRANGEBYSCORE', flags, string.format('(%.0f', own.read), '+inf')
    isDelivering = delivers()
  elseif not ask.hasMore then
    remove(me)
    writes['beat:' .. me], meta.left[me] = nil, now
  end
  return { life = meta.life, isLearning = isLearning, members = count, knew = count + missing, lost = lost, part = part,
    flags = unread, read = meta.version, delivers = isDelivering, rows = rows }
end

function ops.servers()
  local list = {}
  for id, server in pairs(servers) do
    local age = now - beats[id].at
    if not server.forgotten then
      local isGone = not not server.gone or age > goneMs
      list[#list + 1] = { id = id, isGone = isGone, age = age, taken = server.taken }
    end
  end
  return { servers = list }
end

-- Gives back the leases of a server that is gone for good. From now on `charged` counts fewer requests for the server.
-- An account's total may still include the leases, and servers never ask for more than the quota minus the total. So
-- the total of each account in the call becomes its used requests.
function ops.forget()
  servers[ask.server].forgotten = true
  for _, account in ipairs(ask.accounts) do
    local record = readRecord(1, account)
    record.total = 0
    for _, count in pairs(record.left) do record.total = record.total + count end
    for _, entry in pairs(record.servers) do record.total = record.total + entry.used end
    writeRecord(1, account, record)
  end
  return {}
end

-- Keeps the ceilings that accounts have before a command lowers them.
function ops.keep()
  for i in ipairs(ask.months) do
    for _, row in ipairs(ask.rows) do
      local record = readRecord(i, row.id)
      if keepHighest(record, row.burst, row.quota) then writeRecord(i, row.id, record) end
    end
  end
  return {}
end

local answer = ops[ask.op]()
save()
return cjson.encode(answer)
