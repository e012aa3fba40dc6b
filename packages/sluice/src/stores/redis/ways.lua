-- What `engine` returns.
return function(keys, args, server_ms)
  return args[4] == 'plain' and short_way(keys, args, server_ms) or long_way(keys, args, server_ms)
end
