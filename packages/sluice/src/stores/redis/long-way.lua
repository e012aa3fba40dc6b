-- Every operation of a store, over any number of batches of checks. Each batch is all or nothing; nothing is written before
-- all of them are decided. The same steps in the same order as the memory store's namespace.ts.
--
-- keys   one per (name, key), and one per request id
-- args   1: the caller's own time in ms, or '' for the server's clock
--        2: policies, one per line: '<twin> <number> <number> ...', the numbers in the order of the twin's fields
--        3: checks, one per line: '[operation] <key> <policy> <cost> [name=value ...]', key and policy by their place from 1 on,
--           without an operation a check; a '+' before it begins a batch. Names: shadow, delay (the longest accepted, ms), idle
--           and changed (how long ago the limiter began and the policy changed, ms), actual, duration (ms), receipt (numbers
--           joined by ','), request (the place of the key of its request id), replay (how long an answer is remembered, ms)
-- reply  three per check, as `reply_with` has them. Words: 'blocked', 'quarantine', 'gone' (the lease), 'granted=<n>',
--        'receipt=<n>,<n>'.
--        Or { 'twin', code }: a key's state belongs to an algorithm that this script does not have; nothing was done.
--
-- A key's value is message packs one after another: the code of its algorithm, its numbers, then its cells as an array. Before
-- that, where there is a block or there are receipts: 0, blocked until (ms, or 0), and of the receipts the latest number, the
-- first that holds, and what was given back. Behind that, a log has its ring, from a fixed place on.

