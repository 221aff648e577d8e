-- The records of a rare kind, ARGV[2], after the position ARGV[3].
local found = {}
for _, id in ipairs(redis.call('ZRANGEBYSCORE', of_kind(ARGV[2]), '(' .. ARGV[3], '+inf')) do
  local entry = record_at(id)
  if entry then
    found[#found + 1] = as_record(entry)
  end
end
return found
