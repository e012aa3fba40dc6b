-- What every way through the script may use. A script makes what it begins with anew at each call, so there is little of it here: the
-- rest is made by `engine`, where it is needed.
-- As locals they are found faster.
local math, string, struct, cmsgpack, redis = math, string, struct, cmsgpack, redis
local infinity = math.huge
-- As many values as are read at once: more would not fit the stack.
local MOST_VALUES = 1000
-- Under a fence: since when nothing that was charged before can be lost, and how much longer than they matter keys are kept.
local fence_ms, grace_ms = nil, 0
-- The way of buckets, where there are any.
local bucket_way

-- An integer where it is one: Redis truncates fractions, and clients read larger integers digit by digit, not exactly.
local function reply_number(number)
  if number == math.floor(number) and number < 2 ^ 53 then return number end
  return string.format('%.17g', number)
end

-- A debt may take longer to drain than Redis can count. It refuses such an expiry, after other keys have been written.
local LATEST_EXPIRY_MS = 2 ^ 52

-- Up, and one more for the part of a millisecond that the server's own reckoning leaves away.
local function expiry_after_ms(left_ms)
  return math.min(math.ceil(left_ms) + 1 + grace_ms, LATEST_EXPIRY_MS)
end

-- Without an expiry only on a caller's own time: expiries run on the server's clock.
local function put(key, value, expiry_ms)
  if expiry_ms then redis.call('SET', key, value, 'PX', expiry_ms) else redis.call('SET', key, value) end
end
