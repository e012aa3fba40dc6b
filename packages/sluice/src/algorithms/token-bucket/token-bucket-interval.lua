-- The twin of token-bucket.ts with `refill: 'interval'`. needs: window-count
--
-- numbers those of a window count
local DAY_MS = 86400000

local interval = setmetatable({ code = 3 }, { __index = window_count })

function interval.linger_ms(numbers)
  return numbers.initial > 0 and DAY_MS or 0
end

algorithms['token-bucket-interval'] = interval
