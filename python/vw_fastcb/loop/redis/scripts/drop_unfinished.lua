-- Drops what an unfinished checkpoint has left behind, and models that no generation has any more.
local used = {}
for _, said in ipairs(redis.call('HVALS', GENERATIONS)) do
  used[cjson.decode(said).sha256] = true
end
redis.call('DEL', changes(newest_generation() + 1))
for _, sha256 in ipairs(redis.call('HKEYS', MODELS)) do
  if not used[sha256] then
    redis.call('UNLINK', model(sha256))
    redis.call('HDEL', MODELS, sha256)
  end
end
return answer_with('')
