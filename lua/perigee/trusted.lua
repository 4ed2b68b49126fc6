--- The Lua side of a trusted runner (host/bind/expert.c): loads an expert's file and has it prepare
-- for the buffers of a case. The file returns a function:
--
--    return function(run)
--      -- run.params   the task's parameters
--      -- run.stream   the stream that everything goes to, an integer
--      -- run.sets     list of {name = device address} of each set; run.buffers[name] = {dtype,
--      --              shape, bytes}
--      -- run.memory   bytes that the device has; run.gpu its name, run.device its number
--      -- run.options  what the implementation says as `with`
--      local handle = require "perigee.lib.cublas".handle(run.stream)
--      local function enqueue(io, set) handle:sgemm(...) end -- io = run.sets[set + 1]
--      return enqueue, { library = "cuBLAS", version = "13.0" }
--    end
--
-- Nothing that it makes is timed; `enqueue` is, once a sample, and must not wait for the device. A
-- third value, `finish(io, set)`, is for a library that allocates its results itself: it enqueues
-- the copy into the task's outputs, after the clock has stopped.
-- @module perigee.trusted

local core = require "perigee.core"
local errors = require "perigee.errors"

local trusted = {}

-- Addresses by name, for each set.
local function sets_of(request, given)
  local sets = {}
  for number, addresses in ipairs(given.sets) do
    local io = {}
    for i, buffer in ipairs(request.buffers) do io[buffer.name] = addresses[i] end
    sets[number] = io
  end
  return sets
end

local function run_of(request, given)
  local buffers = {}
  for _, buffer in ipairs(request.buffers) do buffers[buffer.name] = buffer end
  return { params = request.params, stream = given.stream, memory = given.memory,
    gpu = given.gpu, device = math.tointeger(tonumber(given.device:match "%d+$")),
    sets = sets_of(request, given), buffers = buffers, list = request.buffers,
    options = request.options or {} }
end

local function load_expert(request)
  local chunk, e = load(request.source, "@" .. request.name, "t")
  if not chunk then core.error("syntax", e, nil, request.name) end
  local make = chunk()
  if type(make) ~= "function" then
    core.error("invalid", ("an expert's file returns a function, this one a %s"):format(type(make)),
      "write: return function(run) ... return enqueue, { library = NAME, version = TEXT } end",
      request.name)
  end
  return make
end

local function prepare(request, given)
  local run = run_of(request, given)
  local enqueue, said, finish = load_expert(request)(run)
  if type(enqueue) ~= "function" or type(said) ~= "table" then
    core.error("invalid", "an expert gives back a function and what its library is",
      "return enqueue, { library = NAME, version = TEXT }", request.name)
  end
  local sets = run.sets
  return { call = function(set) enqueue(sets[set + 1], set) end,
    finish = finish and function(set) finish(sets[set + 1], set) end,
    said = { library = said.library, version = said.version, note = said.note } }
end

--- Load a module that takes long, ahead of need.
-- @tparam string name of one that has `warm`, and behind a colon what that gets
function trusted.warm(name)
  local module, what = name:match "^([^:]*):?(.*)$"
  require(module).warm(what)
end

--- Called by the runner. @tparam string request JSON {name, source, params, buffers, options}
-- @tparam string given JSON {device, gpu, stream, memory, sets = addresses}
-- @treturn string JSON of what the library says of itself
-- @treturn function called with the number of a set
-- @treturn function|nil the same, after the clock has stopped
-- @raise what the file raises, with its place; "environment" when a library is missing
function trusted.prepare(request, given)
  collectgarbage() -- plans and workspaces of the case before
  collectgarbage()
  request, given = core.json_decode(request), core.json_decode(given)
  local ok, made = errors.catch("invalid", prepare, request, given)
  if not ok then errors.again(made, request.name) end
  return core.json_encode(made.said), made.call, made.finish
end

return trusted
