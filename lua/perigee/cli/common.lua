--- Options that several commands share.
-- @module perigee.cli.common

local device = require "perigee.device"
local judge = require "perigee.judge"
local params = require "perigee.params"
local progress = require "perigee.progress"

local common = {}

local function positive(name)
  return function(text)
    local value = tonumber(text)
    if value and value > 0 then return value end
    return nil, ("option '%s': expected a positive number, got '%s'"):format(name, text)
  end
end

local function seed(text)
  local value = math.tointeger(tonumber(text))
  if value and value >= 0 then return value end
  return nil, ("option '--seed': expected an integer >= 0, got '%s'"):format(text)
end

--- Options of a command that evaluates kernels.
-- @tparam string budget default of --budget
function common.evaluation(parser, budget)
  parser:option("--device",
    "cuda:N, sim, sim:check or sim:profile (default: the first GPU, else sim:check)")
    :argname("D"):default("auto"):show_default(false)
  parser:option("--set", "set a parameter of the task"):argname("NAME=VALUE"):count("*")
  parser:option("--seed",
    "base seed (default: a fresh one, said in the record)"):argname("N"):convert(seed)
  parser:option("--timeout", "seconds a kernel may run"):argname("S"):default("20")
    :convert(positive("--timeout"))
  parser:option("--budget", "seconds of timing for each implementation"):argname("S")
    :default(budget):convert(positive("--budget"))
  parser:option("--method", "how to time (default: as the task says)")
    :choices { "cold", "hot", "batch" }
  parser:flag("--json", "one JSON object a line on standard output")
end

--- "a,b" lists, given once or several times, as one list; nil when not given.
function common.names(given)
  local list = {}
  for _, text in ipairs(given or {}) do
    for name in text:gmatch("[^,]+") do list[#list + 1] = name end
  end
  return #list > 0 and list or nil
end

--- name=value texts as a table.
function common.sets(given)
  local set = {}
  for _, text in ipairs(given or {}) do
    local name, value = params.parse_set(text)
    set[name] = value
  end
  return set
end

--- A judge's session and a progress line for parsed options.
function common.session(options)
  local line = progress.new(true)
  local session = judge.session {
    device = device.spec(options.device), timeout = options.timeout, budget = options.budget,
    method = options.method, seed = options.seed, lines = options.annotate, progress = function(text) line:say(text) end,
  }
  return session, line
end

--- Write a line on standard output at once.
function common.out(text)
  io.stdout:write(text, "\n")
  io.stdout:flush()
end

--- The exit status of several verdicts: a failed one beats a lack of the machine.
function common.worse(a, b)
  if a == 1 or b == 1 then return 1 end
  return math.max(a, b)
end

--- The warning that an error in a file was passed over.
function common.warn(text)
  io.stderr:write("perigee: ", text, "\n")
end

return common
