--- The tools: names, schemas, limits, and where each runs. Declarations only: the server lists them
-- without loading what does the work.
-- @module perigee.serve.tools

local core = require "perigee.core"

local tools = {}

--- Limits that the descriptions name.
tools.SOURCE_MOST = 1000000 -- characters
tools.FILES_MOST = 32

local function list(...) return core.json_array { ... } end

-- ---- pieces of schemas ----

local function text(description, more)
  local one = { type = "string", description = description }
  for name, value in pairs(more or {}) do one[name] = value end
  return one
end

local EXACT = 1 << 53 -- no integer of JSON beyond is sure to arrive as it was sent

local function whole(description, minimum, maximum, default)
  return { type = "integer", description = description, minimum = minimum,
    maximum = maximum or EXACT, default = default }
end

local function array_of(items, description)
  return { type = "array", items = items, description = description }
end

local function object(properties, required, description)
  return { type = "object", properties = properties, required = list(table.unpack(required or {})),
    description = description }
end

local STRING, NUMBER, INTEGER = { type = "string" }, { type = "number" }, { type = "integer" }
local BOOLEAN, LINES = { type = "boolean" }, { type = "array", items = { type = "string" } }
local COUNTS = { type = "object", additionalProperties = { type = "number" } }

local TASK = text("name of a task, see list_tasks", { minLength = 1, maxLength = 200,
  examples = list("vector/saxpy") })
local SCALAR = { type = list("number", "string", "boolean") }
local SET = { type = "object", maxProperties = 32, additionalProperties = SCALAR,
  description = "parameters of the task by name; the default is what the task itself checks and "
    .. "times", examples = list { n = 1000000 } }

local function named(name, description)
  return text(description, { maxLength = 60, pattern = "^[A-Za-z0-9][A-Za-z0-9_.+-]*$",
    ["x-pattern"] = "^[%w][%w_.+-]*$", examples = list(name),
    ["x-form"] = "a name of letters, digits, '_', '.', '+', '-', of which a letter or digit is the "
      .. "first" })
end

-- What every tool takes that runs a candidate.
local function candidate(more)
  local properties = {
    task = TASK,
    source = text("the kernel's whole source; its entry point has the name and the parameters of "
      .. "the contract", { minLength = 1, maxLength = tools.SOURCE_MOST }),
    language = text("what source is written in", { enum = list("cuda", "rust", "triton", "ptx"),
      default = "cuda" }),
    files = { type = "object", maxProperties = tools.FILES_MOST, additionalProperties = {
      type = "string", maxLength = tools.SOURCE_MOST },
      description = "instead of source: several files by name, for example main.cu and plan.lua "
        .. "(its own launch, scratch, macros, knobs)" },
    attempt = whole("instead of source: what was sent with an earlier attempt, by its number", 1),
    set = SET,
    knobs = { type = "object", maxProperties = 32, additionalProperties = SCALAR,
      description = "values of knobs that plan.lua declares" },
    name = named("tiled-2", "what to call this attempt in tables; not as an implementation of the "
      .. "task is called"),
  }
  for name, value in pairs(more or {}) do properties[name] = value end
  local one = object(properties, { "task" })
  one.additionalProperties = false
  return one
end

-- What is final is so at the task's own sizes: one that is right at n = 1 alone is not right.
local function final(one)
  one.properties.set = nil
  one["x-why"] = { set = "a submission is judged at the task's own sizes; check and time take set" }
  return one
end

local SAXPY = 'extern "C" __global__ void saxpy(const float* x, const float* y, float* z, float a, '
  .. "int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) z[i] = a * x[i] + y[i]; }"

local function arguments(properties, required)
  local one = object(properties, required)
  one.additionalProperties = false
  return one
end

local KERNEL = object({ name = STRING, registers = text("a thread; known on a GPU only",
  { type = "integer" }), shared_bytes = INTEGER, max_threads = INTEGER,
  local_bytes = text("of each thread: arrays that are indexed at run time, and spilled registers",
    { type = "integer" }) }, { "name" })
local NOTE = object({ severity = STRING, text = STRING, where = STRING }, { "text" })
local MESSAGE = object({ severity = STRING, line = INTEGER, file = STRING, text = STRING },
  { "severity", "text" })
