-- Drops the model ARGV[6], whose bytes are damaged. The generations that have it get it back from whoever asks for this.
redis.call('UNLINK', model(ARGV[6]))
redis.call('HDEL', MODELS, ARGV[6])
return answer_with('')
