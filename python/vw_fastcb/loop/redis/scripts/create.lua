-- Makes a journal with its first record, unless it is there: ARGV is its id, the schema, the time or nothing, the body
-- of the first record. Without an id it only looks. Gives what is there then: id and schema; or nothing.
local meta = KEYS[1]
local records = string.sub(meta, 1, -5) .. 'records'
if redis.call('EXISTS', meta) == 0 and ARGV[1] ~= '' then
  if redis.call('EXISTS', records) == 1 then
    return redis.error_reply('PARTIAL ' .. records)
  end
  local time = ARGV[3]
  if time == '' then
    local now = redis.call('TIME')
    time = string.format('%.0f', tonumber(now[1]) * 1000 + math.floor(tonumber(now[2]) / 1000))
  end
  redis.call('HSET', meta, 'id', ARGV[1], 'schema', ARGV[2], 'generation', '0', 'base', '0')
  local id = time .. '-1'
  redis.call('XADD', records, id, 'kind', 'settings', 'event', '', 'of', '0', 'value', '', 'reward', '', 'body', ARGV[4])
  redis.call('ZADD', string.sub(meta, 1, -5) .. 'kind:settings', 1, id)
end
return redis.call('HMGET', meta, 'id', 'schema')