local ELEMENT = object({ index = STRING, expected = SCALAR, got = SCALAR }, { "index" })
local TIME = object({ median_us = NUMBER, ci95_us = array_of(NUMBER), samples = INTEGER,
  method = STRING }, { "median_us" })

-- What is known of one evaluated candidate.
local function outcome(more)
  local properties = {
    attempt = whole("its number in the store: for diff, history, and to send it again"),
    task = STRING, verdict = text("passed, or what went wrong"), passed = BOOLEAN,
    set = text("parameters of the task that are not as the task itself has them",
      { type = "object" }), reason = STRING, hint = STRING,
    failing = object({ case = STRING, pattern = STRING, failed = INTEGER, tried = INTEGER,
      buffer = STRING, elements = array_of(ELEMENT) }, {},
      "where it failed: the case, what failing cases have in common, the first wrong elements"),
    reports = array_of(STRING, "memory faults and races, with source lines and the other access"),
    log = text("what the compiler said, its end cut off"),
    cases = whole("cases that were run"), checks = LINES, findings = array_of(NOTE),
    kernels = array_of(KERNEL), device = STRING, gpu = STRING, warning = STRING,
    detail = text("the whole record, long texts cut off, when detail was asked for",
      { type = "object" }),
  }
  for name, value in pairs(more or {}) do properties[name] = value end
  return object(properties, { "task", "verdict", "passed", "device" })
end

local RIVAL = object({ name = STRING, verdict = STRING, reason = STRING, cost = NUMBER,
  cost_text = STRING,
  speedup = NUMBER, ci95 = array_of(NUMBER) }, { "name", "verdict" },
  "speedup: how many times faster than this the candidate is")

local function timed(more)
  local properties = {
    time = TIME, unit = text("of cost: us of the GPU's clock, or warp_instructions where there is "
      .. "only a simulator"), cost = NUMBER,
    rivals = array_of(RIVAL, "naive, the best attempt so far, expert: run interleaved with it"),
    of_limit = { type = "number", description = "share of what the GPU can do, 0 to 1" },
    limit = STRING, bandwidth_gb_s = NUMBER, compute_gflop_s = NUMBER,
  }
  for name, value in pairs(more or {}) do properties[name] = value end
  return outcome(properties)
end

local DETAIL = { type = "boolean", default = false,
  description = "true: the whole record as JSON, too" }
local COUNTERS = array_of(object({ name = STRING, value = STRING, suggests = STRING },
  { "name", "value" }))
local LIMIT = whole("how many at most", 1, 100, 20)
local ROW = object({ attempt = INTEGER, at = STRING, task = STRING, name = STRING, kind = STRING,
  verdict = STRING, cost = NUMBER, unit = STRING, reason = STRING, status = STRING,
  params = { type = "object" }, set = { type = "object" }, device = STRING, session = STRING },
  { "attempt", "verdict" })

-- ---- the tools, in the order in which they are listed ----

local READ = { readOnlyHint = true, openWorldHint = false }
local function adds() return { readOnlyHint = false, destructiveHint = false,
  idempotentHint = false, openWorldHint = false } end

