-- The way of most messages: one unit from each of some buckets that delay nobody and begin full (gcra, token-bucket). It needs nothing of the engine,
-- which takes longer to make than all of this takes to run.
--
-- keys   batches one after another, each with one key per policy
-- args   as short-way.lua has them, the checks 'each'
-- reply  as long-way.lua has it
--
-- Returns nil, and has written nothing, when there is more to it: another algorithm or cost, a block, receipts, another policy, a quarantine, more keys than
-- fit the stack.

-- The wait in ms until a debt, as of when it was seen last, leaves so much room, in parts.
local function debt_wait_ms(debt, seen_ms, room, drain, now_ms)
  local elapsed_ms = now_ms - seen_ms
  local over = (elapsed_ms > 0 and math.max(0, debt - elapsed_ms * drain) or debt) - room
  if over <= 0 then return 0 end
  if room < 0 then return infinity end
  local wait_ms = math.ceil(math.max(now_ms, seen_ms) - now_ms + over / drain)
  -- With fractions of a millisecond the division may round down to the last moment of refusal.
  local later_ms = now_ms + wait_ms - seen_ms
  local left = later_ms > 0 and math.max(0, debt - later_ms * drain) or debt
  return left <= room and wait_ms or wait_ms + 1
end

function bucket_way(keys, args, server_ms)
  if args[3] ~= 'each' or args[4] ~= 'plain' or #keys > MOST_VALUES then return nil end
  -- Of a policy: what a key's value begins with, the parts that fit, those of one unit, and those that drain per ms.
  local HEAD, CAPACITY, UNIT, DRAIN = 1, 2, 3, 4
  -- Of a row, which is a key's: its policy, its debt in parts, when that was seen last, and whether it has to be written. A batch that is
  -- refused puts back what it took: the debt before it, and when that was seen.
  local POLICY, DEBT, SEEN_MS, IS_CHARGED, OLD_DEBT, OLD_SEEN_MS = 1, 2, 3, 4, 5, 6
  local own_ms = tonumber(args[1])
  local now_ms = own_ms or server_ms
  local policies, per_batch = {}, 0
  -- Each line as a whole, however many words it has.
  for name, limit, unit, drain, initial in string.gmatch(args[2] .. '\n', '(%S+) (%S+) ?(%S*) ?(%S*) ?([^\n]*)\n') do
    local head
    limit, unit, drain = tonumber(limit), tonumber(unit), tonumber(drain)
    if name == 'gcra' then
      head = cmsgpack.pack(1, limit, unit, drain)
    elseif name == 'token-bucket' and initial == '0' then
      head = cmsgpack.pack(2, limit, unit, drain, 0)
    else
      return nil
    end
    if fence_ms and fence_ms + limit * unit / drain > now_ms then return nil end
    per_batch = per_batch + 1
    policies[per_batch] = { head, limit * unit, unit, drain }
  end
  -- A step of nothing would never end.
  if per_batch == 0 or #keys % per_batch > 0 then return nil end

  local values = redis.call('MGET', unpack(keys))
  local row_of, batch, replies, replied = {}, {}, {}, 0
  local ceil, floor = math.ceil, math.floor
  for before = 0, #keys - 1, per_batch do
    -- Each is charged as it is asked.
    local is_refused = false
    for i = 1, per_batch do
      local key, policy = keys[before + i], policies[i]
      local row = row_of[key]
      if not row then
        -- One that is none may be there all the same, of another type, which GET says.
        local value = values[before + i] or redis.call('GET', key)
        local debt, seen_ms = 0, now_ms
        if value then
          local head = policy[HEAD]
          if #value ~= #head + 16 or string.sub(value, 1, #head) ~= head then return nil end
          debt, seen_ms = struct.unpack('<dd', value, #head + 1)
        end
        row = { policy, debt, seen_ms, false, debt, seen_ms }
        row_of[key] = row
      elseif row[POLICY] ~= policy then
        return nil
      end
      batch[i] = row
      local debt, seen_ms = row[DEBT], row[SEEN_MS]
      row[OLD_DEBT], row[OLD_SEEN_MS] = debt, seen_ms
      if now_ms > seen_ms then
        debt = debt - (now_ms - seen_ms) * policy[DRAIN]
        if debt < 0 then debt = 0 end
        seen_ms = now_ms
      end
      if debt - (policy[CAPACITY] - policy[UNIT]) > 0 then
        is_refused = true
      else
        row[DEBT], row[SEEN_MS] = debt + policy[UNIT], seen_ms
      end
    end

    for i = 1, per_batch do
      local row, policy, wait_ms = batch[i], policies[i], 0
      local capacity, unit, drain = policy[CAPACITY], policy[UNIT], policy[DRAIN]
      -- None of a batch is charged when one of it refuses.
      if is_refused then
        row[DEBT], row[SEEN_MS] = row[OLD_DEBT], row[OLD_SEEN_MS]
        wait_ms = debt_wait_ms(row[DEBT], row[SEEN_MS], capacity - unit, drain, now_ms)
      else
        row[IS_CHARGED] = true
      end
      local debt, elapsed_ms = row[DEBT], now_ms - row[SEEN_MS]
      local reset_ms = debt / drain - elapsed_ms
      if elapsed_ms > 0 then
        debt = debt - elapsed_ms * drain
        if debt < 0 then debt = 0 end
      end
      local available = (capacity - debt) / unit
      replies[replied + 1] = wait_ms == 0 and 0 or wait_ms == infinity and -1 or reply_number(wait_ms)
      replies[replied + 2] = available >= 1 and floor(available) or 0
      replies[replied + 3] = reset_ms > 0 and reply_number(ceil(reset_ms)) or 0
      replied = replied + 3
    end
  end

  for key, row in pairs(row_of) do
    if row[IS_CHARGED] then
      local policy, debt, seen_ms = row[POLICY], row[DEBT], row[SEEN_MS]
      local left_ms = seen_ms - now_ms + debt / policy[DRAIN]
      local value = policy[HEAD] .. struct.pack('<dd', debt, seen_ms)
      put(key, value, not own_ms and expiry_after_ms(left_ms > 0 and left_ms or 0) or nil)
    end
  end
  return replies
end
