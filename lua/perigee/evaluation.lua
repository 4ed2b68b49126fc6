--- The samples of an evaluation, worked at by lanes: a process a device, which asks the agent and
-- judges what it answers (perigee.eval). What an agent may reach is decided here.
-- @module perigee.evaluation

local core = require "perigee.core"
local files = require "perigee.files"
local lane = require "perigee.serve.lane"
local progress = require "perigee.progress"

local evaluation = {}

local MEMORY_SHARE = 0.75 -- of what is available: for all lanes together
local AGENT_SHARE = 0.9 -- of a lane's, for the agent and what it has started
local SAMPLE_S = 86400 -- of a lane; the budgets of a sample are its own

-- Folders in which Perigee itself lies, and the user's tasks.
local function folders()
  local list = { core.home, core.binary(), files.cache "" }
  for path in (os.getenv "PERIGEE_TASKS" or ""):gmatch "[^:]+" do list[#list + 1] = path end
  return list
end

-- Paths below those that an agent may change that it may not, and those that it does not even read.
local function closed(options, lanes)
  local db, hidden, kept = core.realpath(options.db) or options.db, {}, core.json_array {}
  for i, suffix in ipairs { "", "-wal", "-shm", "-journal" } do hidden[i] = db .. suffix end
  for _, one in ipairs(lanes) do kept[#kept + 1] = core.realpath(one.folder) end
  for _, path in ipairs(folders()) do kept[#kept + 1] = core.realpath(path) end
  return kept, hidden
end

-- A lane for each device; whoever is free takes the next sample.
local function open_lanes(devices, count, options, on_message, on_lost)
  local lanes, share = {}, core.available_memory() * MEMORY_SHARE / count
  for i = 1, count do
    local name = devices[i]
    lanes[i] = { device = name, folder = files.temporary(), own = files.temporary(),
      lane = lane.new { seconds = SAMPLE_S, memory = share, on_message = on_message,
      on_lost = on_lost } }
    lanes[i].options = { device = name, db = options.db, timeout = options.timeout,
      trust = options.trust, against = core.json_array(options.against) }
  end
  local kept, hidden = closed(options, lanes)
  for _, one in ipairs(lanes) do
    one.agent = { folder = files.join(core.realpath(one.own), "agent"), kept = kept,
      hidden = hidden, writes = options.writes, memory = share * AGENT_SHARE }
  end
  return lanes
end

local function close_lanes(lanes)
  for _, one in ipairs(lanes) do
    one.lane:drop()
    files.remove(one.folder)
    files.remove(one.own)
  end
end

local function hand_out(lanes, waiting)
  for _, one in ipairs(lanes) do
    if one.lane:count() == 0 and #waiting > 0 then
      local sample = table.remove(waiting, 1)
      files.empty(one.folder)
      one.lane:add { sample = sample, line = core.json_encode { method = "eval/sample",
        params = sample, version = "", options = one.options, folder = one.folder,
        agent = one.agent } }
    end
  end
end

local function wait(lanes)
  local list, wants, who, patience = {}, {}, {}, -1
  for _, one in ipairs(lanes) do
    if one.lane.peer then
      list[#list + 1], wants[#wants + 1] = one.lane.peer.channel, one.lane.peer:wants(true)
      who[#list] = one.lane
    end
    local left = one.lane:left()
    if left and (patience < 0 or left < patience) then patience = left end
  end
  local ready = core.poll(list, wants, patience)
  for i, one in pairs(who) do one:step(ready[i]) end
  for _, one in ipairs(lanes) do one.lane:watch() end
end

--- Work at samples. Their states are added to a list as they end, those that this machine is to
-- blame for with `unscored`.
-- @tparam table options {db, timeout, trust, against = names, writes = list of paths that the
--   agent may change}
-- @tparam table devices names, one a lane
-- @tparam table states the list; what is in it already counts as done
-- @tparam table waiting samples, as perigee.eval takes them
-- @treturn string|nil why it could not go on
function evaluation.run(options, devices, states, waiting)
  local total, problem = #states + #waiting, nil
  local line = progress.new(true)
  local function lost(call, reason)
    call.sample.state.unscored = reason
    states[#states + 1] = call.sample.state
  end
  local lanes = open_lanes(devices, math.min(#devices, #waiting), options, function(_, message)
    if message.progress then
      return line:say(("%d of %d samples; %s"):format(#states, total, message.progress))
    end
    if message.result then
      states[#states + 1] = message.result
    else
      problem = message.failure.message
    end
  end, lost)
  core.catch_interrupt()
  while #states < total and not problem and not core.interrupted() do
    hand_out(lanes, waiting)
    wait(lanes)
  end
  line:clear()
  close_lanes(lanes)
  return problem
end

return evaluation
