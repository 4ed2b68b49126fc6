--- What a record is like that comes from a file, where anybody may have written it: the fields that
-- programs read, each with its type. Further ones pass.
-- @module perigee.record_shape

local schema = require "perigee.serve.schema"

local shape = {}

local TEXT, NUMBER, INTEGER = { type = "string" }, { type = "number" }, { type = "integer" }
local FLAG = { type = "boolean" }

local function object(properties, others, required)
  return { type = "object", properties = properties, additionalProperties = others,
    required = required }
end

local function list_of(items)
  return { type = "array", items = items }
end

local SCALAR = { type = { "number", "string", "boolean" } }
local SCALARS = object(nil, SCALAR)

local FINDING = object { kind = TEXT, text = TEXT, severity = TEXT, where = TEXT, kernel = TEXT,
  file = TEXT, line = INTEGER, located = FLAG, block = list_of(INTEGER), thread = list_of(INTEGER) }
local CHECK = object { name = TEXT, ok = FLAG, detail = TEXT, elements = list_of(object {
  index = TEXT, expected = SCALAR, got = SCALAR }) } -- of a validator, which may leave out a name
local KERNEL = object({ name = TEXT, registers = INTEGER, local_bytes = INTEGER,
  shared_bytes = INTEGER, max_threads = INTEGER }, nil, { "name" })

local RECORD = object {
  task = TEXT, task_file = TEXT, cell = TEXT, impl = TEXT, lang = TEXT, kind = TEXT, tool = TEXT,
  verdict = TEXT, reason = TEXT, hint = TEXT, failed_at = TEXT, compile_log = TEXT, dumped = TEXT,
  not_dumped = TEXT,
  device = TEXT, gpu = TEXT, at = TEXT, seed = INTEGER, input_seed = INTEGER, cases = INTEGER,
  source = TEXT, source_sha = TEXT, ptx_sha = TEXT, committed_ptx = TEXT,
  compile_ms = NUMBER, sim_wall_us = NUMBER, export_us = NUMBER,
  params = SCALARS, knobs = SCALARS, set = object(nil, { type = { "number", "string", "boolean",
    "array" } }),
  sources = list_of(object { name = TEXT, sha = TEXT }), source_texts = object(nil, TEXT),
  options = list_of(TEXT), checked_by = list_of(TEXT), sandbox = list_of(TEXT),
  samples_us = list_of(NUMBER), versions = object(nil, TEXT), env = object(nil, NUMBER),
  schedule = object { seed = INTEGER, workers = INTEGER },
  plan = list_of { type = "object" }, findings = list_of(FINDING), checks = list_of(CHECK),
  kernels = list_of(KERNEL), facts = { type = "object" },
  failed_cases = object({ failed = INTEGER, tried = INTEGER, of = INTEGER, pattern = TEXT }, nil,
    { "failed", "tried", "of" }),
  audit = object { facts = object(nil, object { count = INTEGER, where = TEXT, text = TEXT }) },
  time = object { median_us = NUMBER, ci95_us = list_of(NUMBER), samples = INTEGER,
    slices = list_of(INTEGER), method = TEXT },
  counters = object(nil, { type = { "number", "boolean" } }),
  efficiency = object { bandwidth = NUMBER, compute = NUMBER, of_limit = NUMBER, limit = TEXT },
  work = object(nil, NUMBER), tune = object { file = TEXT, final = FLAG, note = TEXT },
}
RECORD.required = { "task", "verdict" }

local function is_positive(value)
  return type(value) == "number" and value > 0 and value < math.huge
end

-- Times that no clock gives.
local function problem_of_times(rec)
  if rec.time and not is_positive(rec.time.median_us) then
    return "time.median_us: expected a number > 0, got " .. tostring(rec.time.median_us)
  end
  local ci = rec.time and (rec.time.ci95_us or {})
  if ci and not (is_positive(ci[1]) and is_positive(ci[2])) then
    return "time.ci95_us: expected two numbers > 0"
  end
  for i, us in ipairs(rec.samples_us or {}) do
    if not is_positive(us) then
      return ("samples_us[%d]: expected a number > 0, got %s"):format(i - 1, tostring(us))
    end
  end
  return nil
end

--- What is wrong with a record, in words; nil when nothing is.
-- @param rec a decoded value of JSON
function shape.problem(rec)
  local problem = schema.check(rec, RECORD, "record") or problem_of_times(rec)
  if problem then return problem end
  local counted = rec.counters and rec.counters.warp_instructions
  if counted and counted ~= 0 and not is_positive(counted) then
    return "counters.warp_instructions: expected a number >= 0, got " .. tostring(counted)
  end
  return nil
end

return shape
