-- The twin of window-count.ts: the count behind fixed-window and the token bucket that refills once per window.
--
-- cells   { start_ms, used }: when the window began, and what is used of it and claimed of later ones
-- numbers limit; per_window: what each window's end takes off; window (ms); wait_ms: the longest a caller may be told to
--         wait; aligned: 1 when windows begin at multiples of their length since the epoch; initial: used at the start
local START_MS, USED = 1, 2

local function windows_since(cells, numbers, now_ms)
  return math.max(0, math.floor((now_ms - cells[START_MS]) / numbers.window))
end

local function used_at(cells, numbers, now_ms)
  return math.max(0, cells[USED] - windows_since(cells, numbers, now_ms) * numbers.per_window)
end

local function window_start_ms(numbers, now_ms)
  return numbers.aligned == 1 and math.floor(now_ms / numbers.window) * numbers.window or now_ms
end

-- How long until the window that has room for the cost begins; 0 when the current one has, and else never 0.
local function until_room_ms(cells, numbers, cost, now_ms)
  if used_at(cells, numbers, now_ms) + cost <= numbers.limit + dust then return 0 end
  if cost > numbers.limit then return infinity end
  local windows = math.ceil((cells[USED] + cost - numbers.limit - dust) / numbers.per_window)
  -- Fractions of a millisecond may add up to a wait of nothing, and nothing would mean that it may go.
  return math.max(smallest, cells[START_MS] + windows * numbers.window - now_ms)
end

local window_count = { fields = { 'limit', 'per_window', 'window', 'wait_ms', 'aligned', 'initial' }, layout = '<dd' }

function window_count.fresh(numbers, now_ms)
  return { window_start_ms(numbers, now_ms), numbers.initial }
end

function window_count.wait(cells, numbers, cost, now_ms, max_delay_ms)
  return math.max(0, math.ceil(until_room_ms(cells, numbers, cost, now_ms) - math.min(numbers.wait_ms, max_delay_ms)))
end

window_count.delay = until_room_ms

function window_count.charge(cells, numbers, cost, now_ms)
  local used = used_at(cells, numbers, now_ms)
  local windows = windows_since(cells, numbers, now_ms)
  -- A window that begins at the first call begins anew once nothing of the last one is owed.
  if used == 0 and windows > 0 then
    cells[START_MS] = window_start_ms(numbers, now_ms)
  else
    cells[START_MS] = cells[START_MS] + windows * numbers.window
  end
  cells[USED] = used + cost
end

function window_count.receipt(cells)
  return { cells[START_MS], cells[USED] }
end

-- What has fallen off since the charge is not given back again. And while calls were sent ahead to later windows, only the
-- last of them can step back.
function window_count.refund(cells, numbers, cost, _, receipt, refunded_since)
  local used = cells[USED]
  local start_ms, reached = cells[START_MS], used
  if receipt then start_ms, reached = receipt[START_MS], receipt[USED] end
  local windows = math.floor((cells[START_MS] - start_ms) / numbers.window + 0.5)
  local left = reached - windows * numbers.per_window
  local is_last = refunded_since == 0 and left == used
  local back = (is_last or used <= numbers.limit) and math.max(0, left - refunded_since) or 0
  cells[USED] = math.max(0, used - math.min(cost, back))
end

function window_count.available(cells, numbers, now_ms)
  return numbers.limit - used_at(cells, numbers, now_ms)
end

function window_count.as_new_in_ms(cells, numbers, now_ms)
  return cells[START_MS] - now_ms + math.ceil(cells[USED] / numbers.per_window) * numbers.window
end

-- Until the last of what was used, and claimed of later windows, has fallen off.
function window_count.memory_ms(numbers)
  return math.ceil(numbers.limit / numbers.per_window) * numbers.window + numbers.wait_ms
end

-- The count is what it was at the change. A window that begins with the calendar is the one of the change; another goes on.
-- Where that is a window of another length, the count must be known to have been there at the change. See window-count.ts.
function window_count.carry(from, old, to, numbers, changed_ms)
  local windows = windows_since(from, old, changed_ms)
  local goes_on = old.window == numbers.window and (old.aligned == 1 or numbers.aligned ~= 1)
  if windows == 0 and not goes_on then return nil end
  to[USED] = used_at(from, old, changed_ms)
  to[START_MS] = from[START_MS] + windows * old.window
  if numbers.aligned == 1 then to[START_MS] = window_start_ms(numbers, math.max(changed_ms, to[START_MS])) end
  return to
end

function window_count.history(cells, numbers, latest_ms)
  return { math.min(math.max(latest_ms, cells[START_MS]), cells[START_MS] + numbers.window), cells[USED] }
end
