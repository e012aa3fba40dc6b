-- Keys and args as long-way.lua has them; a fourth argument says that a message is fit for the short way.
local function run(keys, args, server_ms)
  return args[4] == 'plain' and short_way(keys, args, server_ms) or long_way(keys, args, server_ms)
end
