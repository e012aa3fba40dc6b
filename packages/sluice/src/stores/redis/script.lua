-- The end of a script: keys and args as long-way.lua has them, and at the end of the args what the reply ends with too.
local call = table.remove(ARGV)
local time = redis.call('TIME')
local replies = run(KEYS, ARGV, time[1] * 1000 + time[2] / 1000)
replies[#replies + 1] = call
return replies
