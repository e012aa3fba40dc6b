-- The twin of sliding-log.ts: every call with its time, as running sums in a ring.
--
-- cells   { first, count, capacity, base, bytes, changed }: the ring, whose entries are read from the bytes of the value where
--         they lie and written to `changed` by their position, so that a call touches a few entries of a long log only
-- entry   16 bytes, two doubles: when (ms), and the sum of all costs up to and including it
-- numbers limit; window (ms); covered_ms: how far back entries are kept; min_gap_ms; count_rejected: 1 or 0; entries: the most
local ENTRY_BYTES = 16
local ENTRY = '<dd'
local FIRST_CAPACITY = 4
local LARGEST = 2 ^ 32
-- A value up to so long is written whole: one command, which also sets the expiry.
local WHOLE_BYTES = 1024

local function position_of(cells, i)
  local position = cells.first + i
  return position >= cells.capacity and position - cells.capacity or position
end

local function entry(cells, i)
  local position = position_of(cells, i)
  local changed = cells.changed[position]
  if changed then return changed[1], changed[2] end
  local time_ms, sum = struct.unpack(ENTRY, cells.bytes, cells.offset + position * ENTRY_BYTES + 1)
  return time_ms, sum
end

local function set_entry(cells, i, time_ms, sum)
  cells.changed[position_of(cells, i)] = { time_ms, sum }
end

-- The sum of the costs of the first `i` entries, above the base.
local function sum_before(cells, i)
  if i == 0 then return cells.base end
  local _, sum = entry(cells, i - 1)
  return sum
end

-- The first entry, from `low` on, for which the test holds; the test must hold for all after it.
local function first_entry(cells, low, holds)
  local high = cells.count
  local from = low
  while from < high do
    local middle = math.floor((from + high) / 2)
    if holds(entry(cells, middle)) then high = middle else from = middle + 1 end
  end
  return from
end

-- The latest time seen: a clock that stepped back counts as this.
local function seen_at_ms(cells, now_ms)
  if cells.count == 0 then return now_ms end
  return math.max(now_ms, (entry(cells, cells.count - 1)))
end

-- The oldest entry younger than so long.
local function oldest_within(cells, age_ms, seen_ms)
  local count = cells.count
  -- Mostly nothing has left, or everything has.
  if count == 0 or seen_ms - entry(cells, 0) < age_ms then return 0 end
  if seen_ms - entry(cells, count - 1) >= age_ms then return count end
  return first_entry(cells, 1, function(time_ms) return seen_ms - time_ms < age_ms end)
end

-- What was taken at the moment of entry `i`.
local function cost_of(cells, i)
  return sum_before(cells, i + 1) - sum_before(cells, i)
end

-- Takes `amount` out of entry `i`: every sum from there on shrinks. An entry with nothing left makes room: a ring full of those
-- would have to merge what is still held. Only the newest stays until the next takes its place; it knows how late it is.
local function take_out(cells, i, amount)
  local newest = cells.count - 1
  for later = i, newest do
    local time_ms, sum = entry(cells, later)
    set_entry(cells, later, time_ms, sum - amount)
  end
  if i == newest or cost_of(cells, i) ~= 0 then return end
  for later = i, newest - 1 do set_entry(cells, later, entry(cells, later + 1)) end
  cells.count = newest
end

local function used_at(cells, numbers, now_ms)
  local inside = oldest_within(cells, numbers.window, seen_at_ms(cells, now_ms))
  return sum_before(cells, cells.count) - sum_before(cells, inside)
end

local function prune(cells, numbers, seen_ms)
  local gone = oldest_within(cells, numbers.covered_ms, seen_ms)
  cells.base = sum_before(cells, gone)
  cells.first = (cells.first + gone) % cells.capacity
  cells.count = cells.count - gone
  -- Sums start again when they could, and when they must, so that they stay small and exact.
  local base = cells.base
  if cells.count ~= 0 and base < LARGEST then return end
  for i = 0, cells.count - 1 do
    local time_ms, sum = entry(cells, i)
    set_entry(cells, i, time_ms, sum - base)
  end
  cells.base = 0
end

-- Joins entries so close together that all that is kept would be half as many as the ring holds.
local function merge_neighbours(cells, numbers)
  local close_ms = 2 * numbers.covered_ms / numbers.entries
  local kept, i = 0, 0
  while i < cells.count do
    local start_ms = entry(cells, i)
    local last = i
    while last + 1 < cells.count and entry(cells, last + 1) - start_ms < close_ms do last = last + 1 end
    set_entry(cells, kept, entry(cells, last))
    kept = kept + 1
    i = last + 1
  end
  cells.count = kept
end

-- Lays the entries out from the start of a larger ring.
local function resize(cells, capacity)
  local changed = {}
  for i = 0, cells.count - 1 do changed[i] = { entry(cells, i) } end
  cells.first, cells.capacity, cells.bytes, cells.changed, cells.is_moved = 0, capacity, '', changed, true
end

-- Makes room for one more entry.
local function extend(cells, numbers, now_ms)
  if cells.count < cells.capacity then return end
  prune(cells, numbers, seen_at_ms(cells, now_ms))
  if cells.count < cells.capacity then return end
  if cells.capacity < numbers.entries then
    resize(cells, math.min(2 * cells.capacity, numbers.entries))
  else
    merge_neighbours(cells, numbers)
  end
end

local log = { code = 10, keeps_charges_apart = true }
log.fields = { 'limit', 'window', 'covered_ms', 'min_gap_ms', 'count_rejected', 'entries' }
-- What was kept for less than the name's longest window stays as it is.
log.coverage = { covered_ms = true }

