--- Everything a stranger needs to write a candidate for a task, as a table: `perigee describe
-- --json`, and what describe_text prints.
-- @module perigee.describe

local core = require "perigee.core"
local buffers = require "perigee.buffers"
local case = require "perigee.case"
local errors = require "perigee.errors"
local explain = require "perigee.explain"
local facts = require "perigee.facts"
local families = require "perigee.families"
local files = require "perigee.files"
local flags = require "perigee.flags"
local params = require "perigee.params"
local plan = require "perigee.plan"
local seeds = require "perigee.seeds"
local skeleton = require "perigee.skeleton"
local symbolic = require "perigee.symbolic"
local timing = require "perigee.timing"
local validate = require "perigee.validate"

local describe = {}

local SAMPLES = 5 -- cases whose shapes are compared

-- Parameters and scalars of the kernels: what a shape may be named after.
local function named_values(task, p)
  local values = {}
  for _, list in ipairs { task:call("args", p) or {}, p } do
    for name, value in pairs(list) do
      if type(name) == "string" then values[name] = value end
    end
  end
  return values
end

-- Small cases show the buffers; their seed is of no use to anybody. The first is what the simulator
-- runs.
local function sample_cases(task, set)
  local cases = { case.make(task, task:resolve { purpose = "sim", set = set }, 1) }
  cases[1].values = named_values(task, cases[1].p)
  for index = 1, math.min(SAMPLES, params.check_count(task.params, set)) do
    local p = task:resolve { purpose = "check", index = index, set = set }
    cases[#cases + 1] = case.make(task, p, 1)
    cases[#cases].values = named_values(task, p)
  end
  return cases
end

--- A value in words: lists with commas, floats with 9 digits.
function describe.value(value)
  if type(value) == "table" then
    local parts = {}
    for i, item in ipairs(value) do parts[i] = describe.value(item) end
    return table.concat(parts, ", ")
  end
  if math.type(value) == "float" then return ("%.9g"):format(value) end
  return value == nil and "" or tostring(value)
end

--- "name = value, ..." in the order of names.
function describe.settings(options, p)
  local parts = {}
  for _, name in ipairs(params.names(options)) do
    local value = options[name]
    if type(value) == "function" then
      local ok, result = pcall(value, p)
      value = ok and result or "depends on the parameters"
    end
    parts[#parts + 1] = ("%s = %s"):format(name, describe.value(value))
  end
  return table.concat(parts, ", ")
end

-- ---- what is judged ----

-- What `close` would accept at a small size, found by judging the expected values themselves.
local function tolerances(one)
  local arrays = {}
  for _, name in ipairs(one:checked_names()) do
    arrays[name] = one:expected()[name]:cast(one.by_name[name].dtype)
  end
  local list = core.json_array {}
  for _, check in ipairs(validate.run(one, arrays, 0).checks) do
    local text = check.detail and check.detail:match("within ([^;]+)")
    if text then list[#list + 1] = { name = check.name, text = text } end
  end
  return list
end

local function validators_of(task, one)
  local list = core.json_array {}
  for i, entry in ipairs(validate.prepare(task)) do
    list[i] = { name = entry.name, options = describe.settings(entry.options, one.p) }
    if entry.name == "close" then
      local ok, found = errors.catch("invalid", tolerances, one)
      list[i].tolerances = ok and found or nil
    end
  end
  return list
end

-- ---- what the kernel gets ----

-- What a buffer holds when the plan starts.
local function contents_text(buffer)
  if buffer.role == "output" then return "garbage" end
  if buffer.role == "input" then return "data, read only" end
  if not buffer.fill then return "data" end
  return buffer.fill == 0 and "zeros" or ("bytes 0x%02X"):format(buffer.fill)
end

local function bytes_of(buffer, extents)
  if not extents then return nil end
  local count = 1
  for _, extent in ipairs(extents) do count = count * extent end
  return buffer.count > 0 and count * (buffer.bytes // buffer.count)
    or count * core.array(buffer.dtype, 1).nbytes
end

local function buffer_list(task, cases, p)
  local list = core.json_array {}
  for i, buffer in ipairs(cases[1].list) do
    local texts, extents = symbolic.shape(task.params, cases, i, named_values(task, p))
    list[i] = {
      name = buffer.name, role = buffer.role, dtype = buffer.dtype_name, shape = texts,
      extents = core.json_array(extents or buffer.shape), bytes = bytes_of(buffer, extents),
      before = contents_text(buffer), sim = buffers.text(buffer),
    }
  end
  return list
end

-- Scalar parameters of the kernels that the plan launches, each once, with their values.
local function scalar_list(task, signatures, p)
  local args, list, seen = task:call("args", p) or {}, core.json_array {}, {}
  for _, parsed in ipairs(signatures) do
    for _, param in ipairs(parsed.params) do
      if not param.pointer and not seen[param.name] then
        seen[param.name] = true
        local value = args[param.name]
        if value == nil then value = p[param.name] end
        list[#list + 1] = { name = param.name, type = param.type, value = value }
      end
    end
  end
  return list
end

-- A plan's step in a line; sizes of memsets are those of the buffers.
local function step_text(step, names)
  if step.launch then
    local text = ("%s<<<(%s), (%s)>>>"):format(step.launch, table.concat(step.grid, ", "),
      table.concat(step.block, ", ")):gsub(", 1, 1%)", ")"):gsub(", 1%)", ")")
    text = text:gsub("%((%d+)%)", "%1")
    if (step.shared or 0) > 0 then
      text = text .. (" with %d bytes of shared memory"):format(step.shared)
    end
    return step.cooperative and text .. ", cooperative" or text
  end
  if step.memset then
    return ("set %s to bytes 0x%02X"):format(names[step.memset] or "?", step.byte or 0)
  end
  if step.copy then
    return ("copy %s to %s"):format(names[step.copy[2]] or "?", names[step.copy[1]] or "?")
  end
  return "repeat until a flag is set"
end

-- The default plan's steps for parameters `p`, with the buffers of a small case.
local function plan_of(task, one, p)
  local steps = plan.build(task, { where = task.where }, p, one.list)
  local names, list = {}, core.json_array {}
  for _, buffer in ipairs(one.list) do names[buffer.index] = buffer.name end
  for i, step in ipairs(steps) do list[i] = step_text(step, names) end
  return list, plan.kernels(steps)
end

-- The signatures of the kernels that the default plan launches: what a candidate must define.
local function wanted(signatures, names)
  local list = {}
  for _, parsed in ipairs(signatures) do
    for _, name in ipairs(names) do
      if name == parsed.name then list[#list + 1] = parsed end
    end
  end
  return #list > 0 and list or signatures
end

-- Compulsory work at the default size, where it follows from the parameters alone.
local function work_of(task, p)
  local ok, work = errors.catch("invalid", task.call, task, "work", p, {}, {})
  return ok and work or nil
end

-- ---- the rest ----

local function param_list(task)
  local list = core.json_array {}
  for i, name in ipairs(params.names(task.params)) do
    local decl = task.params[name]
    list[i] = {
      name = name, type = decl.type, default = decl.default, check = decl.check, sim = decl.sim,
      range = params.range_text(decl), variant = decl.variant, doc = decl.doc,
      only = decl.only and params.only_text(decl.only) or nil,
    }
  end
  return list
end

local function impl_list(task)
  local list = core.json_array {}
  for i, impl in ipairs(task.impls) do
    list[i] = { name = impl.name, lang = impl[1] or impl.lang, file = impl[2] or impl.file,
      doc = impl.doc, only = impl.only and params.only_text(impl.only) or nil,
      knobs = impl.knobs, where = impl.where }
  end
  return list
end

local CANDIDATES = {
  "one file (.cu, .rs in Rust, .py in Triton, or .ptx) that is launched as above",
  "a folder with plan.lua: return { kernel =, launch = { grid =, block = } or steps, args =, "
    .. "scratch =, define =, include =, options =, knobs = }; numbers may be expressions of the "
    .. "parameters (tasks/README.md)",
  "in CUDA C++ by NVRTC: no headers of the host (<stdint.h>, <cmath>); printf, assert and "
    .. "mathematical functions are there without",
  'in Rust: #![no_std] #![feature(abi_ptx)] use gpu::*; #[unsafe(no_mangle)] pub unsafe extern '
    .. '"ptx-kernel" fn NAME(x: *const f32, n: i32) { let i = global_x(); if i < n as u32 { ... '
    .. '} } (kernels/README.md)',
  'in Triton: @triton.jit def NAME(x: "*fp32", n: "i32", BLOCK: tl.constexpr = 1024), parameters '
    .. 'by the names of the contract; LAUNCH = {"NAME": {"num_warps": 4, "grid": "ceil_div(n, '
    .. '1024)"}}',
}

-- What a candidate may be, in words.
local function candidate_forms(task)
  local own, list = task.own_layout, core.json_array { table.unpack(CANDIDATES) }
  if own then
    list[#list + 1] = ("own layout: steps under export =, untimed, may write %s from what the "
      .. "candidate kept"):format(type(own) == "table" and table.concat(own, ", ")
      or "the results")
  end
  list[#list + 1] = "compiler options: " .. flags.TEXT
  return list
end

-- Texts of require or forbid, each with what its facts say.
local function facts_of(task, field, p)
  local list = core.json_array {}
  for i, text in ipairs(task:facts_of(field, p)) do
    list[i] = { fact = text, text = facts.words(text) }
  end
  return list
end

local function named(list)
  local result = core.json_array {}
  for i, one in ipairs(list) do
    result[i] = { name = one.name, axis = one.axis, set = one.set, doc = one.doc }
  end
  return result
end

local function texts_of(signatures)
  local texts = core.json_array {}
  for i, parsed in ipairs(signatures) do texts[i] = parsed.text end
  return texts
end

-- Cases of the timed size that are not timed: "nonzeros = 1".
local function also_texts(task, p)
  local texts = {}
  for i, changes in ipairs(task.also) do texts[i] = describe.settings(changes, p) end
  return core.json_array(texts)
end

--- The description as a table.
-- @tparam table task
-- @tparam[opt] table set {name = value or text}: the contract of these parameters
function describe.table(task, set)
  local cases = sample_cases(task, set)
  local one, p = cases[1], task:resolve { purpose = "default", set = set }
  local method, batch = timing.method_of(task, p)
  local launch, kernels = plan_of(task, one, p)
  local signatures = wanted(one.signatures, kernels)
  local checks = params.check_count(task.params, set)
  local own, values = task.own_layout, families.of(one)
  return {
    name = task.name, category = task.category, level = task.level, doc = task.doc,
    file = files.shown(task.file or task.where or "?"),
    kernel = texts_of(signatures), other_kernels = texts_of(one.signatures),
    params = param_list(task), cells = named(task.cells), sweeps = named(task.sweeps),
    variants = core.json_array(task.variants),
    buffers = buffer_list(task, cases, p), scalars = scalar_list(task, signatures, p),
    launch = launch, default_at = task:brief(p, "default"),
    sim_at = task:brief(one.p, "sim"),
    checks = { sizes = checks, seeds = seeds.CHECK, families = core.json_array(values),
      also = also_texts(task, p), cases = checks * seeds.CHECK + #values + #task.also + 1 },
    require = facts_of(task, "require", p), forbid = facts_of(task, "forbid", p),
    validate = validators_of(task, one), work = work_of(task, p),
    time = { method = method, batch = batch, text = explain.METHODS[method] },
    own_layout = type(own) == "table" and core.json_array(own) or own or false,
    candidates = candidate_forms(task), impls = impl_list(task),
    skeleton = skeleton.text(one, signatures),
    check = ("perigee check %s FILE.cu"):format(task.name)
      .. (set and next(set) and " --set " .. describe.settings(set, p):gsub(" = ", "="):gsub(", ",
        " --set ") or ""),
  }
end

return describe
