-- Epoch and holder of the lease, and whether it has not run out.
local held = redis.call('HMGET', LEASE, 'epoch', 'holder', 'expires')
local now = redis.call('TIME')
local is_live = tonumber(now[1]) * 1000 + tonumber(now[2]) / 1000 < tonumber(held[3] or '0')
return {held[1] or '0', held[2] or '', is_live and '1' or '0'}
