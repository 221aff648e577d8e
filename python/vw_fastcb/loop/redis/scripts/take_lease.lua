-- Takes the lease for ARGV[4] milliseconds, for the holder ARGV[5]: if it has run out, or its holder is ARGV[6], of which
-- the client knows that it has ended, or ARGV[7] says to take it from anybody. Gives its epoch, or nothing.
local held = redis.call('HMGET', LEASE, 'epoch', 'holder', 'expires')
local epoch, expires = tonumber(held[1] or '0'), tonumber(held[3] or '0')
local now = server_time()
local is_dead = held[2] and held[2] ~= '' and held[2] == ARGV[6]
if now < expires and not is_dead and ARGV[7] ~= '1' then
  return answer_with('')
end
redis.call('HSET', LEASE, 'epoch', int(epoch + 1), 'holder', ARGV[5], 'expires', int(now + tonumber(ARGV[4])))
return answer_with(int(epoch + 1))
