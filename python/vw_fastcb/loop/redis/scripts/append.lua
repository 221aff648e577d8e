-- Appends drafts. Gives whether the lease was lost, the server's time, the last position before them, what came of each
-- draft, and, for the holder of the lease, records of others that it does not know.
local seen, clock, memory = tonumber(ARGV[4]), ARGV[5], ARGV[6]
local epoch, holder, known = ARGV[7], ARGV[8], ARGV[9]
local caller, most_apart = tonumber(ARGV[10]), tonumber(ARGV[11])
local server = server_time()
local last_time, last, last_id_time = last_record()
if last < seen then
  return redis.error_reply('LOST record ' .. int(seen) .. ' was there, and the last one is ' .. int(last))
end
local before = last
local now = math.max(last_time, clock == '' and server or tonumber(clock))
-- A journal may be silent for days. That so much time has passed, two clocks have to say.
if clock == '' and #ARGV > 11 and server - last_time > most_apart and math.abs(server - caller) > most_apart then
  return redis.error_reply('CLOCKS ' .. int(server) .. ' ' .. int(caller))
end
local id_time = math.max(last_id_time, now)
local remembered_since = memory == '' and -1 or now - tonumber(memory)
local is_learner = epoch ~= '' and holds_lease(epoch, holder)

local foreign = {}
if is_learner and known ~= '' and last > tonumber(known) and last - tonumber(known) <= 500 then
  local entries = redis.call('XREVRANGE', RECORDS, '+', '-', 'COUNT', last - tonumber(known))
  for i = #entries, 1, -1 do
    foreign[#foreign + 1] = as_record(entries[i])
  end
end

-- The newest record under a name, if it is still remembered.
local function remembered(name)
  local id = redis.call('HGET', IDS, name)
  if id and time_and_position(id) >= remembered_since then
    return record_at(id)
  end
end

local function decision_of(event)
  local id = event ~= '' and redis.call('HGET', IDS, 'd' .. event)
  if id then
    local time, position = time_and_position(id)
    if time >= remembered_since then
      return position, id
    end
  end
  return 0
end

-- Under which name a record is found again.
local function name_of(kind, event, reward)
  if kind == 'reward' then
    return reward ~= '' and 'r' .. #event .. ':' .. event .. reward
  end
  return ({decision = 'd', activation = 'a', erasure = 'e'})[kind] and string.sub(kind, 1, 1) .. event
end

-- The record that said the same before, or something else under the same id.
local function earlier(kind, event, reward, of, of_id)
  if kind == 'decision' then
    return of > 0 and record_at(of_id)
  elseif kind == 'reward' then
    return reward ~= '' and remembered(name_of(kind, event, reward))
  elseif kind == 'activation' or kind == 'erasure' then
    local found = remembered(name_of(kind, event, ''))
    -- It may be about an earlier event with the same id.
    local found_of = found and tonumber(found[2][6])
    return found and (of == 0 or found_of == 0 or found_of == of) and found
  end
end

local function newest_settings()
  return tonumber(redis.call('ZRANGE', of_kind('settings'), -1, -1, 'WITHSCORES')[2] or '0')
end

-- Why a draft of a rare kind cannot be written; else its body.
local function checked(kind, value, body, expected, of)
  if kind == 'erasure' and of == 0 then
    return {'unknown'}
  elseif (kind == 'settings' or kind == 'rollback') and tonumber(expected) ~= newest_settings() then
    return {'changed'}
  elseif kind == 'rollback' then
    local kept = redis.call('HGET', GENERATIONS, value)
    if not kept then
      return {'unkept', redis.call('HKEYS', GENERATIONS)}
    end
    local wanted = cjson.decode(kept)
    return nil, '{"generation":' .. value .. ',"position":' .. int(wanted.position) .. ',"sha256":"' .. wanted.sha256 .. '"}'
  elseif kind == 'clock' then
    local taken = clock == '' and server or tonumber(clock)
    if now - taken <= tonumber(expected) then
      return {'right', int(now), int(taken)}
    elseif clock == '' and math.abs(server - caller) > most_apart then
      return {'apart', int(server), int(caller)}
    end
    local content = '{"before":' .. int(now) .. '}'
    now = taken
    return nil, content
  elseif kind == 'tick' and not is_learner then
    return {'fenced'}
  end
  return nil, body
end

local function append(kind, event, value, reward, body, expected)
  local of, of_id = decision_of(event)
  local found = earlier(kind, event, reward, of, of_id)
  if found then
    return {'earlier', as_record(found)}
  end
  local problem, content = checked(kind, value, body, expected, of)
  if problem then
    return problem
  end
  last = last + 1
  local id = int(id_time) .. '-' .. int(last)
  local observed, stored = kind == 'reward' and value or '', content
  if kind == 'decision' then
    of, stored = 0, ''
    redis.call('HSET', DECISIONS, int(last), int(now) .. '\0' .. event .. '\0' .. content)
  end
  local fields = {'kind', kind, 'event', event, 'of', int(of), 'value', observed, 'reward', reward, 'body', stored}
  if id_time ~= now then
    fields[13], fields[14] = 'time', int(now)
  end
  redis.call('XADD', RECORDS, id, unpack(fields))
  local name = name_of(kind, event, reward)
  if name then
    redis.call('HSET', IDS, name, id)
  end
  if kind == 'settings' or kind == 'rollback' or kind == 'erasure' or kind == 'clock' then
    redis.call('ZADD', of_kind(kind), last, id)
  end
  return {'new', id, int(of), (kind == 'rollback' or kind == 'clock') and content or '', int(now)}
end

local outcomes = {}
for i = 12, #ARGV, 6 do
  outcomes[#outcomes + 1] = append(ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], ARGV[i + 4], ARGV[i + 5])
end
local is_fenced = epoch ~= '' and not is_learner
local answer = {is_fenced and '1' or '0', int(server), int(before), outcomes, foreign}
if last == before then
  return answer
end
return answer_with(answer)
