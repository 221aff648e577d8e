-- A part of a model: ARGV[6] is the generation that it is for, then its SHA-256, the part's number and its bytes. One that
-- is there as a whole stays as it is, for other generations may have it; unless it was damaged.
local problem = check_next(tonumber(ARGV[6]))
if problem then
  return problem
end
local parts = redis.call('HGET', MODELS, ARGV[7])
local is_whole = parts and parts ~= '0'
if is_whole and redis.call('HGET', model(ARGV[7]), ARGV[8]) == ARGV[9] then
  return answer_with('')
end
if ARGV[8] == '0' and not is_whole then
  redis.call('UNLINK', model(ARGV[7]))
  redis.call('HSET', MODELS, ARGV[7], '0')
end
redis.call('HSET', model(ARGV[7]), ARGV[8], ARGV[9])
return answer_with('')
