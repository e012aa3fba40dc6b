-- The twin of token-bucket.ts, refilled continuously. needs: bucket
--
-- numbers those of a bucket, and initial: tokens missing at the start
local DAY_MS = 86400000

local token_bucket = setmetatable({ code = 2, fields = { 'limit', 'unit', 'drain', 'initial' } }, { __index = bucket })

function token_bucket.fresh(numbers, now_ms)
  local cells = bucket.fresh(numbers, now_ms)
  bucket.charge(cells, numbers, numbers.initial, now_ms)
  return cells
end

function token_bucket.linger_ms(numbers)
  return numbers.initial > 0 and DAY_MS or 0
end

algorithms['token-bucket'] = token_bucket
