-- `run` behind a fence, in a Redis Function. A failover, a restart, a fail-back or a moved slot may have lost what was
-- counted; all of them give the server another replication id, and a flushed database has no guard.
--
-- keys   those of `run`, and at the end the guard of their partition: { replication id, since when (ms) }
-- args   those of `run`, and at the end: '<client's wall clock, ms> <skew allowed, ms> <margin, ms> <grace, ms>'
-- reply  { 'skew', ms } when the clocks differ by more than that; nothing was done.
--        Else { 1 if the partition was found changed by this very call, the reply of `run` }
local REPLICATION_ID_MS = 20
local replication_id, read_at_ms = nil, 0

-- Reading it costs more than a check does, and it changes by failovers only, which take longer than this.
local function replication_id_at(now_ms)
  if not replication_id or math.abs(now_ms - read_at_ms) > REPLICATION_ID_MS then
    replication_id = string.match(redis.call('INFO', 'replication'), 'master_replid:(%x+)')
    read_at_ms = now_ms
  end
  return replication_id
end

local function run_behind(keys, args)
  local time = redis.call('TIME')
  local now_ms = time[1] * 1000 + time[2] / 1000
  local client_ms, skew_ms, margin_ms, grace = string.match(table.remove(args), '(%S+) (%S+) (%S+) (%S+)')
  local ahead_ms = now_ms - tonumber(client_ms)
  if math.abs(ahead_ms) > tonumber(skew_ms) then return { 'skew', math.floor(ahead_ms) } end

  local guard = table.remove(keys)
  local id = replication_id_at(now_ms)
  local value = redis.call('GET', guard)
  local known_id, since_ms
  if value then known_id, since_ms = cmsgpack.unpack(value) end
  local is_changed = known_id ~= id
  if is_changed then
    since_ms = now_ms
    redis.call('SET', guard, cmsgpack.pack(id, since_ms))
  end
  fence_ms, grace_ms = since_ms + tonumber(margin_ms), tonumber(grace)
  return { is_changed and 1 or 0, #keys > 0 and run(keys, args, now_ms) or {} }
end
