-- The way of a message of plain checks that bucket-way.lua is not for: no key twice in a batch, policies whose refusals write nothing. Args
-- as long-way.lua has them, but checks are only '<key> <policy> <cost>', or 'each': the keys are batches one after another, each
-- with one key per policy, of cost 1.
--
-- Returns nil, and has written nothing, when there is more to it: a block, receipts, another policy, a quarantine.
local function short_way(keys, args, server_ms)
  local own_ms = tonumber(args[1])
  local now_ms = own_ms or server_ms
  local policies, cells_of, policy_of_key, left_of, replies = {}, {}, {}, {}, {}
  for line in string.gmatch(args[2], '[^\n]+') do
    local policy = policy_of(line)
    if quarantine_ms(policy.algorithm, policy.numbers, now_ms) > 0 then return nil end
    policy.head = head_of(policy.algorithm, policy.values)
    policies[#policies + 1] = policy
  end

  -- All values at once, where that is not too many for the stack. One that is none may be there all the same, of another type.
  local values = #keys <= MOST_VALUES and redis.call('MGET', unpack(keys)) or {}

  -- A key's cells, read or fresh; nil when there is more to it.
  local function cells_at(place, policy)
    local key = keys[place]
    local cells = cells_of[key]
    if cells then return policy_of_key[key] == policy and cells or nil end
    local value = values[place] or redis.call('GET', key)
    local head = policy.head
    if not value then
      cells = policy.algorithm.fresh(policy.numbers, now_ms, now_ms)
    elseif string.sub(value, 1, #head) == head then
      cells = read_cells(policy.algorithm, value, #head)
    else
      return nil
    end
    cells_of[key], policy_of_key[key] = cells, policy
    return cells
  end

  -- Asks, and charges if it may go.
  local function step(key, policy, cells, cost)
    local algorithm, numbers = policy.algorithm, policy.numbers
    local wait_ms, available, left_ms
    local delay_ms = 0
    if algorithm.step then
      wait_ms, available, left_ms = algorithm.step(cells, numbers, cost, now_ms)
    else
      wait_ms = algorithm.wait(cells, numbers, cost, now_ms, infinity)
      if wait_ms == 0 then
        if algorithm.delay then delay_ms = algorithm.delay(cells, numbers, cost, now_ms) end
        algorithm.charge(cells, numbers, cost, now_ms)
      end
      available, left_ms = algorithm.available(cells, numbers, now_ms), algorithm.as_new_in_ms(cells, numbers, now_ms)
    end
    if wait_ms == 0 then left_of[key] = left_ms end
    reply_with(replies, wait_ms, available, left_ms, delay_ms)
  end

  -- What is said to a check whose batch was refused.
  local function tell(policy, cells, cost, wait_ms)
    local algorithm, numbers = policy.algorithm, policy.numbers
    local delay_ms = wait_ms == 0 and algorithm.delay and algorithm.delay(cells, numbers, cost, now_ms) or 0
    local available, left_ms = algorithm.available(cells, numbers, now_ms), algorithm.as_new_in_ms(cells, numbers, now_ms)
    reply_with(replies, wait_ms, available, left_ms, delay_ms)
  end

  if args[3] == 'each' and #policies == 1 then
    local policy = policies[1]
    for place = 1, #keys do
      local cells = cells_at(place, policy)
      if not cells then return nil end
      step(keys[place], policy, cells, 1)
    end
  else
    local batch_keys, batch_policies, batch_cells, costs, waits_ms = {}, {}, {}, {}, {}
    local size, may_go = 0, true

    local function answer()
      for i = 1, size do
        if may_go then
          step(batch_keys[i], batch_policies[i], batch_cells[i], costs[i])
        else
          tell(batch_policies[i], batch_cells[i], costs[i], waits_ms[i])
        end
      end
      size, may_go = 0, true
    end

    -- False when there is more to its key.
    local function ask(place, policy, cost)
      local cells = cells_at(place, policy)
      if not cells then return false end
      local wait_ms = policy.algorithm.wait(cells, policy.numbers, cost, now_ms, infinity)
      if wait_ms > 0 then may_go = false end
      size = size + 1
      batch_keys[size], batch_policies[size], batch_cells[size] = keys[place], policy, cells
      costs[size], waits_ms[size] = cost, wait_ms
      return true
    end

    if args[3] == 'each' then
      local per_batch = #policies
      for place = 1, #keys do
        if not ask(place, policies[(place - 1) % per_batch + 1], 1) then return nil end
        if size == per_batch then answer() end
      end
    else
      for begins, place, policy_place, cost in string.gmatch(args[3], '(%+?)(%d+) (%d+) (%S+)') do
        if begins ~= '' then answer() end
        if not ask(tonumber(place), policies[tonumber(policy_place)], tonumber(cost)) then return nil end
      end
      answer()
    end
  end

  for key, left_ms in pairs(left_of) do
    local policy = policy_of_key[key]
    local expiry_ms = not own_ms and expiry_after_ms(math.max(0, left_ms + beyond_ms(policy.numbers))) or nil
    write_cells(key, policy.algorithm, policy.head, cells_of[key], expiry_ms)
  end
  return replies
end
