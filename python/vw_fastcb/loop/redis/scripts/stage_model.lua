-- A part of a model: ARGV[6] is the generation that it is for, then its SHA-256, the part's number and its bytes.
local problem = check_next(tonumber(ARGV[6]))
if problem then
  return problem
end
redis.call('SADD', MODELS, ARGV[7])
redis.call('HSET', model(ARGV[7]), ARGV[8], ARGV[9])
return answer_with('')
