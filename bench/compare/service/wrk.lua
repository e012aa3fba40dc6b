-- For wrk: the same request over and over, about a user at random, and the figures as one line of JSON.
-- Arguments: what comes before the user, how many users there are, what comes after.
local before, after, users

function init(args)
  before, users, after = args[1], tonumber(args[2]), args[3]
  math.randomseed(os.time())
end

function request()
  return before .. string.format('%012d', math.random(0, users - 1)) .. after
end

function done(summary, latency)
  local errors = summary.errors
  local failed = errors.connect + errors.read + errors.write + errors.status + errors.timeout
  io.write(string.format(
    '\n{"requests":%d,"us":%d,"errors":%d,"p50Us":%d,"p99Us":%d}\n',
    summary.requests, summary.duration, failed, latency:percentile(50), latency:percentile(99)
  ))
end
