-- The twin of leaky-bucket.ts. needs: bucket
--
-- numbers those of a bucket, and undelayed: the excess that goes at once, in units
local leaky = setmetatable({ code = 4, fields = { 'limit', 'unit', 'drain', 'undelayed' } }, { __index = bucket })
-- The step never delays.
leaky.step = false

-- A cost of n waits as long as the last of n single calls would: the output never runs faster than the rate.
function leaky.delay(cells, numbers, cost, now_ms)
  local excess = debt_at(cells, numbers, now_ms) + (cost - 1 - numbers.undelayed) * numbers.unit
  return excess > 0 and seen_at_ms(cells, now_ms) - now_ms + excess / numbers.drain or 0
end

function leaky.wait(cells, numbers, cost, now_ms, max_delay_ms)
  local too_long_ms = leaky.delay(cells, numbers, cost, now_ms) - max_delay_ms
  return math.max(0, bucket.wait(cells, numbers, cost, now_ms), math.ceil(too_long_ms))
end

-- A promised departure does not move when one before it is taken out; only the last in line can step back.
function leaky.refund(cells, numbers, cost, now_ms, receipt, refunded_since)
  local left = receipt and debt_at(receipt, numbers, now_ms) or 0
  local is_last = refunded_since == 0 and left == debt_at(cells, numbers, now_ms)
  if not receipt or is_last or numbers.undelayed == infinity then
    bucket.refund(cells, numbers, cost, now_ms, receipt, refunded_since)
  end
end

algorithms['leaky-bucket'] = leaky
