-- Moves at least ARGV[6] changes of windows, or all there are, into the windows that all kept generations build on.
-- Those of a generation are applied again by whoever reads it meanwhile, which does no harm.
local oldest
for _, generation in ipairs(redis.call('HKEYS', GENERATIONS)) do
  oldest = math.min(oldest or math.huge, tonumber(generation))
end
local base, moved = tonumber(redis.call('HGET', META, 'base')), 0
while oldest and base < oldest and moved < tonumber(ARGV[6]) do
  local from, cursor = changes(base + 1), '0'
  repeat
    local found = redis.call('HSCAN', from, cursor, 'COUNT', ARGV[6])
    cursor = found[1]
    for i = 1, #found[2], 2 do
      if found[2][i + 1] == '' then
        redis.call('HDEL', WINDOWS, found[2][i])
      else
        redis.call('HSET', WINDOWS, found[2][i], found[2][i + 1])
      end
      redis.call('HDEL', from, found[2][i])
      moved = moved + 1
    end
  until cursor == '0' or moved >= tonumber(ARGV[6])
  if redis.call('EXISTS', from) == 0 then
    base = base + 1
    redis.call('HSET', META, 'base', int(base))
  end
end
return answer_with('')
