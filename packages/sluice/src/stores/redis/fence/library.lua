-- The end of a library of Redis Functions. While it is loaded it sees nothing of Lua but `redis`, so what stands before is made
-- by the first call, and stays for all after it.
local behind
redis.register_function('FUNCTION_NAME', function(keys, args)
  behind = behind or make()
  return behind(keys, args)
end)
