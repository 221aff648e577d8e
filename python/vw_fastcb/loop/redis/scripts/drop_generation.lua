-- Drops the generation ARGV[6], unless a rollback after the position ARGV[7] goes back to it.
for _, id in ipairs(redis.call('ZRANGEBYSCORE', of_kind('rollback'), '(' .. ARGV[7], '+inf')) do
  local entry = record_at(id)
  if entry and int(cjson.decode(entry[2][12]).generation) == ARGV[6] then
    return answer_with('')
  end
end
redis.call('HDEL', GENERATIONS, ARGV[6])
return answer_with('')
