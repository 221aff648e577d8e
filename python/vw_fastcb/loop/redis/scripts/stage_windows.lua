-- Windows that changed in the generation ARGV[6]: positions and bodies, empty for those that are gone. They count once
-- the generation is there.
local generation = tonumber(ARGV[6])
local problem = check_next(generation)
if problem then
  return problem
end
for i = 7, #ARGV, 2 do
  redis.call('HSET', changes(generation), ARGV[i], ARGV[i + 1])
end
return answer_with('')
