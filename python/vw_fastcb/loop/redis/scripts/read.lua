-- The records after the position ARGV[2] up to ARGV[3], at most ARGV[4] of them.
local after, upto, most = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local first = redis.call('XRANGE', RECORDS, '-', '+', 'COUNT', 1)[1]
local _, last, last_id_time = last_record()
if not first or last <= after then
  return {}
end

-- Where the first record after a position is found: records are in order of the times in their ids as well, so the time is halved.
local function start()
  local low, first_position = time_and_position(first[1])
  if first_position > after then
    return '-'
  end
  local high = last_id_time
  while low < high do
    local middle = math.floor((low + high + 1) / 2)
    local time, position = time_and_position(redis.call('XRANGE', RECORDS, int(middle) .. '-0', '+', 'COUNT', 1)[1][1])
    if position <= after then
      low = time
    else
      high = middle - 1
    end
  end
  return int(low) .. '-' .. int(after + 1)
end

-- Bodies may be large: no more of them than fits in a few megabytes, but one at least.
local found, size = {}, 0
for _, entry in ipairs(redis.call('XRANGE', RECORDS, start(), '+', 'COUNT', most)) do
  local _, position = time_and_position(entry[1])
  if position > upto or size > 4194304 then
    break
  end
  local record = as_record(entry)
  found[#found + 1] = record
  size = size + #record[7]
end
return found
