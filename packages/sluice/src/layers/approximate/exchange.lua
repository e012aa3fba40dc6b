-- Posts a message to a line, and answers what was posted after a cursor. See exchange.ts.
--
-- keys   1: the stream
-- args   1: the cursor, or '': the id of a message, and how many had been posted up to it; 2: the message; 3: how long messages
--        are kept (ms); 4: the most that are kept
-- reply  { now (ms), 1 if messages after the cursor are gone, { { id, { 'message', text } }, ... }, how many were ever posted }
-- `entries-added` came with it, as did this name of the version.
if not redis.REDIS_VERSION_NUM then return redis.error_reply('ERR Redis 7.0 or later is needed to exchange usage') end
local time = redis.call('TIME')
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
local cursor, read = string.match(ARGV[1], '(%S+) (%d+)')
redis.call('XADD', KEYS[1], 'MINID', '~', string.format('%.0f', now_ms - tonumber(ARGV[3])), '*', 'message', ARGV[2])
redis.call('XTRIM', KEYS[1], 'MAXLEN', '~', ARGV[4])
-- Much longer than messages are kept: with the stream it would be forgotten how many there were.
redis.call('PEXPIRE', KEYS[1], 2 * tonumber(ARGV[3]) + 86400000)
local messages = redis.call('XRANGE', KEYS[1], cursor and '(' .. cursor or '-', '+')
local posted = 0
local about = redis.call('XINFO', 'STREAM', KEYS[1])
for i = 1, #about, 2 do
  if about[i] == 'entries-added' then posted = about[i + 1] end
end
-- Asked after the line was cut, which may have taken what was not read: then there are fewer than were posted since. More: the line
-- is another, and begins anew.
local has_gap = cursor and posted - tonumber(read) ~= #messages
return { now_ms, has_gap and 1 or 0, messages, posted }
