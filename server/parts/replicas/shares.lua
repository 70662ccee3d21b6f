--[[
Keeps the ceilings of all accounts: leases of quotas, and shares of rates. All records of ceilings are read and written
here. Two sums hold at any time, and the trials check them:

  quota:  settled use + what each server was granted or used + the credit of each server that may have it  <=  Q
  rate:   shares in force + the resting part of each server that may use it                                <=  R

Each server has a part of all accounts, 1/N in the end, and the parts never sum to more than 1. Of an account at rest it
may use its part of the rate, and a small credit of the quota, without asking. An account that needs more somewhere is
flagged: "ID" is active (shares in place of resting parts), "ID@MONTH" is tight (no credit). Flags are numbered, and each
call says which number its server has read; until then the server counts as if it still used what it had. That a flag has
ended a server is told when it reports about the account: until then it uses less than it may. A server says less only
after it uses less, and uses more only after it is told. Its values are absolute and its calls numbered, so a call may be
lost, repeated or late.

KEYS  1 hash: meta, for each server server:ID and beat:ID, for each active account rate:ID; 2 flags by number; 3 4 hashes
      of the two months named in the call: a record by account
ARGV  1 the call as JSON; `op` says which. `ms` and `run` replace Redis' time and run id in tests.
]]
local hash, flags = KEYS[1], KEYS[2]
local call, floor, min, max = redis.call, math.floor, math.min, math.max
local ask = cjson.decode(ARGV[1])

-- After Redis lost data, servers report for this long what they hold, and nothing is granted. Shares expire meanwhile.
local learningMs = 2000
-- A server uses a share for 2 s after its request. Here it counts for longer, in case a clock is set.
local shareMs = 3500
-- Without demand for this long an account is at rest again.
local restMs = 5000
-- A server without a heartbeat for this long is gone. It stopped using its part 10 s before.
local goneMs = 60000
local monthKeptMs = 100 * 86400000
-- A server stops delivering events 2 s after its last report. Another may start after this, in case a clock is set.
local delivererMs = 3000
local mostFlags = 500

local meta = cjson.decode(call('HGET', hash, 'meta') or '{"version":0,"learning":0,"skew":0,"knew":0,"flags":0,"ids":{},"months":{}}')
local isChanged = false
local servers, last, writes = {}, 0, {}
for _, id in ipairs(meta.ids) do
  local texts = call('HMGET', hash, 'server:' .. id, 'beat:' .. id)
  local server, beat = cjson.decode(texts[1]), cjson.decode(texts[2])
  server.text, server.at, server.seq = texts[1], beat.at, beat.seq
  servers[id], last = server, max(last, beat.at)
end

-- Time advances at most as much as the caller's steady clock, because Redis' clock may be set.
local raw = ask.ms
if not raw then
  local time = call('TIME')
  raw = time[1] * 1000 + floor(time[2] / 1000)
end
local now = max(last, raw - meta.skew)
if ask.elapsed and last > 0 then now = min(now, last + ask.elapsed) end
if ask.elapsed and raw - now ~= meta.skew then meta.skew, isChanged = raw - now, true end

-- Writes are lost when Redis starts anew or is emptied, and when it drops a key.
local run = meta.run
if ask.check or not run then run = ask.run or string.match(call('INFO', 'server'), 'run_id:(%w+)') end
local isLost = run ~= meta.run or call('ZCARD', flags) ~= meta.flags
for i, month in ipairs(ask.months or {}) do
  isLost = isLost or meta.months[month] and call('EXISTS', KEYS[2 + i]) == 0
end
if isLost then
  meta.life, meta.run, meta.learning, meta.since = max((meta.life or 0) + 1, raw), run, now + learningMs, now
  meta.version = max(meta.version, raw, tonumber(call('ZREVRANGE', flags, 0, 0, 'WITHSCORES')[2] or 0))
  meta.knew = 0
  -- Servers that don't report may still use what they had, so their silence counts from now.
  for id, server in pairs(servers) do
    server.read, server.at, server.old = 0, now, true
    writes['beat:' .. id] = { at = now, seq = server.seq }
  end
  isChanged = true
end
local isLearning = now < meta.learning

