-- The twin of smooth.ts: Guava's limiter, where the next caller pays.
--
-- cells   { stored_ms, seen_ms, ahead_ms }: idle time stored, the latest time seen, and for how long after it all is lent
-- numbers limit; stable_ms between permits; max_stored_ms; threshold (permits); slope_ms per permit above it; idle_ms that
--         store one permit; warm: 1 with a warm-up; max_delay_ms
local STORED_MS, SEEN_MS, AHEAD_MS = 1, 2, 3

-- Time since the limiter became free; negative while it is not.
local function idle_at_ms(cells, now_ms)
  return math.max(0, now_ms - cells[SEEN_MS]) - cells[AHEAD_MS]
end

local function stored_at_ms(cells, numbers, now_ms)
  return math.min(numbers.max_stored_ms, cells[STORED_MS] + math.max(0, idle_at_ms(cells, now_ms)))
end

local function ahead_at_ms(cells, now_ms)
  return math.max(0, -idle_at_ms(cells, now_ms))
end

-- How long until storage is full: what a charge adds to, and time takes from.
local function debt_at_ms(cells, numbers, now_ms)
  return numbers.max_stored_ms - stored_at_ms(cells, numbers, now_ms) + ahead_at_ms(cells, now_ms)
end

-- What permits from storage cost: nothing when bursty; with warm-up the area under the line.
local function stored_wait_ms(numbers, stored, take)
  if numbers.warm ~= 1 then return 0 end
  local above = math.max(0, stored - numbers.threshold)
  local cold = math.min(above, take)
  local intervals = 2 * numbers.stable_ms + (2 * above - cold) * numbers.slope_ms
  return cold * intervals / 2 + (take - cold) * numbers.stable_ms
end

local function store(cells, stored_ms, ahead_ms, now_ms)
  cells[STORED_MS] = stored_ms
  cells[AHEAD_MS] = ahead_ms
  cells[SEEN_MS] = math.max(now_ms, cells[SEEN_MS])
end

local smooth = { code = 8, layout = '<ddd' }
smooth.fields = { 'limit', 'stable_ms', 'max_stored_ms', 'threshold', 'slope_ms', 'idle_ms', 'warm', 'max_delay_ms' }

-- A key never seen has been idle since the limiter began; a cold one is as cold as can be.
function smooth.fresh(numbers, now_ms, since_ms)
  local idle_ms = math.min(numbers.max_stored_ms, math.max(0, now_ms - since_ms))
  return { numbers.warm == 1 and numbers.max_stored_ms or idle_ms, now_ms, 0 }
end

function smooth.delay(cells, _, _, now_ms)
  return math.max(0, cells[SEEN_MS] - now_ms + cells[AHEAD_MS])
end

function smooth.wait(cells, numbers, cost, now_ms, max_delay_ms)
  local most_ms = math.min(numbers.max_delay_ms, max_delay_ms)
  local wait_ms = math.max(0, math.ceil(smooth.delay(cells, numbers, cost, now_ms) - most_ms))
  -- Fractions of a millisecond may round down to the last moment of refusal.
  if wait_ms > 0 and smooth.delay(cells, numbers, cost, now_ms + wait_ms) > most_ms then return wait_ms + 1 end
  return wait_ms
end

function smooth.charge(cells, numbers, cost, now_ms)
  local stored_ms = stored_at_ms(cells, numbers, now_ms)
  local stored = stored_ms / numbers.idle_ms
  local take = math.min(cost, stored)
  local price_ms = stored_wait_ms(numbers, stored, take) + (cost - take) * numbers.stable_ms
  local left_ms = take == stored and 0 or stored_ms - take * numbers.idle_ms
  store(cells, left_ms, ahead_at_ms(cells, now_ms) + price_ms, now_ms)
end

function smooth.receipt(cells)
  return copy(cells)
end

-- First off the loan, then into storage. What time has paid since is not given back again, and with a receipt only the last
-- in line can step back.
function smooth.refund(cells, numbers, cost, now_ms, receipt, refunded_since)
  local debt_ms = debt_at_ms(cells, numbers, now_ms)
  local charged = receipt and debt_at_ms(receipt, numbers, now_ms) or debt_ms
  if charged ~= debt_ms or refunded_since ~= 0 then return end
  local ahead_ms = ahead_at_ms(cells, now_ms)
  local loan_ms = math.min(ahead_ms, cost * numbers.stable_ms)
  local rest_ms = (cost - loan_ms / numbers.stable_ms) * numbers.idle_ms
  local stored_ms = math.min(numbers.max_stored_ms, stored_at_ms(cells, numbers, now_ms) + rest_ms)
  store(cells, stored_ms, ahead_ms - loan_ms, now_ms)
end

function smooth.available(cells, numbers, now_ms)
  if idle_at_ms(cells, now_ms) < 0 then return 0 end
  return numbers.warm == 1 and 1 or stored_at_ms(cells, numbers, now_ms) / numbers.stable_ms + 1
end

function smooth.as_new_in_ms(cells, numbers, now_ms)
  return cells[SEEN_MS] - now_ms + cells[AHEAD_MS] + numbers.max_stored_ms - cells[STORED_MS]
end

function smooth.memory_ms(numbers)
  return numbers.max_stored_ms + numbers.stable_ms
end

-- As Guava's setRate: storage keeps its share, and waits already promised keep the old rate.
function smooth.carry(from, old, to, numbers, changed_ms)
  local share = old.max_stored_ms == 0 and 0 or stored_at_ms(from, old, changed_ms) / old.max_stored_ms
  to[STORED_MS] = share * numbers.max_stored_ms
  to[AHEAD_MS] = ahead_at_ms(from, changed_ms)
  to[SEEN_MS] = math.max(changed_ms, from[SEEN_MS])
  return to
end

algorithms['smooth'] = smooth
