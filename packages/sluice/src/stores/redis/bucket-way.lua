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

-- A key that is asked for again is kept longer than it matters, by so much and by this part of what is left, and its value ends with when that is over: until
-- then it is written without a new expiry, which is half of what writing costs.
local SLACK_MS, SLACK_PART = 3000, 0.25

-- The last second in which a key that ends after so many ms is certain to be there. One less: the server may reckon from when the script began.
local function kept_until_s(now_ms, expiry_ms)
  return math.min(math.floor((now_ms + expiry_ms) / 1000) - 1, 2 ^ 32 - 1)
end

function bucket_way(keys, args, server_ms)
  if args[3] ~= 'each' or args[4] ~= 'plain' or #keys > MOST_VALUES then return nil end
  -- Of a policy: what a key's value begins with, the parts that fit, those of one unit, those that drain per ms, and the layouts of a value without and
  -- with until when it is kept.
  local HEAD, CAPACITY, UNIT, DRAIN, LAYOUT, KEPT_LAYOUT = 1, 2, 3, 4, 5, 6
  local call, pack, read = redis.call, struct.pack, struct.unpack
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
    local layout = '<c' .. #head .. 'dd'
    per_batch = per_batch + 1
    policies[per_batch] = { head, limit * unit, unit, drain, layout, layout .. 'I4' }
  end
  -- A step of nothing would never end.
  if per_batch == 0 or #keys % per_batch > 0 then return nil end

  local values = call('MGET', unpack(keys))
  -- A row is a key's: its policy, its debt in parts, when that was seen last, until when it is kept if that is known, whether it is there, and whether it has
  -- to be written.
  local rows, row_of, row_keys, row_policies, debts, seens_ms, kept_until, exists, is_charged = 0, {}, {}, {}, {}, {}, {}, {}, {}
  -- Of a batch: its rows, and the debts before it and when those were seen, which are put back if it is refused.
  local batch, old_debts, old_seens_ms = {}, {}, {}
  local replies, replied = {}, 0
  for before = 0, #keys - 1, per_batch do
    -- Each is charged as it is asked.
    local is_refused = false
    for i = 1, per_batch do
      local key, policy = keys[before + i], policies[i]
      local row = row_of[key]
      if not row then
        -- One that is none may be there all the same, of another type, which GET says.
        local value = values[before + i] or call('GET', key)
        rows = rows + 1
        row = rows
        row_of[key], row_keys[row], row_policies[row], exists[row] = row, key, policy, value
        debts[row], seens_ms[row] = 0, now_ms
        if value then
          local head, more = policy[HEAD], #value - #policy[HEAD] - 16
          if more ~= 0 and more ~= 4 then return nil end
          local begins, debt, seen_ms, kept_s = read(policy[more == 0 and LAYOUT or KEPT_LAYOUT], value)
          if begins ~= head then return nil end
          debts[row], seens_ms[row] = debt, seen_ms
          if more == 4 then kept_until[row] = kept_s end
        end
      elseif row_policies[row] ~= policy then
        return nil
      end
      local debt, seen_ms = debts[row], seens_ms[row]
      batch[i], old_debts[i], old_seens_ms[i] = row, debt, seen_ms
      if now_ms > seen_ms then
        debt = debt - (now_ms - seen_ms) * policy[DRAIN]
        if debt < 0 then debt = 0 end
        seen_ms = now_ms
      end
      if debt - (policy[CAPACITY] - policy[UNIT]) > 0 then
        is_refused = true
      else
        debts[row], seens_ms[row] = debt + policy[UNIT], seen_ms
      end
    end

    for i = 1, per_batch do
      local row, policy, wait_ms = batch[i], policies[i], 0
      local capacity, unit, drain = policy[CAPACITY], policy[UNIT], policy[DRAIN]
      -- None of a batch is charged when one of it refuses.
      if is_refused then
        debts[row], seens_ms[row] = old_debts[i], old_seens_ms[i]
        wait_ms = debt_wait_ms(debts[row], seens_ms[row], capacity - unit, drain, now_ms)
      else
        is_charged[row] = true
      end
      local debt, elapsed_ms = debts[row], now_ms - seens_ms[row]
      local reset_ms = debt / drain - elapsed_ms
      if elapsed_ms > 0 then
        debt = debt - elapsed_ms * drain
        if debt < 0 then debt = 0 end
      end
      local available = (capacity - debt) / unit
      -- Up, without a call.
      local whole_ms = reset_ms - reset_ms % 1
      if whole_ms < reset_ms then whole_ms = whole_ms + 1 end
      replies[replied + 1] = wait_ms == 0 and 0 or wait_ms == infinity and -1 or reply_number(wait_ms)
      replies[replied + 2] = available >= 1 and available - available % 1 or 0
      replies[replied + 3] = whole_ms <= 0 and 0 or whole_ms < 2 ^ 53 and whole_ms or reply_number(whole_ms)
      replied = replied + 3
    end
  end

  for row = 1, rows do
    if is_charged[row] then
      local key, policy, debt, seen_ms = row_keys[row], row_policies[row], debts[row], seens_ms[row]
      if own_ms then
        put(key, pack(policy[LAYOUT], policy[HEAD], debt, seen_ms))
      else
        local left_ms = seen_ms - now_ms + debt / policy[DRAIN]
        if left_ms < 0 then left_ms = 0 end
        local kept_s = kept_until[row]
        if kept_s and now_ms + left_ms + 1 + grace_ms < kept_s * 1000 then
          call('SET', key, pack(policy[KEPT_LAYOUT], policy[HEAD], debt, seen_ms, kept_s), 'KEEPTTL')
        elseif exists[row] then
          local expiry_ms = expiry_after_ms(left_ms + left_ms * SLACK_PART + SLACK_MS)
          put(key, pack(policy[KEPT_LAYOUT], policy[HEAD], debt, seen_ms, kept_until_s(now_ms, expiry_ms)), expiry_ms)
        else
          put(key, pack(policy[LAYOUT], policy[HEAD], debt, seen_ms), expiry_after_ms(left_ms))
        end
      end
    end
  end
  return replies
end