local function flag(name)
  meta.version, isChanged = meta.version + 1, true
  call('ZADD', flags, meta.version, name)
  return meta.version
end

local function remove(id)
  servers[id], isChanged = nil, true
  call('HDEL', hash, 'server:' .. id, 'beat:' .. id)
  for i, known in ipairs(meta.ids) do
    if known == id then return table.remove(meta.ids, i) end
  end
end

local function save()
  local number = call('ZCARD', flags)
  if isChanged or number ~= meta.flags then
    meta.flags = number
    writes.meta = meta
  end
  for id, server in pairs(servers) do
    local text = cjson.encode({ read = server.read, part = server.part, gone = server.gone, old = server.old,
      forgotten = server.forgotten, months = server.months,
      taken = server.taken })
    if text ~= server.text then writes['server:' .. id] = text end
  end
  local values = {}
  for field, value in pairs(writes) do
    values[#values + 1] = field
    values[#values + 1] = type(value) == 'string' and value or cjson.encode(value)
  end
  if #values > 0 then call('HSET', hash, unpack(values)) end
end

-- The caller, its entry, the number of servers that aren't gone, and the part of servers that haven't reported since a
-- loss.
local me, own, count, unheard = ask.server, nil, 0, 0

-- Requests of an account that a server may admit without a lease; must equal `creditOf` in share.ts.
local function creditOf(burst, quota, part)
  return part > 0 and min(floor(quota * part / 4), max(1, floor(burst * part + 1e-6))) or 0
end

-- Credits of servers that may use them: of those that are heard of, and of those that are gone. One that is gone may have
-- used its credit before, unsaid.
local function credits(month, burst, quota, tight)
  local live, gone = 0, 0
  for _, server in pairs(servers) do
    if server.read < (tight or math.huge) then
      if not server.gone then
        live = live + creditOf(burst, quota, server.part)
      elseif server.months[1] <= month and month <= server.months[2] then
        gone = gone + creditOf(burst, quota, server.gone)
      end
    end
  end
  return live, gone
end

local function recordOf(i, account)
  local text = call('HGET', KEYS[2 + i], account)
  return text and cjson.decode(text) or { n = 0, left = 0, total = 0, servers = {} }, text
end

local function writeRecord(i, account, record)
  -- The highest number is that of the newest record, also after Redis has lost it.
  if not isLearning then record.n = record.n + 1 end
  local text = cjson.encode(record)
  call('HSET', KEYS[2 + i], account, text)
  if not meta.months[ask.months[i]] then
    meta.months[ask.months[i]], isChanged = true, true
    call('PEXPIRE', KEYS[2 + i], monthKeptMs)
  end
  return text
end

-- Takes a server's report of an account's month, and grants a lease.
local function lease(row, i, said)
  local month, quota = ask.months[i], row.quota
  local record, text = recordOf(i, row.id)
  local isNew = not text
  if said.copy and isLearning then
    local copy = cjson.decode(said.copy)
    if copy.n > record.n or isNew then
      -- Reports since the loss are newer than the copy.
      for id, entry in pairs(record.servers) do
        if entry.life == meta.life then copy.servers[id] = entry end
      end
      record, isNew = copy, true
    end
  end
  if record.life ~= meta.life then
    record.life, isNew = meta.life, true
    if record.tight then record.tight = flag(row.id .. '@' .. month) end
  end
  local mine = record.servers[me] or { used = 0, granted = 0 }
  local used, others, dead = record.left, record.left, 0
  for id, entry in pairs(record.servers) do
    if id ~= me then
      used, others = used + entry.used, others + max(entry.used, entry.granted)
      if not servers[id] or servers[id].gone then dead = dead + max(0, entry.granted - entry.used) end
    end
  end
  -- This server's counts of earlier processes, if they aren't recorded elsewhere.
  local unknown = max(0, (said.base or 0) - used)
  record.left, used, others = record.left + unknown, used + unknown, others + unknown
  local live, gone = credits(month, row.burst, quota)
  local kept, keptByGone = live, gone
  if record.tight then kept, keptByGone = credits(month, row.burst, quota, record.tight) end
  local free = quota - others - kept - keptByGone
  local granted = max(said.granted, said.used)
  -- This report is too late: the requests may have been granted to others.
  if not isLearning and granted > max(mine.granted, said.used) then granted = max(said.used, min(granted, free)) end
  free = free - granted
  local tight = record.tight
  if not isLearning and not ask.isLeaving then
    if said.wanted > granted and free >= 1 then
      local grant = min(said.wanted - granted, max(1, floor(free / 2 / count)))
      granted, free = granted + grant, free - grant
    end
    local scarce = live + count
    if not tight and free < scarce then
      record.tight = flag(row.id .. '@' .. month)
    elseif tight and free >= 4 * scarce then
      record.tight = nil
      call('ZREM', flags, row.id .. '@' .. month)
    end
  end
  used = used + said.used
  -- If no server has requests left, the leases of gone servers count as used.
  local total = used + dead + keptByGone >= quota and max(used, quota) or used
  if isNew or unknown > 0 or mine.used ~= said.used or mine.granted ~= granted or mine.life ~= meta.life
    or record.tight ~= tight or record.total ~= total or ask.isLeaving then
    record.total = total
    record.burst = row.burst
    record.servers[me] = { used = said.used, granted = granted, life = meta.life }
    if ask.isLeaving then record.left, record.servers[me] = record.left + said.used, nil end
    text = writeRecord(i, row.id, record)
  end
  return { granted = granted, total = total, tight = record.tight and true, copy = said.fresh and text or nil }
end

-- The caller's share by demand: max-min fair when all want more than there is, else in proportion.
local function targetOf(burst, demand, demands)
  local sum, left = 0, burst
  for _, each in ipairs(demands) do sum = sum + each end
  if sum <= burst then return demand > 0 and burst * demand / sum or 0 end
  table.sort(demands)
  for i, each in ipairs(demands) do
    local level = left / (#demands - i + 1)
    if each >= level then return min(demand, level) end
    left = left - each
  end
  return demand
end

-- Takes a server's demand for an account's rate, and grants a share.
local function share(row)
  local field, burst = 'rate:' .. row.id, row.burst
  local text = call('HGET', hash, field)
  local rate = text and cjson.decode(text)
  -- Shares from before a loss expire while servers report what they hold.
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
  if now - rate.at >= restMs then return rest() end
  local reserved, demands = burst * unheard, { row.demand }
  for id, server in pairs(servers) do
    local entry = rate.shares[id]
    if id ~= me then
      local rest = burst * server.part
      local held = entry and entry.share or 0
      local isValid = entry and entry.till > now
      if isValid then demands[#demands + 1] = entry.demand end
      if server.read < rate.version then
        reserved = reserved + max(rest, held)
      else
        reserved = reserved + (isValid and held or min(held, rest))
      end
    end
  end
  local told = max(0, min(targetOf(burst, row.demand, demands), burst - reserved))
  local held = max(row.share, told)
  rate.shares[me] = (held > 0 or row.demand > 0) and { share = held, demand = row.demand, till = now + shareMs } or nil
  writes[field] = rate
  return { active = true, share = told }
end

-- Adds the caller to the servers, and determines its part. What it says of itself applies after the last of its reports,
-- which say what it used before.
local function join()
  own = servers[me]
  local isAsserting = ask.life ~= meta.life
  if not own then
    own = { read = 0, part = 0, old = false }
    servers[me], meta.ids[#meta.ids + 1], isChanged = own, me, true
  end
  if isAsserting then own.old = own.old or ask.knew > 0 end
  -- Who comes later may have learned it in this life.
  if isAsserting and isLearning then meta.knew, isChanged = max(meta.knew, ask.knew), true end
  own.at, own.seq, own.months, own.taken = now, ask.seq, ask.months, ask.taken
  if not ask.hasMore then
    own.gone = nil
    own.read = isAsserting and 0 or ask.read
  end
  local place = string.match(me, '^[^.]*')
  local others, old = 0, 0
  for id, server in pairs(servers) do
    if id ~= me and not server.gone and (now - server.at > goneMs or string.match(id, '^[^.]*') == place) then
      server.gone, server.part = server.part, 0
    end
    if server.gone and server.months[2] < ask.months[1] then
      remove(id)
    elseif not server.gone then
      count = count + 1
      if id ~= me then others = others + server.part end
      if server.old then old = old + 1 end
    end
  end
  count = max(1, count)
  if now - meta.since < goneMs and meta.knew > old then unheard = (meta.knew - old) / meta.knew end
  if ask.hasMore then return ask.part end
  local room = 1 - others - unheard
  -- Smaller values are rounding errors.
  if room < 1e-6 then room = 0 end
  own.part = isLearning and isAsserting and ask.part or min(ask.part, isAsserting and room or own.part)
  if own.part > 1 / count then return 1 / count end
  if not isLearning then own.part = max(own.part, min(1 / count, room)) end
  return own.part
end

-- One server at a time delivers events, until it is silent. After a loss the one before may still do so.
local function delivers()
  local holder = servers[meta.deliverer]
  if not isLearning and (not holder or holder.gone or now - holder.at >= delivererMs) then
    meta.deliverer, isChanged = me, true
  end
  return meta.deliverer == me
end

-- Flags that the caller hasn't read, and the number of the last one.
local function newFlags()
  local found = call('ZRANGEBYSCORE', flags, string.format('(%.0f', own.read), '+inf', 'WITHSCORES', 'LIMIT', 0, mostFlags)
  local names = {}
  for i = 1, #found, 2 do names[#names + 1] = found[i] end
  return names, #names == mostFlags and tonumber(found[#found]) or meta.version
end

local ops = {}

function ops.tick()
  own = servers[me]
  if own and ask.seq <= own.seq then return { stale = own.seq } end
  -- A late or repeated call of a server that has left, or the caller was declared gone: it has to say again what it
  -- holds.
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
  local told, upTo = {}, 0
  local isDelivering = false
  if not ask.isLeaving then
    told, upTo = newFlags()
    isDelivering = delivers()
  end
  if ask.isLeaving and not ask.hasMore then
    remove(me)
    writes['beat:' .. me] = nil
  end
  return { life = meta.life, isLearning = isLearning, members = count, part = part, flags = told, read = upTo,
    isComplete = upTo == meta.version, delivers = isDelivering, rows = rows }
end

-- Enters imported counts, under a name that isn't a server's.
function ops.enter()
  for _ in pairs(servers) do count = count + 1 end
  count = max(1, count)
  if not isLearning then
    for _, row in ipairs(ask.rows) do lease(row, 1, { used = row.used, granted = row.used, wanted = 0 }) end
  end
  return { isLearning = isLearning, version = meta.version }
end

function ops.servers()
  local list = {}
  for id, server in pairs(servers) do
    if not server.forgotten then list[#list + 1] = { id = id, isGone = (server.gone or now - server.at > goneMs) and true or false, age = now - server.at,
      read = server.read, taken = server.taken } end
  end
  return { servers = list, version = meta.version }
end

-- A page of a month: what each server used and holds. `ask.forget` is gone for good: all is given back but what it can
-- have admitted unsaid, in a second from a full bucket.
function ops.scan()
  local page = call('HSCAN', KEYS[3], ask.cursor, 'COUNT', 500)
  local found = {}
  for at = 1, #page[2], 2 do
    local account, record = page[2][at], cjson.decode(page[2][at + 1])
    local used, isForgotten = record.left, false
    for id, entry in pairs(record.servers) do
      local leased = max(0, entry.granted - entry.used)
      if id == ask.forget then
        leased, isForgotten = max(0, leased - 2 * record.burst - 1), true
        entry.granted = entry.granted - leased
      end
      used = used + entry.used
      found[#found + 1] = { account = tonumber(account), server = id, used = entry.used, leased = leased }
    end
    if isForgotten then
      record.total = used
      writeRecord(1, account, record)
    end
  end
  return { cursor = page[1], found = found }
end

-- Requests that it may have admitted without a lease stay charged until the months are over.
function ops.forget()
  local server = servers[ask.forget]
  if server then server.gone, server.part, server.forgotten = server.gone or server.part, 0, true end
  return {}
end

local answer = ops[ask.op]()
save()
return cjson.encode(answer)
