-- A part of a model: ARGV[6] is the generation that it is for, then its SHA-256, the part's number and its bytes. One that
-- is there as a whole stays as it is: other generations may have it.
local problem = check_next(tonumber(ARGV[6]))
if problem then
  return problem
end
local parts = redis.call('HGET', MODELS, ARGV[7])
if parts and parts ~= '0' then
  return answer_with('')
end
if ARGV[8] == '0' then
  redis.call('UNLINK', model(ARGV[7]))
  redis.call('HSET', MODELS, ARGV[7], '0')
end
redis.call('HSET', model(ARGV[7]), ARGV[8], ARGV[9])
return answer_with('')
