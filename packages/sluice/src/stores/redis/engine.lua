-- What the twins and the ways of all algorithms may use. The twins fill `algorithms`, each under its own name.
local algorithms = {}
-- Less than this over the limit is the limit: sums of fractions are not exact.
local dust = 1e-9
-- More than any limit: until it has left the window, nothing passes.
local everything = 2 ^ 50
-- The smallest number above 0.
local smallest = 5e-324

local function copy(cells)
  local same = {}
  for place, value in pairs(cells) do same[place] = type(value) == 'table' and copy(value) or value end
  return same
end

-- Where the ring of a log begins: no header is longer.
local HEADER_BYTES = 144

-- Three per check: the wait in ms (0: allowed, -1: never), what remains, ms until as good as new. Where there is a delay or are
-- words, the first is a text: the wait, the delay in ms, the words.
local function reply_with(replies, wait_ms, available, reset_ms, delay_ms, words)
  local count = #replies
  local wait = wait_ms == 0 and 0 or wait_ms == infinity and -1 or reply_number(wait_ms)
  -- Formatted: `..` keeps 14 digits of a number.
  if delay_ms ~= 0 or words then wait = string.format('%.17g %.17g %s', tonumber(wait), delay_ms, words or '') end
  replies[count + 1] = wait
  replies[count + 2] = available >= 1 and reply_number(math.floor(available)) or 0
  replies[count + 3] = reset_ms > 0 and reply_number(math.ceil(reset_ms)) or 0
end

-- The numbers of a policy by their names.
local function numbers_of(algorithm, values)
  local numbers = {}
  for i, field in ipairs(algorithm.fields) do numbers[field] = values[i] end
  if algorithm.derive then algorithm.derive(numbers) end
  return numbers
end

local function policy_of(text)
  local algorithm, values
  for word in string.gmatch(text, '%S+') do
    if algorithm then values[#values + 1] = tonumber(word) else algorithm, values = algorithms[word], {} end
  end
  return { algorithm = algorithm, values = values, numbers = numbers_of(algorithm, values) }
end

-- What the value of a key under this policy begins with.
local function head_of(algorithm, values)
  return cmsgpack.pack(algorithm.code, unpack(values))
end

-- The cells of a value, from a place on: as many doubles as the layout says, or a message pack.
local function read_cells(algorithm, value, at)
  if algorithm.layout then
    local cells = { struct.unpack(algorithm.layout, value, at + 1) }
    -- The place behind them, which comes with them.
    cells[#cells] = nil
    return cells
  end
  local _, cells = cmsgpack.unpack_one(value, at)
  return algorithm.unpack and algorithm.unpack(cells, value, HEADER_BYTES) or cells
end

local function write_cells(key, algorithm, head, cells, expiry_ms)
  if algorithm.layout then return put(key, head .. struct.pack(algorithm.layout, unpack(cells)), expiry_ms) end
  if not algorithm.write then return put(key, head .. cmsgpack.pack(cells), expiry_ms) end
  local header = head .. cmsgpack.pack(algorithm.pack(cells))
  algorithm.write(key, header .. string.rep('\0', HEADER_BYTES - #header), cells, expiry_ms)
end

-- How much longer than its own window a key is kept, because its past may matter to a longer one of the name.
local function beyond_ms(numbers)
  return numbers.covered_ms and numbers.covered_ms - numbers.window or 0
end

-- How long what may have been lost before the fence matters to a policy.
local function quarantine_ms(algorithm, numbers, now_ms)
  return fence_ms and math.max(0, math.ceil(fence_ms + algorithm.memory_ms(numbers) - now_ms)) or 0
end
