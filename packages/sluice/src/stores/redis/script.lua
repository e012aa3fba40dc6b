-- The end of a script: keys and args as long-way.lua has them.
local time = redis.call('TIME')
return run(KEYS, ARGV, time[1] * 1000 + time[2] / 1000)
