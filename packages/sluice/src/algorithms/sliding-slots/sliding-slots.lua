-- The twin of sliding-slots.ts: a slot counts until it has wholly left the window.
--
-- cells   { newest, total, counter, counter, ... }: the number of the newest slot, counted from the epoch, the sum as of
--         then, and a counter for slot s at place s modulo the number of counters
-- numbers limit; window (ms); slots in a window; kept: how many slots back are kept; covered_ms: how long that is
local NEWEST, TOTAL, COUNTERS = 1, 2, 3

-- One more than can be alive: where a slot begins and where the window ends may round apart.
local function counters_of(numbers)
  return numbers.kept + 2
end

local function starts_at_ms(numbers, slot)
  return slot * numbers.window / numbers.slots
end

-- The slot a moment is in. The quotient may round across a boundary; the slot's own start decides.
local function slot_at(numbers, now_ms)
  local slot = math.floor(now_ms * numbers.slots / numbers.window)
  if starts_at_ms(numbers, slot) > now_ms then slot = slot - 1 end
  if starts_at_ms(numbers, slot + 1) <= now_ms then slot = slot + 1 end
  return slot
end

local function counter_of(numbers, slot)
  return COUNTERS + slot % counters_of(numbers)
end

-- When a slot has wholly left the window.
local function leaves_at_ms(numbers, slot)
  return starts_at_ms(numbers, slot + 1) + numbers.window
end

-- The newest slot at `now_ms`: a clock stepping back stays in the newest slot seen.
local function newest_at(cells, numbers, now_ms)
  return math.max(slot_at(numbers, now_ms), cells[NEWEST])
end

-- What counts at `now_ms`: summed anew rather than subtracted, since a difference of fractions could fall short.
local function used_at(cells, numbers, now_ms)
  local stored = cells[NEWEST]
  if newest_at(cells, numbers, now_ms) == stored then return cells[TOTAL] end
  local oldest = slot_at(numbers, now_ms - numbers.window)
  local used = 0
  for slot = stored, oldest, -1 do used = used + cells[counter_of(numbers, slot)] end
  return used
end

-- Moves the newest slot on, emptying the counters it takes over.
local function advance(cells, numbers, now_ms)
  local newest = newest_at(cells, numbers, now_ms)
  local stored = cells[NEWEST]
  if newest == stored then return newest end
  cells[TOTAL] = used_at(cells, numbers, now_ms)
  for slot = math.max(stored + 1, newest - counters_of(numbers) + 1), newest do
    cells[counter_of(numbers, slot)] = 0
  end
  cells[NEWEST] = newest
  return newest
end

local slots = { code = 7, fields = { 'limit', 'window', 'slots', 'kept', 'covered_ms' }, keeps_charges_apart = true }
-- What was kept for less than the name's longest window stays as it is.
slots.coverage = { kept = true, covered_ms = true }

function slots.fresh(numbers, now_ms)
  local cells = { slot_at(numbers, now_ms), 0 }
  for counter = 1, counters_of(numbers) do cells[COUNTERS + counter - 1] = 0 end
  return cells
end

function slots.wait(cells, numbers, cost, now_ms)
  local room = numbers.limit - cost + dust
  if used_at(cells, numbers, now_ms) <= room then return 0 end
  if cost > numbers.limit then return infinity end
  -- From the newest backwards, the first slot whose sum exceeds the room is the one that has to leave.
  local slot = cells[NEWEST]
  local oldest = slot - numbers.slots - 1
  local used = cells[counter_of(numbers, slot)]
  while used <= room and slot > oldest do
    slot = slot - 1
    used = used + cells[counter_of(numbers, slot)]
  end
  -- At least 1: fractions of a millisecond may add up to a wait of nothing, and nothing would mean that it may go.
  return math.max(1, math.ceil(leaves_at_ms(numbers, slot) - now_ms))
end

function slots.charge(cells, numbers, cost, now_ms)
  local counter = counter_of(numbers, advance(cells, numbers, now_ms))
  cells[counter] = cells[counter] + cost
  cells[TOTAL] = cells[TOTAL] + cost
end

-- The slot that was charged.
function slots.receipt(cells)
  return { cells[NEWEST] }
end

function slots.refund(cells, numbers, cost, _, receipt)
  local newest = cells[NEWEST]
  -- One slot more may still be counted; it is not worth finding out for a refund.
  local oldest = newest - numbers.slots
  local left = math.min(cost, cells[TOTAL])
  local charged = receipt and receipt[1] or infinity
  local last = receipt and math.max(charged, oldest) or oldest
  local slot = math.min(charged, newest)
  while slot >= last and left > 0 do
    local counter = counter_of(numbers, slot)
    local back = math.min(left, cells[counter])
    cells[counter] = cells[counter] - back
    cells[TOTAL] = cells[TOTAL] - back
    left = left - back
    slot = slot - 1
  end
end

function slots.available(cells, numbers, now_ms)
  return numbers.limit - used_at(cells, numbers, now_ms)
end

function slots.as_new_in_ms(cells, numbers, now_ms)
  local slot = cells[NEWEST]
  local oldest = slot - numbers.slots - 1
  while slot >= oldest and cells[counter_of(numbers, slot)] == 0 do slot = slot - 1 end
  return leaves_at_ms(numbers, slot) - now_ms
end

function slots.memory_ms(numbers)
  return numbers.window + numbers.window / numbers.slots
end

-- The same slots are the same under another limit; history would move them on by one at every change.
function slots.carry(from, old, _, numbers)
  if old.window == numbers.window and old.slots == numbers.slots and old.kept == numbers.kept then return copy(from) end
  return nil
end

function slots.history(cells, numbers, latest_ms)
  local events = {}
  local newest = cells[NEWEST]
  for slot = newest - numbers.kept - 1, newest do
    local cost = cells[counter_of(numbers, slot)]
    -- The newest says how far back the others tell, be it empty.
    if cost > 0 or slot == newest then
      local latest_in_slot_ms = math.max(latest_ms, starts_at_ms(numbers, slot))
      events[#events + 1] = math.min(latest_in_slot_ms, starts_at_ms(numbers, slot + 1))
      events[#events + 1] = cost
    end
  end
  return events
end

algorithms['sliding-slots'] = slots
