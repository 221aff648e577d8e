-- What scripts that write begin with, too. ARGV[2] names the writer and ARGV[3] its request. One that is asked again,
-- because the answer was lost with the connection, is answered again, and nothing is written twice.
local writer = prefix .. 'writer:' .. ARGV[2]
local answered = redis.call('GET', writer)
if answered then
  local request, answer = unpack(cmsgpack.unpack(answered))
  if request == ARGV[3] then
    return answer
  end
end

local function answer_with(answer)
  redis.call('SET', writer, cmsgpack.pack({ARGV[3], answer}), 'PX', 3600000)
  return answer
end

local function server_time()
  local now = redis.call('TIME')
  return tonumber(now[1]) * 1000 + math.floor(tonumber(now[2]) / 1000)
end

local function holds_lease(epoch, holder)
  local held = redis.call('HMGET', LEASE, 'epoch', 'holder')
  return held[1] == epoch and held[2] == holder
end
