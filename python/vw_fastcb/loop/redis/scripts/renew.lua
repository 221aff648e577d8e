-- Holds the lease for ARGV[6] milliseconds from now; 0 gives it back.
local duration = tonumber(ARGV[6])
if duration > 0 then
  redis.call('HSET', LEASE, 'expires', int(server_time() + duration))
else
  redis.call('HSET', LEASE, 'holder', '', 'expires', '0')
end
return answer_with('')
