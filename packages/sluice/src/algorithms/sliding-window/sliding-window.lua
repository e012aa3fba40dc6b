-- The twin of sliding-window.ts: two counters, weighted.
--
-- cells   { start_ms, current, previous }: when the current window began, aligned to the epoch, and what both hold
-- numbers limit; window (ms)
local START_MS, CURRENT, PREVIOUS = 1, 2, 3

local function windows_since(cells, numbers, now_ms)
  return math.max(0, math.floor((now_ms - cells[START_MS]) / numbers.window))
end

local function current_at(cells, windows)
  return windows == 0 and cells[CURRENT] or 0
end

local function previous_at(cells, windows)
  if windows == 0 then return cells[PREVIOUS] end
  return windows == 1 and cells[CURRENT] or 0
end

-- The estimate times the window: whole milliseconds and whole costs then never round.
local function used_times_window(cells, numbers, now_ms)
  local windows = windows_since(cells, numbers, now_ms)
  -- A clock behind the window's start has made no progress in it.
  local left_ms = numbers.window * (windows + 1) - math.max(0, now_ms - cells[START_MS])
  return previous_at(cells, windows) * left_ms + current_at(cells, windows) * numbers.window
end

-- The moment the estimate falls to `room`: in the stored window while its own count fits, else in the next one.
local function falls_to_at_ms(cells, numbers, room)
  local end_ms = cells[START_MS] + numbers.window
  local current = cells[CURRENT]
  if current <= room then return end_ms - (room - current) / cells[PREVIOUS] * numbers.window end
  return end_ms + (1 - room / current) * numbers.window
end

local sliding_window = { code = 6, fields = { 'limit', 'window' }, layout = '<ddd', keeps_charges_apart = true }

function sliding_window.fresh(numbers, now_ms)
  return { math.floor(now_ms / numbers.window) * numbers.window, 0, 0 }
end

function sliding_window.wait(cells, numbers, cost, now_ms)
  local room = numbers.limit - cost
  if used_times_window(cells, numbers, now_ms) <= room * numbers.window then return 0 end
  if cost > numbers.limit then return infinity end
  -- The exact moment is a fraction; the first whole millisecond that passes is at it or next to it.
  local wait_ms = math.max(1, math.ceil(falls_to_at_ms(cells, numbers, room) - now_ms) - 1)
  while used_times_window(cells, numbers, now_ms + wait_ms) > room * numbers.window do wait_ms = wait_ms + 1 end
  return wait_ms
end

function sliding_window.charge(cells, numbers, cost, now_ms)
  local windows = windows_since(cells, numbers, now_ms)
  local current = current_at(cells, windows)
  cells[PREVIOUS] = previous_at(cells, windows)
  cells[CURRENT] = current + cost
  cells[START_MS] = cells[START_MS] + windows * numbers.window
end

-- The start of the window that was charged.
function sliding_window.receipt(cells)
  return { cells[START_MS] }
end

function sliding_window.refund(cells, numbers, cost, _, receipt)
  local charged_ms = receipt and receipt[1] or infinity
  local start_ms = cells[START_MS]
  if charged_ms >= start_ms then
    cells[CURRENT] = math.max(0, cells[CURRENT] - cost)
  elseif charged_ms >= start_ms - numbers.window then
    cells[PREVIOUS] = math.max(0, cells[PREVIOUS] - cost)
  end
end

function sliding_window.available(cells, numbers, now_ms)
  return (numbers.limit * numbers.window - used_times_window(cells, numbers, now_ms)) / numbers.window
end

function sliding_window.as_new_in_ms(cells, numbers, now_ms)
  local windows = cells[CURRENT] > 0 and 2 or cells[PREVIOUS] > 0 and 1 or 0
  return cells[START_MS] - now_ms + windows * numbers.window
end

function sliding_window.memory_ms(numbers)
  return 2 * numbers.window
end

function sliding_window.carry(from, old, _, numbers)
  return old.window == numbers.window and copy(from) or nil
end

function sliding_window.history(cells, numbers, latest_ms)
  local start_ms = cells[START_MS]
  local latest_current_ms = math.min(math.max(latest_ms, start_ms), start_ms + numbers.window)
  return { start_ms - 1, cells[PREVIOUS], latest_current_ms, cells[CURRENT] }
end

algorithms['sliding-window'] = sliding_window
