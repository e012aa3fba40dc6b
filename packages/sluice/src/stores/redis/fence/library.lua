-- The end of a library of Redis Functions. While it is loaded it sees nothing of Lua but `redis`, so what stands before is made
-- by the first call, and stays for all after it. The last of the args is what the reply ends with too.
local behind
redis.register_function('FUNCTION_NAME', function(keys, args)
  behind = behind or make()
  local call = table.remove(args)
  local reply = behind(keys, args)
  reply[#reply + 1] = call
  return reply
end)
