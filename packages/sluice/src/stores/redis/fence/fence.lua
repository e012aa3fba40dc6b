-- `run` behind a fence, in a Redis Function. A failover, a restart, a fail-back or a moved slot may have lost what was
-- counted; all of them give the server another replication id, and a flushed database has no guard.
--
-- keys   those of `run`, and at the end the guard of their partition: { replication id, since when (ms) }
-- args   those of `run`, and at the end, apart by spaces: the client's wall clock, since when that has not jumped, the skew
--        allowed, the margin, the grace, and how long a server must be silent to be replaced; all in ms
-- reply  { 'skew', ms } when the clocks differ by more than that; nothing was done.
--        { 'again', ms } when the server cannot know yet whether it still is the primary; nothing was done.
--        Else { 1 if the partition was found changed by this very call, the reply of `run` }
local LOOK_MS = 20
-- The list of a large cluster's nodes is long, and read this often in the time that it takes to replace one of them.
local LOOKS_PER_TIMEOUT = 50
-- Of a server that woke: long enough for it to read what waits in its sockets.
local READ_MS = 25
local replication_id, looked_at_ms = nil, -infinity
local is_cluster, doubted_at_ms, doubted_until_ms = nil, -infinity, -infinity
-- The latest time seen, and that of the latest call that was not refused for the clock.
local latest_ms, called_at_ms = -infinity, -infinity
-- How often the clock fell back by more than keys are kept beyond their time: until then it may have been so far ahead.
local falls = 0

-- Whether this node and those that it heard from, so long ago, are most of the primaries.
local function hears_most(nodes, now_ms, least_ms, most_ms)
  local primaries, heard = 0, 0
  for flags, pong_ms, slots in string.gmatch(nodes, '%S+ %S+ (%S+) %S+ %d+ (%d+) %d+ %S+([^\n]*)') do
    if string.find(flags, 'master', 1, true) and string.find(slots, '%d') then
      primaries = primaries + 1
      local age_ms = now_ms - pong_ms
      local is_heard = age_ms >= least_ms and age_ms <= most_ms
      if is_heard or string.find(flags, 'myself', 1, true) then heard = heard + 1 end
    end
  end
  return heard > primaries / 2
end

-- A primary that was cut off, or stood still, may have lost its place and not know it. Until when it is not to be trusted.
local function doubted_until(now_ms, timeout_ms, was_silent, info)
  if not is_cluster then
    -- That its replica has left, to take its place, is all that it will hear.
    local has_replica = not string.find(info, 'connected_slaves:0', 1, true)
    return was_silent and has_replica and now_ms + READ_MS or -infinity
  end
  local nodes = redis.call('CLUSTER', 'NODES')
  if not hears_most(nodes, now_ms, -infinity, timeout_ms) then return now_ms + timeout_ms end
  -- What it has just read may have waited for long. Only what it read before tells that it was awake.
  if was_silent and not hears_most(nodes, now_ms, LOOK_MS, timeout_ms) then return now_ms + READ_MS end
  return -infinity
end

-- Looking costs more than a check does, and what is looked at changes by failovers only, which take longer than this.
local function look(now_ms, timeout_ms, was_silent)
  if not was_silent and math.abs(now_ms - looked_at_ms) <= LOOK_MS then return end
  looked_at_ms = now_ms
  local info = redis.call('INFO', 'replication')
  replication_id = string.match(info, 'role:master') and string.match(info, 'master_replid:(%x+)')
  if is_cluster == nil then
    is_cluster = string.find(redis.call('INFO', 'cluster'), 'cluster_enabled:1', 1, true) ~= nil
  end
  local is_due = was_silent or math.abs(now_ms - doubted_at_ms) > timeout_ms / LOOKS_PER_TIMEOUT
  if now_ms < doubted_until_ms or not is_due then return end
  doubted_at_ms, doubted_until_ms = now_ms, doubted_until(now_ms, timeout_ms, was_silent, info)
end

local function run_behind(keys, args)
  local time = redis.call('TIME')
  local now_ms = time[1] * 1000 + time[2] / 1000
  local words = {}
  for word in string.gmatch(table.remove(args), '%S+') do words[#words + 1] = tonumber(word) end
  local client_ms, steady_ms, skew_ms, margin_ms, grace, timeout_ms = unpack(words)
  if now_ms < latest_ms - grace then falls = falls + 1 end
  latest_ms = now_ms
  local ahead_ms = now_ms - client_ms
  if math.abs(ahead_ms) > skew_ms then return { 'skew', math.floor(ahead_ms) } end

  local guard = table.remove(keys)
  -- A call without keys only looks after the guard, which a primary that lost its place may do.
  local is_real = #keys > 0
  look(now_ms, timeout_ms, is_real and math.abs(now_ms - called_at_ms) > timeout_ms / 2)
  if not replication_id then return redis.error_reply('READONLY This server is a replica.') end
  if is_real then called_at_ms = now_ms end
  if is_real and now_ms < doubted_until_ms then return { 'again', math.ceil(doubted_until_ms - now_ms) } end
  local id = replication_id .. falls
  local value = redis.call('GET', guard)
  local known_id, since_ms
  if value then known_id, since_ms = cmsgpack.unpack(value) end
  local is_changed = known_id ~= id
  if is_changed then
    since_ms = now_ms
    redis.call('SET', guard, cmsgpack.pack(id, since_ms))
  end
  fence_ms, grace_ms = math.max(since_ms, steady_ms) + margin_ms, grace
  return { is_changed and 1 or 0, is_real and run(keys, args, now_ms) or {} }
end
