-- A load for wrk: sends the requests of a file in order, from a given line on. After the last line it begins again.
--
--   wrk … -s wrk.lua URL -- FILE START DEPTH
--
-- Each line of FILE has a request: a target, and optionally a tab and a header. DEPTH is the number of
-- pipelined requests, and a batch has as many lines. START is the index of the first batch to send, from 0.
-- All requests are formatted before the first is sent, so that sending is cheap.
-- At the end the script prints a line of JSON. Latencies are in microseconds.

local batches = {}
local turn = 0

local function with(name, value)
  local headers = {}
  for key, known in pairs(wrk.headers) do headers[key] = known end
  headers[name] = value
  return headers
end

function init(args)
  local start, depth = tonumber(args[2]), tonumber(args[3])
  local formatted = {}
  for line in io.lines(args[1]) do
    local target, name, value = line:match("^([^\t]+)\t([^:]+): (.*)$")
    if target then
      formatted[#formatted + 1] = wrk.format("GET", target, with(name, value))
    else
      formatted[#formatted + 1] = wrk.format("GET", line)
    end
  end
  if depth == 1 then
    batches = formatted
  else
    for first = 1, #formatted, depth do
      local batch = {}
      for i = 0, depth - 1 do batch[i + 1] = formatted[(first + i - 1) % #formatted + 1] end
      batches[#batches + 1] = table.concat(batch)
    end
  end
  turn = start % #batches
end

function request()
  turn = turn % #batches + 1
  return batches[turn]
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '{"requests":%d,"seconds":%.6f,"refused":%d,"failed":%d,"p50Us":%.1f,"p99Us":%.1f,"p999Us":%.1f}\n',
    summary.requests,
    summary.duration / 1e6,
    errors.status,
    errors.connect + errors.read + errors.write + errors.timeout,
    latency:percentile(50),
    latency:percentile(99),
    latency:percentile(99.9)
  ))
end
