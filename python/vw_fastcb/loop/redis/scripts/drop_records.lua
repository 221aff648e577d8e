-- Drops the records up to the position ARGV[6], with the ids that they are remembered by.
local upto = tonumber(ARGV[6])
local saved = redis.call('HGET', GENERATIONS, int(newest_generation()))
-- A change of settings that learns the journal again must find the same records after a crash.
for _, id in ipairs(redis.call('ZRANGEBYSCORE', of_kind('settings'), '(' .. int(cjson.decode(saved).position), '+inf')) do
  local since = cjson.decode(record_at(id)[2][12]).relearn_from
  if type(since) == 'number' and since > 0 then
    return answer_with('')
  end
end

local function forget(name, id)
  if redis.call('HGET', IDS, name) == id then
    redis.call('HDEL', IDS, name)
  end
end

local id, position
for _, entry in ipairs(redis.call('XRANGE', RECORDS, '-', '+', 'COUNT', ARGV[7])) do
  local time, at = time_and_position(entry[1])
  if at > upto then
    break
  end
  id, position = time, at
  local kind, event, reward = entry[2][2], entry[2][4], entry[2][10]
  if kind == 'decision' then
    redis.call('HDEL', DECISIONS, int(at))
    forget('d' .. event, entry[1])
  elseif kind == 'reward' and reward ~= '' then
    forget('r' .. #event .. ':' .. event .. reward, entry[1])
  elseif kind == 'activation' then
    forget('a' .. event, entry[1])
  elseif kind == 'erasure' then
    forget('e' .. event, entry[1])
  end
  if kind == 'settings' or kind == 'rollback' or kind == 'erasure' or kind == 'clock' then
    redis.call('ZREM', of_kind(kind), entry[1])
  end
end
if position then
  redis.call('XTRIM', RECORDS, 'MINID', '=', int(id) .. '-' .. int(position + 1))
end
return answer_with('')
