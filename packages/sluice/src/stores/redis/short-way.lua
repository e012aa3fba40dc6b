-- The way of a message of plain checks, which is most of them: one batch per request, no key twice in a batch, policies whose
-- refusals write nothing. Args as long-way.lua has them, but checks are only '<key> <policy> <cost>', or 'each': every key is a
-- batch of its own, of cost 1, under the first policy.
--
-- Returns nil, and has written nothing, when there is more to it: a block, receipts, another policy, a quarantine.
local function short_way(keys, args, server_ms)
  local own_ms = tonumber(args[1])
  local now_ms = own_ms or server_ms
  local policies, cells_of, policy_at, replies = {}, {}, {}, {}
  for line in string.gmatch(args[2], '[^\n]+') do
    local policy = policy_of(line)
    if quarantine_ms(policy.algorithm, policy.numbers, now_ms) > 0 then return nil end
    policy.head = head_of(policy.algorithm, policy.values)
    policies[#policies + 1] = policy
  end

  -- A key's cells, read or fresh; nil when there is more to it.
  local function cells_at(key, policy)
    local cells = cells_of[key]
    if cells then return policy_at[key] == policy and cells or nil end
    local value = redis.call('GET', key)
    if not value then
      cells = policy.algorithm.fresh(policy.numbers, now_ms, now_ms)
    elseif string.sub(value, 1, #policy.head) == policy.head then
      cells = read_cells(policy.algorithm, value, #policy.head)
    else
      return nil
    end
    cells_of[key], policy_at[key] = cells, policy
    return cells
  end

  local charged = {}

  local function decide(policy, cells, wait_ms, delay_ms)
    local algorithm, numbers = policy.algorithm, policy.numbers
    local available = algorithm.available(cells, numbers, now_ms)
    local reset_ms = math.ceil(algorithm.as_new_in_ms(cells, numbers, now_ms))
    local count = #replies
    replies[count + 1] = wait_ms == infinity and -1 or wait_ms
    replies[count + 2] = available >= 1 and math.floor(available) or 0
    replies[count + 3] = reset_ms > 0 and reset_ms or 0
    replies[count + 4] = delay_ms == 0 and 0 or reply_number(delay_ms)
    replies[count + 5] = 0
  end

  -- What a check that may go does.
  local function go(key, policy, cells, cost)
    local algorithm, numbers = policy.algorithm, policy.numbers
    local delay_ms = algorithm.delay and algorithm.delay(cells, numbers, cost, now_ms) or 0
    algorithm.charge(cells, numbers, cost, now_ms)
    charged[key] = true
    decide(policy, cells, 0, delay_ms)
  end

  if args[3] == 'each' then
    local policy = policies[1]
    for _, key in ipairs(keys) do
      local cells = cells_at(key, policy)
      if not cells then return nil end
      local wait_ms = policy.algorithm.wait(cells, policy.numbers, 1, now_ms, infinity)
      if wait_ms == 0 then go(key, policy, cells, 1) else decide(policy, cells, wait_ms, 0) end
    end
  else
    local batch, may_go = {}, true
    local function answer()
      for i = 1, #batch, 5 do
        local key, policy, cells, cost, wait_ms = unpack(batch, i, i + 4)
        if may_go then
          go(key, policy, cells, cost)
        else
          local delay_ms = wait_ms == 0 and policy.algorithm.delay
            and policy.algorithm.delay(cells, policy.numbers, cost, now_ms) or 0
          decide(policy, cells, wait_ms, delay_ms)
        end
      end
      batch, may_go = {}, true
    end
    for begins, place, policy_place, cost in string.gmatch(args[3], '(%+?)(%d+) (%d+) (%S+)') do
      if begins ~= '' then answer() end
      local key, policy = keys[tonumber(place)], policies[tonumber(policy_place)]
      local cells = cells_at(key, policy)
      if not cells then return nil end
      cost = tonumber(cost)
      local wait_ms = policy.algorithm.wait(cells, policy.numbers, cost, now_ms, infinity)
      if wait_ms > 0 then may_go = false end
      local count = #batch
      batch[count + 1], batch[count + 2], batch[count + 3], batch[count + 4], batch[count + 5] =
        key, policy, cells, cost, wait_ms
    end
    answer()
  end

  for key in pairs(charged) do
    local policy, cells = policy_at[key], cells_of[key]
    local left_ms = policy.algorithm.as_new_in_ms(cells, policy.numbers, now_ms) + beyond_ms(policy.numbers)
    write_cells(key, policy.algorithm, policy.head, cells, not own_ms and expiry_after_ms(math.max(0, left_ms)) or nil)
  end
  return replies
end
