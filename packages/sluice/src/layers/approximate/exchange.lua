-- Posts a message to a line, and answers what was posted after a cursor. See exchange.ts.
--
-- keys   1: the stream
-- args   1: the cursor, or ''; 2: the message; 3: how long messages are kept (ms); 4: the most that are kept
-- reply  { now (ms), 1 if messages after the cursor may be gone, { { id, { 'message', text } }, ... } }
local time = redis.call('TIME')
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
local cursor = ARGV[1]
redis.call('XADD', KEYS[1], 'MINID', '~', string.format('%.0f', now_ms - tonumber(ARGV[3])), '*', 'message', ARGV[2])
redis.call('XTRIM', KEYS[1], 'MAXLEN', '~', ARGV[4])
redis.call('PEXPIRE', KEYS[1], 2 * tonumber(ARGV[3]))
-- Asked after the line was cut, which may have taken what was not read. The oldest go first: while the cursor's own message is
-- there, so is everything behind it.
local has_gap = cursor ~= '' and #redis.call('XRANGE', KEYS[1], cursor, cursor) == 0
return { now_ms, has_gap and 1 or 0, redis.call('XRANGE', KEYS[1], cursor == '' and '-' or '(' .. cursor, '+') }
