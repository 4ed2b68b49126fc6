--- Options that several commands share.
-- @module perigee.cli.common

local core = require "perigee.core"
local catalogue = require "perigee.catalogue"
local device = require "perigee.device"
local dump = require "perigee.dump"
local judge = require "perigee.judge"
local knobs = require "perigee.knobs"
local params = require "perigee.params"
local progress = require "perigee.progress"

local common = {}

--- Converters of options' values: a number above 0, an integer above 0 (and at most `most`), a
-- seed.
function common.positive(name)
  return function(text)
    local value = tonumber(text)
    if value and value > 0 then return value end
    return nil, ("option '%s': expected a positive number, got '%s'"):format(name, text)
  end
end

function common.count(name, most)
  return function(text)
    local value = math.tointeger(tonumber(text))
    if value and value > 0 and value <= (most or math.maxinteger) then return value end
    return nil, ("option '%s': expected a positive integer%s, got '%s'"):format(name,
      most and (" up to %d"):format(most) or "", text)
  end
end

function common.seed(text)
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
  parser:option("--set", "set a parameter of the task; several values (n=1k,4k or n=2^10..2^20*4) "
    .. "are run one after the other"):argname("NAME=VALUE"):count("*")
  parser:option("--knob", "choose the value of a knob (see perigee describe)")
    :argname("NAME=VALUE"):count("*")
  parser:option("--seed",
    "base seed (default: a fresh one, said in the record)"):argname("N"):convert(common.seed)
  common.timeout(parser)
  parser:option("--budget", "seconds of timing for each implementation"):argname("S")
    :default(budget):convert(common.positive("--budget"))
  parser:option("--method", "how to time (default: as the task says)")
    :choices { "cold", "hot", "batch", "graph" }
  parser:option("--dump", "write inputs, outputs and expected values of failing cases as .npy")
    :argname("FOLDER")
  parser:flag("--json", "one JSON object a line on standard output")
end

--- The limit of commands that run kernels.
function common.timeout(parser)
  parser:option("--timeout", "seconds a kernel may run, and, above 60, a candidate may compile")
    :argname("S"):default("20"):convert(common.positive("--timeout"))
end

--- The option of commands that compile candidates.
function common.trust(parser)
  parser:flag("--trust", "compile a candidate in Rust or Triton also where this system cannot "
    .. "confine what runs meanwhile")
end

--- "a,b" lists, given once or several times, as one list without repetitions; nil when not given.
-- @raise "invalid" when the option was given and names nothing: that must not mean everything
function common.names(given, option)
  local list, seen = {}, {}
  for _, text in ipairs(given or {}) do
    for name in text:gmatch("[^,%s]+") do
      if not seen[name] then list[#list + 1] = name end
      seen[name] = true
    end
  end
  if #list > 0 then return list end
  if given and #given > 0 then
    core.error("invalid", ("%s '%s' names nothing"):format(option, given[1]),
      ("write %s A,B or leave it out"):format(option))
  end
  return nil
end

--- name=value texts as a table.
-- @treturn table,table name -> text, and the names in the order given
-- @raise "invalid" when a parameter is set twice
function common.sets(given)
  local set, order = {}, {}
  for _, text in ipairs(given or {}) do
    local name, value = params.parse_set(text)
    if set[name] and set[name] ~= value then
      core.error("invalid", ("--set gives %s two values: %s and %s"):format(name, set[name], value),
        ("several values are one list: --set %s=%s,%s"):format(name, set[name], value))
    end
    if set[name] == nil then order[#order + 1] = name end
    set[name] = value
  end
  return set, order
end

--- NAME=VALUE texts of --knob as a table.
-- @raise "invalid" when a knob is chosen twice
function common.knobs(given)
  local choice = {}
  for _, text in ipairs(given or {}) do
    local name, value = knobs.parse(text)
    if choice[name] and choice[name] ~= value then
      core.error("invalid", ("--knob gives %s two values: %s and %s"):format(name, choice[name],
        value), "perigee tune tries several")
    end
    choice[name] = value
  end
  return choice
end

--- The one task called `name`, or the only one of a task file.
-- @raise "invalid" when there are several
function common.one_task(name)
  local list = catalogue.find(name)
  if #list ~= 1 then
    core.error("invalid", ("%s holds %d tasks"):format(name, #list),
      "name one of them: see perigee list")
  end
  return list[1]
end

--- A judge's session and a progress line for parsed options.
function common.session(options)
  if options.dump then dump.prepare(options.dump) end
  if options.json then io.stdout:setvbuf "no" end -- each object is one write: a kill halves none
  local line = progress.new(true)
  local session = judge.session {
    device = device.spec(options.device), timeout = options.timeout, budget = options.budget,
    method = options.method, seed = options.seed, lines = options.annotate,
    dump = options.dump, trust = options.trust,
    progress = function(text) line:say(text) end,
  }
  return session, line
end

--- Write a line on standard output at once.
function common.out(text)
  io.stdout:write(text .. "\n")
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
