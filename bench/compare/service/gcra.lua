-- GCRA as people run it in Redis: one key that holds the theoretical arrival time, one GET, one SET with an expiry.
--
-- KEYS[1]  whom it limits
-- ARGV     most at once beyond the first, so many, per so many seconds, how many are asked for
-- Reply    as redis-cell: limited 0 or 1, limit, remaining, seconds until a retry helps or -1, seconds until all is back
local time = redis.call('TIME')
local now_us = time[1] * 1000000 + time[2]
local limit = ARGV[1] + 1
local interval_us = ARGV[3] * 1000000 / ARGV[2]
local tolerance_us = interval_us * limit

local arrival_us = tonumber(redis.call('GET', KEYS[1]) or now_us)
if arrival_us < now_us then arrival_us = now_us end
local next_us = arrival_us + interval_us * ARGV[4]
local early_us = next_us - tolerance_us - now_us

if early_us > 0 then
  local left_us = arrival_us - now_us
  return { 1, limit, math.floor((tolerance_us - left_us) / interval_us), math.ceil(early_us / 1000000), math.ceil(left_us / 1000000) }
end
local left_us = next_us - now_us
-- Rounded up: a key that expires early is a limit that is forgotten.
redis.call('SET', KEYS[1], string.format('%.0f', next_us), 'PX', math.ceil(left_us / 1000))
return { 0, limit, math.floor((tolerance_us - left_us) / interval_us), -1, math.ceil(left_us / 1000000) }
