-- Makes a checkpoint count: ARGV[6] is its generation, ARGV[7] what it says, then the SHA-256 of its model and in how
-- many parts that is, and two counts: of dead letters, and of events to erase with what is left of them, which follow.
local generation = tonumber(ARGV[6])
local problem = check_next(generation)
if problem then
  return problem
end
local sha256, parts, n_letters, n_erased = ARGV[8], tonumber(ARGV[9]), tonumber(ARGV[10]), tonumber(ARGV[11])
if parts > 0 and redis.call('HGET', MODELS, sha256) == '0' then
  if redis.call('HLEN', model(sha256)) ~= parts then
    return redis.error_reply('LOST parts of the model ' .. sha256 .. ' are missing')
  end
  redis.call('HSET', MODELS, sha256, ARGV[9])
end
redis.call('HSET', GENERATIONS, ARGV[6], ARGV[7])
redis.call('HSET', META, 'generation', ARGV[6])
for i = 12, 11 + n_letters do
  redis.call('RPUSH', LETTERS, ARGV[i])
end
for i = 12 + n_letters, 11 + n_letters + 2 * n_erased, 2 do
  if redis.call('HEXISTS', DECISIONS, ARGV[i]) == 1 then
    redis.call('HSET', DECISIONS, ARGV[i], ARGV[i + 1])
  end
end
return answer_with('')
