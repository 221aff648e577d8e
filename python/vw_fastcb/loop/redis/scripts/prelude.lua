-- What all scripts begin with. KEYS[1] is the journal's hash `meta`; its other keys have the same beginning, so that
-- they are on one node of a cluster. ARGV[1] is the journal's id. A record's id in the stream is its time and its
-- position. `models` says in how many parts each model is, 0 for one that is still being written.
local prefix = string.sub(KEYS[1], 1, -5)
local META, LEASE = KEYS[1], prefix .. 'lease'
local RECORDS, DECISIONS, IDS = prefix .. 'records', prefix .. 'decisions', prefix .. 'ids'
local GENERATIONS, WINDOWS, LETTERS, MODELS = prefix .. 'generations', prefix .. 'windows', prefix .. 'dead_letters', prefix .. 'models'

if redis.call('HGET', META, 'id') ~= ARGV[1] then
  return redis.error_reply('GONE the journal is not the one that was opened')
end

local function int(number)
  return string.format('%.0f', number)
end

local function of_kind(kind)
  return prefix .. 'kind:' .. kind
end

local function changes(generation)
  return prefix .. 'changes:' .. int(generation)
end

local function model(sha256)
  return prefix .. 'model:' .. sha256
end

-- Time and position of a record, by its id in the stream. Ids only grow: after the journal's time was taken back, records
-- have their time in a field, too.
local function time_and_position(id)
  local time, position = string.match(id, '^(%d+)-(%d+)$')
  return tonumber(time), tonumber(position)
end

-- Time and position of the newest record, and the time in its id.
local function last_record()
  local last = redis.call('XREVRANGE', RECORDS, '+', '-', 'COUNT', 1)[1]
  if not last then
    return 0, 0, 0
  end
  local time, position = time_and_position(last[1])
  return tonumber(last[2][14] or time), position, time
end

-- A record as the client reads it: id, kind, event, of, value, reward id, body, time if the id does not say it. Decisions have their body elsewhere,
-- because what is in a stream cannot be erased.
local function as_record(entry)
  local id, fields = entry[1], entry[2]
  local body = fields[12]
  if fields[2] == 'decision' then
    local _, position = time_and_position(id)
    local stored = redis.call('HGET', DECISIONS, int(position))
    body = stored and string.match(stored, '^%d+%z[^%z]*%z(.*)$') or ''
  end
  return {id, fields[2], fields[4], fields[6], fields[8], fields[10], body, fields[14] or ''}
end

local function record_at(id)
  return redis.call('XRANGE', RECORDS, id, id)[1]
end

local function newest_generation()
  return tonumber(redis.call('HGET', META, 'generation'))
end
