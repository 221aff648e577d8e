-- Position and time of the newest record, and the server's time.
local time, position = last_record()
local now = redis.call('TIME')
return {int(position), int(time), int(tonumber(now[1]) * 1000 + math.floor(tonumber(now[2]) / 1000))}
