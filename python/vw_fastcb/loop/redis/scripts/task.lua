-- What only the holder of the lease may do: ARGV[4] and ARGV[5] are its lease.
if not holds_lease(ARGV[4], ARGV[5]) then
  return redis.error_reply('FENCED another process has taken over learning; this one goes on deciding.')
end

-- Nothing but the next generation is written: what is there must stay as it is.
local function check_next(generation)
  local newest = newest_generation()
  if generation ~= newest + 1 then
    return redis.error_reply('FENCED generation ' .. int(newest) .. ' is there, ' .. int(generation) .. ' cannot follow it.')
  end
end
