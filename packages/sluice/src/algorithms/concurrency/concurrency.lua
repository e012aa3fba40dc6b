-- The twin of concurrency.ts: leases, oldest first, in the order of their ends.
--
-- cells   { next_number, number, ends_ms, held, number, ends_ms, held, ... }
-- numbers limit; lease_ms
local NEXT, FIRST, WIDTH, ENDS_MS, HELD = 1, 2, 3, 1, 2
local NUMBERS_PER_MS = 64

-- Where the first lease is that neither ended nor was given back; behind the last one when there is none.
local function first_live(cells, now_ms)
  local lease = FIRST
  while lease < #cells and (cells[lease + HELD] == 0 or cells[lease + ENDS_MS] <= now_ms) do lease = lease + WIDTH end
  return lease
end

local function held_at(cells, now_ms)
  local held = 0
  for lease = first_live(cells, now_ms), #cells, WIDTH do held = held + cells[lease + HELD] end
  return held
end

-- Drops the leases before this one.
local function drop_before(cells, lease)
  local dropped = lease - FIRST
  if dropped == 0 then return end
  local count = #cells
  for place = FIRST, count do cells[place] = cells[place + dropped] end
end

local function prune(cells, now_ms)
  drop_before(cells, first_live(cells, now_ms))
end

local function find_lease(cells, number)
  for lease = FIRST, #cells, WIDTH do
    if cells[lease] == number then return lease end
  end
  return nil
end

local function newest_end_ms(cells)
  return #cells < FIRST and -infinity or cells[#cells - HELD + ENDS_MS]
end

-- Squeezes out the leases that were given back between living ones.
local function compact(cells)
  local kept = FIRST
  local count = #cells
  for lease = FIRST, count, WIDTH do
    if cells[lease + HELD] ~= 0 then
      for part = 0, WIDTH - 1 do cells[kept + part] = cells[lease + part] end
      kept = kept + WIDTH
    end
  end
  for place = kept, count do cells[place] = nil end
end

local concurrency = { code = 9, fields = { 'limit', 'lease_ms' } }

-- A key forgotten and seen again within one millisecond would number its leases as before.
function concurrency.linger_ms()
  return 1
end

-- Numbered from the time: a handle from before the key was forgotten must not release somebody else's lease.
function concurrency.fresh(_, now_ms)
  return { math.floor(now_ms) * NUMBERS_PER_MS }
end

-- If nobody gives back, the leases' ends do.
function concurrency.wait(cells, numbers, cost, now_ms)
  if cost > numbers.limit then return infinity end
  local over = held_at(cells, now_ms) + cost - numbers.limit
  if over <= 0 then return 0 end
  local lease = first_live(cells, now_ms)
  while true do
    over = over - cells[lease + HELD]
    if over <= 0 then return math.ceil(cells[lease + ENDS_MS] - now_ms) end
    lease = lease + WIDTH
  end
end

function concurrency.charge(cells, numbers, cost, now_ms)
  prune(cells, now_ms)
  local number = cells[NEXT]
  local ends_ms = math.max(now_ms + numbers.lease_ms, newest_end_ms(cells))
  compact(cells)
  local lease = #cells + 1
  cells[lease], cells[lease + ENDS_MS], cells[lease + HELD] = number, ends_ms, cost
  cells[NEXT] = number + 1
end

function concurrency.receipt(cells)
  return { cells[NEXT] - 1 }
end

function concurrency.release(cells, receipt, now_ms)
  local lease = find_lease(cells, receipt[1])
  local is_live = lease ~= nil and cells[lease + HELD] ~= 0 and cells[lease + ENDS_MS] > now_ms
  if lease then cells[lease + HELD] = 0 end
  prune(cells, now_ms)
  compact(cells)
  return is_live
end

-- A renewed lease goes to the end of the line under a new number, so that the line stays in the order of the ends.
function concurrency.renew(cells, numbers, receipt, now_ms)
  local lease = find_lease(cells, receipt[1])
  local held = (not lease or cells[lease + ENDS_MS] <= now_ms) and 0 or cells[lease + HELD]
  if held == 0 then return false end
  cells[lease + HELD] = 0
  concurrency.charge(cells, numbers, held, now_ms)
  return true
end

function concurrency.available(cells, numbers, now_ms)
  return numbers.limit - held_at(cells, now_ms)
end

function concurrency.as_new_in_ms(cells, _, now_ms)
  local numbered_ms = math.floor(cells[NEXT] / NUMBERS_PER_MS)
  return (#cells < FIRST and numbered_ms or newest_end_ms(cells)) - now_ms
end

function concurrency.memory_ms(numbers)
  return numbers.lease_ms
end

-- The numbering goes on: a handle from before must not release somebody else's place.
function concurrency.clear(cells)
  for place = #cells, FIRST, -1 do cells[place] = nil end
end

-- Leases are the same under every limit.
function concurrency.carry(from)
  return copy(from)
end

algorithms['concurrency'] = concurrency
