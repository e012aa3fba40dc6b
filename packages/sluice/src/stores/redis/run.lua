-- Keys and args as long-way.lua has them; a fourth argument says that a message is fit for a shorter way.
local way
local function run(keys, args, server_ms)
  local replies = bucket_way and bucket_way(keys, args, server_ms)
  if replies then return replies end
  way = way or engine()
  return way(keys, args, server_ms)
end
