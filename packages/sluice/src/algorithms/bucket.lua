-- The twin of bucket.ts: the debt that gcra, token-bucket and leaky-bucket share.
--
-- cells   { debt, seen_ms }: the debt in parts of a unit, as of the latest time that charged the key (milliseconds)
-- numbers limit in units; unit: parts in one unit of cost; drain: parts per millisecond; capacity: parts that fit
local DEBT, SEEN_MS = 1, 2

local function seen_at_ms(cells, now_ms)
  return math.max(now_ms, cells[SEEN_MS])
end

local function debt_at(cells, numbers, now_ms)
  local elapsed_ms = now_ms - cells[SEEN_MS]
  local debt = cells[DEBT]
  if elapsed_ms > 0 then return math.max(0, debt - elapsed_ms * numbers.drain) end
  return debt
end

local bucket = { fields = { 'limit', 'unit', 'drain' }, layout = '<dd' }

function bucket.derive(numbers)
  numbers.capacity = numbers.limit * numbers.unit
end

function bucket.fresh(_, now_ms)
  return { 0, now_ms }
end

function bucket.wait(cells, numbers, cost, now_ms)
  return debt_wait_ms(cells[DEBT], cells[SEEN_MS], numbers.capacity - cost * numbers.unit, numbers.drain, now_ms)
end

function bucket.charge(cells, numbers, cost, now_ms)
  cells[DEBT] = debt_at(cells, numbers, now_ms) + cost * numbers.unit
  cells[SEEN_MS] = seen_at_ms(cells, now_ms)
end

-- `wait`, and `charge` if that is 0, and then what is available and when it is as new, in one.
function bucket.step(cells, numbers, cost, now_ms)
  local elapsed_ms, debt = now_ms - cells[SEEN_MS], cells[DEBT]
  if elapsed_ms > 0 then
    debt = debt - elapsed_ms * numbers.drain
    if debt < 0 then debt = 0 end
  end
  local parts, wait_ms = cost * numbers.unit, 0
  if debt - (numbers.capacity - parts) > 0 then
    wait_ms = bucket.wait(cells, numbers, cost, now_ms)
  else
    debt = debt + parts
    cells[DEBT] = debt
    if elapsed_ms > 0 then cells[SEEN_MS] = now_ms end
  end
  return wait_ms, (numbers.capacity - debt) / numbers.unit, cells[SEEN_MS] - now_ms + cells[DEBT] / numbers.drain
end

function bucket.receipt(cells)
  return { cells[DEBT], cells[SEEN_MS] }
end

-- What has drained since the charge is not given back again; what others gave back since lets it drain the sooner.
function bucket.refund(cells, numbers, cost, now_ms, receipt, refunded_since)
  local seen_ms = seen_at_ms(cells, now_ms)
  local parts = cost * numbers.unit
  local left = receipt and debt_at(receipt, numbers, seen_ms) - refunded_since * numbers.unit or parts
  local debt = debt_at(cells, numbers, now_ms)
  cells[DEBT] = math.max(0, debt - math.min(parts, math.max(0, left)))
  cells[SEEN_MS] = seen_ms
end

function bucket.available(cells, numbers, now_ms)
  return (numbers.capacity - debt_at(cells, numbers, now_ms)) / numbers.unit
end

function bucket.as_new_in_ms(cells, numbers, now_ms)
  return cells[SEEN_MS] - now_ms + cells[DEBT] / numbers.drain
end

function bucket.history(cells, numbers)
  return { cells[SEEN_MS], cells[DEBT] / numbers.unit }
end

-- What was charged before `from_ms` may be lost: as if the bucket had been full of debt then. Refuses nobody for a window.
function bucket.fence(cells, numbers, from_ms, now_ms)
  if now_ms <= from_ms then
    cells[DEBT] = math.max(numbers.capacity, debt_at(cells, numbers, from_ms))
    cells[SEEN_MS] = seen_at_ms(cells, from_ms)
    return
  end
  local least = numbers.capacity - (now_ms - from_ms) * numbers.drain
  if debt_at(cells, numbers, now_ms) >= least then return end
  cells[DEBT] = least
  cells[SEEN_MS] = seen_at_ms(cells, now_ms)
end

-- For how long what was charged before can matter.
function bucket.memory_ms(numbers)
  return numbers.capacity / numbers.drain
end

-- Until the change the debt drained at the old rate.
function bucket.carry(from, old, to, numbers, changed_ms)
  to[DEBT] = debt_at(from, old, changed_ms) / old.unit * numbers.unit
  to[SEEN_MS] = seen_at_ms(from, changed_ms)
  return to
end