local function long_way(keys, args, server_ms)
  local function number_text(number)
    return string.format('%.17g', number)
  end

  local by_code = {}
  for _, algorithm in pairs(algorithms) do by_code[algorithm.code] = algorithm end

  local function linger_ms_of(algorithm, numbers)
    return algorithm.linger_ms and algorithm.linger_ms(numbers) or 0
  end

  -- Whether state written under these values is under this policy; how far back it is kept does not make it another.
  local function is_under(record, policy)
    if record.algorithm ~= policy.algorithm then return false end
    local fields, coverage = policy.algorithm.fields, policy.algorithm.coverage
    for i, value in ipairs(policy.values) do
      if record.values[i] ~= value and not (coverage and coverage[fields[i]]) then return false end
    end
    return true
  end

  -- The operations that can be refused.
  local refusable = { check = true, reserve = true, acquire = true, take = true, peek = true }

  local function check_of(text)
    local begins, operation, key, policy, cost, rest = string.match(text, '^(%+?)(%a*) ?(%d+) (%d+) (%S+)(.*)$')
    if operation == '' then operation = 'check' end
    local check = { begins = begins ~= '', operation = operation, key = tonumber(key), policy = tonumber(policy) }
    check.cost, check.delay, check.refusable = tonumber(cost), infinity, refusable[operation]
    if rest ~= '' then
      for name, value in string.gmatch(rest, '(%a+)=(%S+)') do
        if name ~= 'receipt' then
          check[name] = tonumber(value)
        else
          check.receipt = {}
          for number in string.gmatch(value, '[^,]+') do check.receipt[#check.receipt + 1] = tonumber(number) end
        end
      end
    end
    return check
  end

  local own_ms = tonumber(args[1])
  local now_ms = own_ms or server_ms
  local policies, records, replies = {}, {}, {}
  local missing_code

  local function record_at(key)
    local record = records[key]
    if record then return record end
    local value = redis.call('GET', key)
    record = { exists = value ~= false }
    records[key] = record
    if not value then return record end
    local at, code = cmsgpack.unpack_one(value, 0)
    if code == 0 then
      local beside = {}
      for i = 1, 4 do at, beside[i] = cmsgpack.unpack_one(value, at) end
      record.blocked_until_ms = beside[1] ~= 0 and beside[1] or nil
      if beside[2] ~= 0 then record.receipts = { beside[2], beside[3], beside[4] } end
      if at < 0 then return record end
      at, code = cmsgpack.unpack_one(value, at)
    end
    local algorithm = by_code[code]
    if not algorithm then
      -- Whoever wrote this, what it begins with need not even be a number.
      missing_code = type(code) == 'number' and code or -1
      return record
    end
    record.algorithm, record.values = algorithm, {}
    for i = 1, #algorithm.fields do at, record.values[i] = cmsgpack.unpack_one(value, at) end
    record.cells = read_cells(algorithm, value, at)
    return record
  end

  local function write(key, record)
    local algorithm = record.algorithm
    local left_ms = (record.blocked_until_ms or -infinity) - now_ms
    if algorithm then
      local numbers = record.numbers or numbers_of(algorithm, record.values)
      local linger_ms = math.max(linger_ms_of(algorithm, numbers), beyond_ms(numbers))
      left_ms = math.max(left_ms, algorithm.as_new_in_ms(record.cells, numbers, now_ms) + linger_ms)
    end
    -- On a caller's own time nothing expires, and nothing is forgotten: expiries run on the server's clock.
    if not own_ms and left_ms <= 0 then
      if record.exists then redis.call('DEL', key) end
      return
    end
    local expiry_ms = not own_ms and expiry_after_ms(left_ms) or nil
    if not algorithm and not record.blocked_until_ms then
      if record.exists then redis.call('DEL', key) end
      return
    end
    local beside = ''
    if record.blocked_until_ms or record.receipts then
      local receipts = record.receipts or { 0, 0, 0 }
      beside = cmsgpack.pack(0, record.blocked_until_ms or 0, receipts[1], receipts[2], receipts[3])
    end
    if not algorithm then return put(key, beside, expiry_ms) end
    write_cells(key, algorithm, beside .. head_of(algorithm, record.values), record.cells, expiry_ms)
  end

  local function stored_numbers(record)
    record.numbers = record.numbers or numbers_of(record.algorithm, record.values)
    return record.numbers
  end

  -- The numbers that a key's cells are under: its own where they tell less of the past than the policy would.
  local function numbers_for(record, policy)
    if record.cells and policy.algorithm.coverage and is_under(record, policy) then return stored_numbers(record) end
    return policy.numbers
  end

  -- What was charged before the fence may be lost; a bucket then counts as empty.
  local function fenced(cells, algorithm, numbers)
    if fence_ms and algorithm.fence then algorithm.fence(cells, numbers, fence_ms, now_ms) end
    return cells
  end

  local function fresh(policy, check)
    local cells = policy.algorithm.fresh(policy.numbers, now_ms, check.idle and now_ms - check.idle or now_ms)
    return fenced(cells, policy.algorithm, policy.numbers)
  end

  -- Charges what is known of the past to a fresh state, under another policy. See carry-over.ts.
  local function charge_anew(record, policy, check)
    local algorithm, numbers = policy.algorithm, policy.numbers
    local old = stored_numbers(record)
    local history = record.algorithm.history and record.algorithm.history(record.cells, old, now_ms) or {}
    local last_ms = history[#history - 1] or now_ms
    local ahead_ms = math.max(0, last_ms - now_ms)
    local function moved_ms(time_ms) return math.min(time_ms + ahead_ms, last_ms) end
    local covered_ms = old.covered_ms or 0
    local is_unknown = covered_ms < (numbers.covered_ms or 0)
    local known_since_ms = moved_ms(last_ms - covered_ms)
    local begin_ms = math.min(moved_ms(history[1] or now_ms), is_unknown and known_since_ms or now_ms)
    -- Not fresh: what a new key is short of at the start, this one has had.
    local had = setmetatable({ initial = 0 }, { __index = numbers })
    local cells = algorithm.fresh(had, begin_ms, check.idle and now_ms - check.idle or now_ms)
    if is_unknown then algorithm.charge(cells, numbers, everything, known_since_ms) end
    for i = 1, #history, 2 do
      local cost = history[i + 1]
      -- What was not known counts as everything until it leaves the window; where there is no window, it would never be paid.
      if cost >= everything and not numbers.covered_ms then cost = numbers.limit end
      algorithm.charge(cells, numbers, cost, moved_ms(history[i]))
    end
    return cells
  end

  -- The key's cells under this policy, if it has any, and whether they were worked out by the time it was asked for.
  local function find(record, policy, check)
    if not record.cells then return nil, false end
    local own = is_under(record, policy)
    local linger_ms = linger_ms_of(record.algorithm, stored_numbers(record))
    if linger_ms > 0 then
      local left_ms = record.algorithm.as_new_in_ms(record.cells, stored_numbers(record), now_ms) + linger_ms
      if left_ms <= 0 then return nil, false end
    end
    if own then return fenced(record.cells, record.algorithm, stored_numbers(record)), false end
    if record.algorithm.carry and record.algorithm.carry == policy.algorithm.carry then
      local changed_ms = check.changed and now_ms - check.changed or -infinity
      local to = fresh(policy, check)
      local carried = policy.algorithm.carry(record.cells, stored_numbers(record), to, policy.numbers, changed_ms)
      if carried then return fenced(carried, policy.algorithm, policy.numbers), false end
    end
    return fenced(charge_anew(record, policy, check), policy.algorithm, policy.numbers), true
  end

  local function revoke(record)
    if record.receipts then record.receipts[2] = record.receipts[1] + 1 end
  end

  -- Keeps a key's cells; receipts for what it was under another policy are void, but for leases, which are the same.
  local function keep(record, policy, cells)
    if record.cells and not is_under(record, policy) then
      if not policy.algorithm.release then revoke(record) end
      record.values = nil
    end
    if not record.values or not record.cells then record.values, record.numbers = policy.values, policy.numbers end
    record.algorithm, record.cells, record.is_changed = policy.algorithm, cells, true
  end

  -- Receipts are numbered from the server's own time, so that those of a key that was forgotten never hold again. All of one
  -- call have the same time: they go on from one another, or one from before a reset would hold after it.
  local latest_number = 0
  local function issue(record, receipt)
    local number = math.max(math.floor(server_ms * 1000), latest_number + 1)
    local receipts = record.receipts or { number - 1, number, 0 }
    record.receipts = receipts
    receipts[1] = math.max(receipts[1] + 1, number)
    latest_number = receipts[1]
    local words = { number_text(receipts[1]), number_text(receipts[3]) }
    for _, number in ipairs(receipt) do words[#words + 1] = number_text(number) end
    return 'receipt=' .. table.concat(words, ',')
  end

  -- The receipt as it was before it was numbered, and what its key was given back since; nil when it is void.
  local function redeem(record, policy, receipt)
    local receipts = record.receipts
    if not receipt or not receipts or receipt[1] < receipts[2] then return nil end
    -- A receipt of another policy: its numbers mean something else, or have another unit. Leases are the same under every one.
    if not policy.algorithm.release and record.cells and not is_under(record, policy) then return nil end
    -- The charge itself may have been lost: giving it back would give away somebody else's.
    if fence_ms and receipt[1] < fence_ms * 1000 then return nil end
    local rest = {}
    for i = 3, #receipt do rest[i - 2] = receipt[i] end
    return rest, receipts[3] - receipt[2]
  end

  local function blocked_for(record)
    if not record.blocked_until_ms then return 0 end
    return math.max(0, math.ceil(record.blocked_until_ms - now_ms))
  end

  local function wait_of(policy, cells, numbers, cost, max_delay_ms)
    -- A cost of 0 asks for nothing, and always passes.
    if cost == 0 then return 0 end
    return policy.algorithm.wait(cells, numbers, cost, now_ms, max_delay_ms)
  end

  local function decide(check, cells, numbers, wait_ms, blocked_ms, delay_ms, words)
    local algorithm = policies[check.policy].algorithm
    local fenced_ms = algorithm.fence and 0 or quarantine_ms(algorithm, numbers, now_ms)
    local is_held = blocked_ms > 0 or fenced_ms > 0
    local available = is_held and 0 or algorithm.available(cells, numbers, now_ms)
    local reset_ms = math.max(blocked_ms, fenced_ms, algorithm.as_new_in_ms(cells, numbers, now_ms))
    if wait_ms > 0 and (check.is_fenced or blocked_ms > 0) then
      local reason = check.is_fenced and 'quarantine' or 'blocked'
      words = words and words .. ' ' .. reason or reason
    end
    reply_with(replies, wait_ms, available, reset_ms, delay_ms, words)
  end

  local function granted(check, cost)
    return check.operation == 'take' and 'granted=' .. number_text(cost) or nil
  end

  -- What an operation that is never refused takes, room or not; negative where it gives back.
  local function charge_of(check)
    if check.operation == 'penalize' then return check.cost end
    return check.operation == 'settle' and (check.actual or 0) - check.cost or 0
  end

  -- What would be said to a check alone, after `earlier` of the same key in the same batch.
  local function ask(check, earlier)
    local policy = policies[check.policy]
    local record = record_at(check.key)
    if missing_code then return end
    check.asked, check.wait_ms, check.blocked_ms = check.cost, 0, 0
    if not check.refusable then return end
    local cells = find(record, policy, check)
    local numbers = cells and numbers_for(record, policy) or policy.numbers
    cells = cells or fresh(policy, check)
    check.blocked_ms = blocked_for(record)
    if check.operation == 'take' then
      local available = policy.algorithm.available(cells, numbers, now_ms) - earlier
      -- All of it, or the whole units that there are; with none, the wait is the wait for one.
      if check.cost > available then check.asked = math.max(math.min(1, check.cost), math.floor(available)) end
    end
    local cost = check.asked == 0 and 0 or check.asked + earlier
    local fenced_ms = quarantine_ms(policy.algorithm, numbers, now_ms)
    -- One that has no bucket to be empty refuses until what may be lost no longer matters.
    local is_held = fenced_ms > 0 and not policy.algorithm.fence and check.asked > 0
    check.held_ms = is_held and math.max(check.blocked_ms, fenced_ms) or check.blocked_ms
    check.wait_ms = math.max(check.held_ms, wait_of(policy, cells, numbers, cost, check.delay))
    check.is_fenced = fenced_ms > 0 and check.wait_ms > check.blocked_ms
  end

  -- A refusal writes nothing, unless the policy counts it, or the key would otherwise be reckoned (or start) anew each time.
  local function refuse(check, policy, record, found, cells, numbers, is_reckoned)
    local algorithm = policy.algorithm
    local is_counted = numbers.count_rejected == 1 and check.wait_ms > check.blocked_ms
    local is_behind = (not found or is_reckoned) and algorithm.as_new_in_ms(cells, numbers, now_ms) > 0
    if check.operation ~= 'peek' and (is_counted or is_behind) then
      if is_counted then algorithm.reject(cells, numbers, check.asked, now_ms) end
      keep(record, policy, cells)
      -- Never shorter than what it was refused for, which others of its batch or the longest delay may have made.
      check.wait_ms = math.max(check.wait_ms, wait_of(policy, cells, numbers, check.asked, infinity))
    end
    decide(check, cells, numbers, check.wait_ms, check.blocked_ms, 0, granted(check, 0))
  end

  local function take_more(check, policy, record, cells, numbers, cost)
    -- Taking nothing leaves no trace.
    if cost > 0 then
      policy.algorithm.charge(cells, numbers, cost, now_ms)
      keep(record, policy, cells)
    end
    decide(check, cells, numbers, 0, blocked_for(record), 0)
  end

  local function give_back(check, policy, record, found, cells, numbers, cost)
    local receipt, refunded_since = redeem(record, policy, check.receipt)
    if found and (receipt or check.operation == 'reward') then
      local is_apart = policy.algorithm.keeps_charges_apart and receipt
      local left = is_apart and math.max(0, cost - refunded_since) or cost
      if policy.algorithm.refund then
        policy.algorithm.refund(cells, numbers, left, now_ms, receipt, refunded_since or 0)
      end
      if record.receipts and not is_apart then record.receipts[3] = record.receipts[3] + cost end
      keep(record, policy, cells)
    end
    decide(check, cells, numbers, 0, blocked_for(record), 0)
  end

  local function end_lease(check, policy, record, found, cells, numbers)
    local receipt = redeem(record, policy, check.receipt)
    local is_live = false
    if found and receipt then
      if check.operation == 'renew' then
        is_live = policy.algorithm.renew(cells, numbers, receipt, now_ms)
      else
        is_live = policy.algorithm.release(cells, receipt, now_ms)
      end
      keep(record, policy, cells)
    end
    local words = not is_live and 'gone' or nil
    if is_live and check.operation == 'renew' then words = issue(record, policy.algorithm.receipt(cells, numbers)) end
    decide(check, cells, numbers, 0, blocked_for(record), 0, words)
  end

  local function reset(check, policy, record, found, cells)
    local blank = fresh(policy, check)
    record.blocked_until_ms, record.is_changed = nil, true
    revoke(record)
    if found and policy.algorithm.clear then
      policy.algorithm.clear(cells)
      keep(record, policy, cells)
    else
      record.algorithm, record.values, record.numbers, record.cells, record.receipts = nil, nil, nil, nil, nil
      -- Where a key never seen is worse off than one that is as good as new, the reset is remembered.
      if policy.algorithm.as_new_in_ms(blank, policy.numbers, now_ms) > 0 then keep(record, policy, blank) end
    end
    decide(check, blank, policy.numbers, 0, 0, 0)
  end

  -- The operations that are never refused.
  local function perform(check, policy, record, found, cells, numbers)
    local operation = check.operation
    if operation == 'penalize' then
      take_more(check, policy, record, cells, numbers, check.cost)
    elseif operation == 'settle' and charge_of(check) > 0 then
      take_more(check, policy, record, cells, numbers, charge_of(check))
    elseif operation == 'settle' then
      give_back(check, policy, record, found, cells, numbers, -charge_of(check))
    elseif operation == 'release' or operation == 'renew' then
      end_lease(check, policy, record, found, cells, numbers)
    elseif operation == 'reset' then
      reset(check, policy, record, found, cells)
    elseif operation == 'block' then
      record.blocked_until_ms, record.is_changed = now_ms + (check.duration or 0), true
      decide(check, cells, numbers, 0, blocked_for(record), 0)
    else
      give_back(check, policy, record, found, cells, numbers, check.cost)
    end
  end

  -- Carries a check out; one whose batch was refused is only answered.
  local function answer(check, go)
    local policy = policies[check.policy]
    local algorithm = policy.algorithm
    local record = record_at(check.key)
    local found, is_reckoned = find(record, policy, check)
    local numbers = found and numbers_for(record, policy) or policy.numbers
    local cells = found or fresh(policy, check)
    if not check.refusable then
      if go then return perform(check, policy, record, found, cells, numbers) end
      return decide(check, cells, numbers, 0, 0, 0)
    end
    if check.wait_ms > 0 then return refuse(check, policy, record, found, cells, numbers, is_reckoned) end
    local cost = check.asked
    local delay_ms = cost ~= 0 and algorithm.delay and algorithm.delay(cells, numbers, cost, now_ms) or 0
    if not go or cost == 0 then return decide(check, cells, numbers, 0, 0, delay_ms, granted(check, 0)) end
    -- What is peeked at must not change.
    if check.operation == 'peek' then cells = copy(cells) end
    algorithm.charge(cells, numbers, cost, now_ms)
    if check.operation ~= 'peek' then keep(record, policy, cells) end
    local words = granted(check, cost)
    if check.operation == 'reserve' or check.operation == 'acquire' then
      words = issue(record, algorithm.receipt(cells, numbers))
    end
    return decide(check, cells, numbers, 0, 0, delay_ms, words)
  end

  local function run_batch(batch)
    local go = true
    for i, check in ipairs(batch) do
      local earlier = 0
      for before = 1, i - 1 do
        local other = batch[before]
        local is_real = check.shadow or not other.shadow
        if other.key == check.key and is_real and other.refusable then earlier = earlier + other.cost end
      end
      ask(check, earlier)
      if missing_code then return end
      if check.wait_ms > 0 and not check.shadow then go = false end
    end
    for _, check in ipairs(batch) do answer(check, go) end
  end

  -- A batch that was answered under its request id before gets that answer again.
  local answers = {}
  local function run_once(batch)
    local request = batch[1].request
    if not request then return run_batch(batch) end
    local known = answers[request] and answers[request].text or redis.call('GET', keys[request])
    if known then
      for _, part in ipairs(cmsgpack.unpack(known)) do replies[#replies + 1] = part end
      return
    end
    local before = #replies
    run_batch(batch)
    if missing_code then return end
    local own = {}
    for i = before + 1, #replies do own[#own + 1] = replies[i] end
    answers[request] = { text = cmsgpack.pack(own), replay_ms = batch[1].replay }
  end

  for line in string.gmatch(args[2], '[^\n]+') do policies[#policies + 1] = policy_of(line) end
  local lines = args[3]
  if lines == 'each' then
    local all = {}
    for place = 1, #keys do
      local policy = (place - 1) % #policies + 1
      all[place] = (policy == 1 and '+' or '') .. place .. ' ' .. policy .. ' 1'
    end
    lines = table.concat(all, '\n')
  end
  local batch = {}
  for line in string.gmatch(lines, '[^\n]+') do
    local check = check_of(line)
    check.key = keys[check.key]
    if check.begins and #batch > 0 then
      run_once(batch)
      batch = {}
    end
    batch[#batch + 1] = check
  end
  if #batch > 0 then run_once(batch) end
  if missing_code then return { 'twin', missing_code } end

  for key, record in pairs(records) do
    if record.is_changed then write(key, record) end
  end
  for request, known in pairs(answers) do put(keys[request], known.text, math.min(known.replay_ms, LATEST_EXPIRY_MS)) end
  return replies
end