function log.fresh()
  return { first = 0, count = 0, capacity = FIRST_CAPACITY, base = 0, offset = 0, bytes = '', changed = {}, is_moved = true }
end

-- The ring as it lies in a value, from `offset` on.
function log.unpack(header, bytes, offset)
  return {
    first = header[1], count = header[2], capacity = header[3], base = header[4],
    offset = offset, bytes = bytes, changed = {}, is_moved = false,
  }
end

function log.pack(cells)
  return { cells.first, cells.count, cells.capacity, cells.base }
end

-- Writes the header and what has changed of the ring.
function log.write(key, header, cells, expiry_ms)
  local positions = {}
  for position in pairs(cells.changed) do positions[#positions + 1] = position end
  table.sort(positions)
  if cells.is_moved or #header + cells.capacity * ENTRY_BYTES <= WHOLE_BYTES then
    local old = string.sub(cells.bytes, cells.offset + 1)
    local parts, reached = { header }, 0
    for _, position in ipairs(positions) do
      local start = position * ENTRY_BYTES
      local gap = string.sub(old, reached + 1, start)
      parts[#parts + 1] = gap .. string.rep('\0', start - reached - #gap)
      parts[#parts + 1] = struct.pack(ENTRY, cells.changed[position][1], cells.changed[position][2])
      reached = start + ENTRY_BYTES
    end
    parts[#parts + 1] = string.sub(old, reached + 1)
    put(key, table.concat(parts), expiry_ms)
    return
  end
  redis.call('SETRANGE', key, 0, header)
  for _, position in ipairs(positions) do
    local packed = struct.pack(ENTRY, cells.changed[position][1], cells.changed[position][2])
    redis.call('SETRANGE', key, #header + position * ENTRY_BYTES, packed)
  end
  if expiry_ms then redis.call('PEXPIRE', key, expiry_ms) end
end

function log.wait(cells, numbers, cost, now_ms)
  if cost > numbers.limit then return infinity end
  local count = cells.count
  if count == 0 then return 0 end
  local newest_ms, sum = entry(cells, count - 1)
  local seen_ms = math.max(now_ms, newest_ms)
  local inside = oldest_within(cells, numbers.window, seen_ms)
  local room = numbers.limit - cost + dust
  local is_too_close = numbers.min_gap_ms > seen_ms - newest_ms
  local fits = sum - sum_before(cells, inside) <= room
  if fits and not is_too_close then return 0 end
  local gap_ms = is_too_close and newest_ms + numbers.min_gap_ms - now_ms or 0
  local room_ms, leaves_ms = 0, 0
  if not fits then
    -- The first entry after whose leaving the rest fits.
    leaves_ms = entry(cells, first_entry(cells, inside, function(_, up_to) return sum - up_to <= room end))
    room_ms = leaves_ms + numbers.window - now_ms
  end
  -- At least 1: fractions of a millisecond may add up to a wait of nothing, and nothing would mean that it may go.
  local wait_ms = math.max(1, math.ceil(math.max(gap_ms, room_ms)))
  local then_ms = now_ms + wait_ms
  local is_early = (is_too_close and then_ms - newest_ms < numbers.min_gap_ms)
    or (not fits and then_ms - leaves_ms < numbers.window)
  return is_early and wait_ms + 1 or wait_ms
end

function log.charge(cells, numbers, cost, now_ms)
  extend(cells, numbers, now_ms)
  local seen_ms = seen_at_ms(cells, now_ms)
  prune(cells, numbers, seen_ms)
  local count = cells.count
  local sum = sum_before(cells, count) + math.min(cost, numbers.limit + LARGEST)
  local is_newest = count > 0 and (entry(cells, count - 1) == seen_ms or cost_of(cells, count - 1) == 0)
  if not is_newest then cells.count = count + 1 end
  set_entry(cells, cells.count - 1, seen_ms, sum)
end

function log.reject(cells, numbers, cost, now_ms)
  log.charge(cells, numbers, math.min(cost, numbers.limit), now_ms)
end

-- The time of the entry that was charged.
function log.receipt(cells)
  return { (entry(cells, cells.count - 1)) }
end

-- An entry that has left, or was merged into another, gives nothing back: what is there now may be somebody else's.
function log.refund(cells, _, cost, _, receipt)
  local i = cells.count - 1
  local last = 0
  if receipt then
    i = first_entry(cells, 0, function(time_ms) return time_ms >= receipt[1] end)
    if i == cells.count or entry(cells, i) ~= receipt[1] then return end
    last = i
  end
  local left = cost
  while i >= last and left > 0 do
    local back = math.min(left, cost_of(cells, i))
    take_out(cells, i, back)
    left = left - back
    i = i - 1
  end
end

function log.available(cells, numbers, now_ms)
  local since_newest_ms = cells.count == 0 and infinity or math.max(0, now_ms - entry(cells, cells.count - 1))
  return since_newest_ms < numbers.min_gap_ms and 0 or numbers.limit - used_at(cells, numbers, now_ms)
end

function log.as_new_in_ms(cells, numbers, now_ms)
  return cells.count == 0 and -infinity or entry(cells, cells.count - 1) - now_ms + numbers.window
end

function log.memory_ms(numbers)
  return numbers.window
end

function log.history(cells, numbers)
  local events = {}
  for i = 0, cells.count - 1 do
    events[#events + 1] = (entry(cells, i))
    local cost = cost_of(cells, i)
    -- More than is kept of a cost: it may have been anything.
    events[#events + 1] = cost < numbers.limit + LARGEST and cost or everything
  end
  return events
end

algorithms['sliding-log'] = log