tools.LIST = {
  {
    name = "list_tasks", title = "List tasks", lane = "desk", module = "perigee.serve.catalogue",
    description = "Tasks that kernels can be written for: names and what each computes. Narrow it "
      .. "by category or by a word; page with offset.",
    inputSchema = arguments {
      category = text("only this category", { maxLength = 60, examples = list("reduce") }),
      text = text("only tasks whose name or summary has this word", { maxLength = 60 }),
      limit = LIMIT, offset = whole("how many to pass over", 0, 1000000, 0),
    },
    outputSchema = object({ total = INTEGER, tasks = array_of(object({ name = STRING,
      summary = STRING, category = STRING, level = STRING }, { "name", "summary" })),
      next_offset = INTEGER, not_loaded = LINES }, { "total", "tasks" }),
    annotations = READ,
  },
  {
    name = "describe_task", title = "Describe a task", lane = "desk",
    module = "perigee.serve.catalogue",
    description = "Everything needed to write a candidate: what it computes, the signature, "
      .. "buffers, launch, sizes that are checked and timed, tolerances, the work that must be "
      .. "done, and a file to start from. `reference` adds the source of one implementation "
      .. "that comes with the task.",
    inputSchema = arguments({ task = TASK, set = SET,
      detail = { type = "boolean", default = false,
        description = "true: cells, sweeps, every range and knob as JSON, too" },
      reference = text("name of an implementation whose source to show",
        { maxLength = 60, examples = list("naive") }) }, { "task" }),
    outputSchema = object({ task = STRING, summary = STRING, contract = STRING, skeleton = STRING,
      signatures = LINES, buffers = array_of { type = "object" },
      params = array_of { type = "object" }, launch = LINES,
      checks = { type = "object" }, work = COUNTS, implementations = LINES,
      reference = object({ name = STRING, language = STRING, source = STRING,
        files = { type = "object", additionalProperties = STRING,
          description = "files that it includes" } }, { "name", "source" }),
      detail = { type = "object" } },
      { "task", "summary", "contract", "skeleton", "signatures" }),
    annotations = READ,
  },
  {
    name = "compile", title = "Compile a candidate", lane = "bench",
    module = "perigee.serve.candidates",
    description = "Compiles and loads a candidate without running it: errors and warnings with "
      .. "line numbers, registers (on a GPU), shared and local memory, what its PTX says of it. "
      .. "Nothing is recorded. Candidates run in a confined process; files of this machine cannot "
      .. "be included.",
    inputSchema = candidate(),
    outputSchema = object({ task = STRING, compiles = BOOLEAN, verdict = STRING, reason = STRING,
      hint = STRING, messages = array_of(MESSAGE), log = STRING, kernels = array_of(KERNEL),
      findings = array_of(NOTE), techniques = LINES, compile_ms = NUMBER, compiler = STRING,
      device = STRING }, { "task", "compiles", "device" }),
    annotations = READ, example = { task = "vector/saxpy", source = SAXPY },
  },
  {
    name = "check", title = "Check a candidate", lane = "bench",
    module = "perigee.serve.candidates",
    description = "Judges whether a candidate is right: every check size with fresh inputs, "
      .. "memory and race checks. A failure says which elements are wrong, what was expected, "
      .. "what came, what the wrong ones have in common, and the source line of a fault. "
      .. "Recorded as an attempt. Not timed: see time.",
    inputSchema = candidate { detail = DETAIL }, outputSchema = outcome(), annotations = adds(),
    example = { task = "vector/saxpy", source = SAXPY },
  },
  {
    name = "time", title = "Time a candidate", lane = "bench", module = "perigee.serve.candidates",
    description = "Checks a candidate, then measures it beside naive, the best attempt so far and "
      .. "expert on the same inputs, interleaved: speedups with 95% intervals and the share of the "
      .. "machine's limit. Where there is no GPU it counts warp instructions on the simulator "
      .. "instead, and says so.",
    inputSchema = candidate { detail = DETAIL, seconds = { type = "number", minimum = 0.05,
      maximum = 10, default = 0.3, description = "of timing for each of them" } },
    outputSchema = timed(), annotations = adds(),
    example = { task = "vector/saxpy", source = SAXPY },
  },
  {
    name = "profile", title = "Profile a candidate", lane = "bench",
    module = "perigee.serve.candidates",
    description = "Counts what a candidate does, on the simulator's model of a GPU: instructions, "
      .. "divergence, memory sectors, bank conflicts, atomic collisions, cache hits; each with a "
      .. "sentence on what it suggests, and the source lines that cost most. Where there is a GPU "
      .. "and ncu may be used, its own counters at the timed size, too.",
    inputSchema = candidate { detail = DETAIL, lines = whole("source lines to show", 0, 50, 8) },
    outputSchema = object({ task = STRING, verdict = STRING, passed = BOOLEAN, reason = STRING,
      hint = STRING, params = { type = "object" }, log = STRING, reports = LINES,
      counters = COUNTERS,
      lines = array_of(object({ file = STRING, line = INTEGER, text = STRING,
        instructions = INTEGER, share = NUMBER, sectors_per_request = NUMBER },
        { "line", "instructions" })),
      hardware = COUNTERS, no_hardware = STRING,
      device = STRING, detail = COUNTS }, { "task", "verdict", "passed", "device" }),
    annotations = READ, example = { task = "vector/saxpy", source = SAXPY },
  },
  {
    name = "diff", title = "Compare two attempts", lane = "desk", module = "perigee.serve.records",
    description = "Two attempts side by side: the lines of source that changed, what the PTX has "
      .. "and lacks, registers, counters, verdicts, and the change of the time with its 95% "
      .. "interval.",
    inputSchema = arguments({ a = whole("number of the earlier attempt", 1),
      b = whole("number of the later attempt", 1),
      lines = whole("lines of the source's difference at most", 0, 1000, 80) }, { "a", "b" }),
    outputSchema = object({ a = ROW, b = ROW, source = STRING, gained = LINES, lost = LINES,
      facts = LINES, time = object({ ratio = NUMBER, ci95 = array_of(NUMBER), unit = STRING,
        status = STRING }, { "status" }) }, { "a", "b", "source", "gained", "lost" }),
    annotations = READ, example = { a = 1, b = 2 },
  },
  {
    name = "submit", title = "Submit a candidate", lane = "bench",
    module = "perigee.serve.candidates",
    description = "Hands in the final candidate: checked and timed at the task's own sizes, with "
      .. "fresh inputs and more samples, recorded as final, with its place among all that is "
      .. "known. One that fails is recorded, too.",
    inputSchema = final(candidate { detail = DETAIL }),
    outputSchema = timed { recorded = BOOLEAN, rank = INTEGER, of = INTEGER },
    annotations = adds(), example = { task = "vector/saxpy", source = SAXPY },
  },
  {
    name = "history", title = "Past attempts", lane = "desk", module = "perigee.serve.records",
    description = "Attempts in their order, the newest last: verdict, cost, the reason of a "
      .. "failure in a line, and where one fell back to a slower way to become right.",
    inputSchema = arguments { task = TASK, limit = LIMIT,
      all = { type = "boolean", default = false,
        description = "true: of every session in the store, not of this one alone" } },
    outputSchema = object({ session = STRING, total = INTEGER, attempts = array_of(ROW) },
      { "total", "attempts" }),
    annotations = READ,
  },
  {
    name = "leaderboard", title = "Leaderboard of a task", lane = "desk",
    module = "perigee.serve.records",
    description = "The fastest right kernels of a task that the store knows, implementations that "
      .. "come with it included, one table for each size and kind of device.",
    inputSchema = arguments({ task = TASK, set = SET, limit = LIMIT }, { "task" }),
    outputSchema = object({ task = STRING, boards = array_of(object({ params = { type = "object" },
      device = STRING, unit = STRING, rows = array_of(object({ rank = INTEGER, name = STRING,
        attempt = INTEGER, kind = STRING, imported = BOOLEAN, session = STRING, cost = NUMBER,
        over_best = NUMBER, at = STRING }, { "rank", "name", "cost" })) },
      { "device", "unit", "rows" })) }, { "task", "boards" }),
    annotations = READ,
  },
}

local BY_NAME = {}
for _, one in ipairs(tools.LIST) do
  BY_NAME[one.name] = one
  one.inputSchema.examples = one.example and list(one.example) or nil
end

--- A tool by its name, or nil.
function tools.find(name)
  return BY_NAME[name]
end

--- Names in the order of the list.
function tools.names()
  local names = {}
  for i, one in ipairs(tools.LIST) do names[i] = one.name end
  return names
end

-- A schema without what only perigee.serve.schema reads.
local function public(value)
  if type(value) ~= "table" then return value end
  local copy = setmetatable({}, getmetatable(value))
  for name, item in pairs(value) do
    if type(name) ~= "string" or name:sub(1, 2) ~= "x-" then copy[name] = public(item) end
  end
  return copy
end

--- The list as clients see it.
function tools.shown()
  local shown = core.json_array {}
  for i, one in ipairs(tools.LIST) do
    shown[i] = { name = one.name, title = one.title, description = one.description,
      inputSchema = public(one.inputSchema), outputSchema = public(one.outputSchema),
      annotations = one.annotations }
  end
  return shown
end

return tools
