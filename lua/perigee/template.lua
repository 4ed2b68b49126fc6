--- Texts of `perigee new`: tasks and validators to start from, which pass as they are.
-- @module perigee.template

local core = require "perigee.core"
local files = require "perigee.files"
local signature = require "perigee.signature"

local template = {}

-- Names that a kernel cannot have.
local KEYWORDS = {}
for word in ([[auto bool break case catch char class const constexpr continue default delete do
  double else enum explicit export extern false float for friend goto half if inline int long main
  mutable namespace new operator private protected public register return short signed sizeof static
  struct switch template this throw true try typedef typename union unsigned using virtual void
  volatile while]]):gmatch("%a+") do
  KEYWORDS[word] = true
end

-- Names that Lua needs brackets for.
local RESERVED = {}
for word in ("and break do else elseif end false for function goto if in local nil not or repeat "
  .. "return then true until while"):gmatch("%a+") do
  RESERVED[word] = true
end

local function key(name)
  return RESERVED[name] and ('["%s"]'):format(name) or name
end

local function of_p(name)
  return RESERVED[name] and ('p["%s"]'):format(name) or "p." .. name
end

-- "vector/two-norm" -> "two_norm"; "demo/double" -> "double_kernel"
local function identifier(name)
  local word = name:match("[^/]*$"):gsub("[^%w_]", "_")
  return KEYWORDS[word] and word .. "_kernel" or word
end

-- "$name" in a text.
local function fill(text, values)
  return (text:gsub("%$(%a+)", values))
end

-- ---- a task of its own ----

local TASK = [=[
-- $name: say here what this task is for. tasks/README.md of perigee explains every field.
local pg = require "perigee"

return pg.task {
  name = "$name",
  doc = [[
y = 2 x.

What a kernel must compute, for someone who has never seen it: `perigee describe` prints it.]],

  -- default: on a GPU; check: what `perigee check` judges, in a row; sim: on the simulator.
  params = {
    n = { default = 1 << 22, check = { 1, 255, 1000 }, sim = 1000, min = 1, max = 1 << 30,
      doc = "number of elements" },
  },

  -- Read-only for a kernel. Randomness comes from rng, so that a seed repeats a run.
  inputs = function(p, rng) return { x = rng:array("f32", p.n, { dist = "normal" }) } end,
  -- Full of garbage before every run. What a kernel reads and writes goes into `state`.
  outputs = function(p) return { y = pg.spec("f32", p.n) } end,

  -- The contract: arguments are the buffers and parameters of these names.
  kernel = "void $kernel(const float* x, float* y, int n)",
  launch = function(p) return { grid = (p.n + 255) // 256, block = 256 } end,

  -- What must come out. Operators work on whole arrays, in float64.
  reference = function(_, io) return { y = 2 * io.x } end,
  validate = { "close", ops = 1 }, -- equal within one rounding

  -- What any kernel must move and compute at least, for GB/s.
  work = function(p) return { bytes = 8 * p.n, flops = p.n, items = p.n } end,

  -- Paths are relative to the folder that contains tasks/. Others are compared with the first.
  impls = {
    naive = { "cuda", "kernels/$name.cu", doc = "one element a thread" },
  },
}
]=]

local KERNEL = [[
// $name: y = 2 x, one element a thread.

extern "C" __global__ void $kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2 * x[i];
}
]]

--- A task and its kernel. @treturn table list of {path, text}
function template.task(name)
  local values = { name = name, kernel = identifier(name) }
  return { { path = ("tasks/%s.lua"):format(name), text = fill(TASK, values) },
    { path = ("kernels/%s.cu"):format(name), text = fill(KERNEL, values) } }
end

-- ---- a task for a kernel that is there ----

local FOR_KERNEL = [=[
-- $name: made from $file. tasks/README.md of perigee explains every field.
local pg = require "perigee"

return pg.task {
  name = "$name",
  doc = "What $kernel computes: write it here.",

  -- default: on a GPU; check: what `perigee check` judges, in a row; sim: on the simulator.
  params = {
$params
  },

  -- Every buffer has $size elements: correct the shapes. What is only read; random from a seed.
  inputs = function(p, rng)
    return {
$inputs
    }
  end,
$written
  kernel = [[$signature]],
  launch = function(p) return { grid = ($extent + 255) // 256, block = 256 } end,

  -- Until this returns what must come out, by name, and validate is { "close", ops = 1 } or
  -- another of validators/README.md, all that is judged is that every element was written.
  reference = function() return {} end,
  validate = function(ctx)
    for name in pairs(ctx.outputs) do
      if ctx:unwritten(name) > 0 then
        return { ok = false, verdict = "unwritten_output", reason = name .. ": wrong shape?" }
      end
    end
    return { ok = true, facts = { compared = "nothing yet" } }
  end,

  impls = {
    naive = { "cuda", "$file" },
  },
}
]=]

local OUTPUTS = [[
  -- What the kernel only writes: full of garbage before every run.
  outputs = function(p)
    return {
%s
    }
  end,
]]

local STATE = [[
  -- What it reads and writes: reset, untimed, before every run.
  state = function(p)
    return {
%s
    }
  end,
]]

-- The declaration of the first kernel that is no template, and whether it is extern "C".
local function first_kernel(source, path)
  local text = source:gsub("/%*.-%*/", " "):gsub("//[^\n]*", " ")
  local at = 1
  while true do
    local from, to = text:find("%f[%w_]__global__%f[^%w_]", at)
    if not from then
      core.error("not_found", ("no kernel in '%s'"):format(path),
        "expected __global__ void name(...), which is no template", path)
    end
    local rest = text:sub(to + 1):gsub("__launch_bounds__%s*%b()", " ")
    local head, list = rest:match("^([^(){};]*)(%b())")
    local before = text:sub(1, from - 1):match("[^;{}]*$")
    if head and not before:find("template", 1, true) then
      local declared = (head .. list):gsub("%s+", " "):gsub("^ ", "")
      return declared, text:sub(to + 1)
    end
    at = to + 1
  end
end

local SIZES = { n = true, N = true, size = true, count = true, length = true, len = true }

-- Whether the kernel's text reads an element that it also writes: an atomic, or += and the like.
local function accumulates(body, name)
  return body:find("atomic%w+%s*%(%s*&?%s*" .. name .. "%f[^%w_]") ~= nil
    or body:find("%f[%w_]" .. name .. "%s*%b[]%s*[%+%-%*/|&^]=") ~= nil
end

local function buffer_text(param, size, body)
  local dtype = param.dtype or "u8"
  if param.const then
    local how = (dtype == "bool" or dtype:match("^[iu]%d"))
      and (", { dist = \"integer\", first = 0, last = %d }"):format(dtype == "bool" and 1 or 100)
    return "inputs", ('      %s = rng:array("%s", %s%s),'):format(key(param.name), dtype,
      of_p(size), how or "")
  end
  return accumulates(body, param.name) and "state" or "outputs",
    ('      %s = pg.spec("%s", %s),'):format(key(param.name), dtype, of_p(size))
end

-- A kernel that is not told the size gets whole blocks.
local SIZE = "    %s = { default = 1 << 22, check = { 1, 255, 1000 }, sim = 1000, min = 1 },"
local WHOLE = "    %s = { default = 1 << 22, check = { 256, 1024 }, sim = 1024, min = 256 },"

local function param_text(param, is_size)
  if is_size then return SIZE:format(key(param.name)) end
  local value = param.dtype == "bool" and "false" or param.dtype:match("^b?f%d") and "1.0" or "1"
  return ("    %s = { default = %s },"):format(key(param.name), value)
end

local function size_of(parsed)
  local first
  for _, param in ipairs(parsed.params) do
    local whole = not param.pointer and param.dtype and param.dtype:match("^[iu]%d")
    if whole and SIZES[param.name] then return param.name end
    first = first or (whole and param.name)
  end
  return first
end

local function check_types(parsed, path)
  local pointers = 0
  for _, param in ipairs(parsed.params) do
    if param.pointer then pointers = pointers + 1 end
    if param.pointer and not param.dtype and param.type ~= "void" then
      core.error("unsupported", ("kernel %s: '%s' points to %s"):format(parsed.name, param.name,
        param.type), "a struct is declared by pg.struct: begin with perigee new task NAME", path)
    end
  end
  if pointers == 0 then
    core.error("unsupported", ("kernel %s has no buffer"):format(parsed.name), nil, path)
  end
end

local function joined(lines, form)
  if #lines == 0 then return "" end
  return form:format(table.concat(lines, "\n"))
end

--- A task for a kernel of the user's own. @treturn table list of one {path, text}
-- @tparam string name
-- @tparam string path of the .cu file
-- @raise "not_found" when there is no kernel, "unsupported" for one that takes structs
function template.task_of_kernel(name, path)
  files.find(path, { "." })
  local declared, body = first_kernel(files.read(path, 16 << 20), path)
  local parsed = signature.parse(declared, path)
  check_types(parsed, path)
  local size = size_of(parsed)
  local lists = { inputs = {}, outputs = {}, state = {} }
  local params = {}
  if not size then
    size = "n"
    params[1] = WHOLE:format("n")
  end
  for _, param in ipairs(parsed.params) do
    if param.pointer then
      local role, text = buffer_text(param, size, body)
      table.insert(lists[role], text)
    else
      params[#params + 1] = param_text(param, param.name == size)
    end
  end
  local values = {
    name = name, file = path, kernel = parsed.name, size = size, signature = declared,
    extent = of_p(size),
    params = table.concat(params, "\n"), inputs = table.concat(lists.inputs, "\n"),
    written = joined(lists.outputs, OUTPUTS) .. joined(lists.state, STATE),
  }
  local text = fill(FOR_KERNEL, values)
  if #lists.inputs == 0 then text = text:gsub("\n  %-%- Every buffer.-\n  end,\n", "\n") end
  return { { path = ("tasks/%s.lua"):format(name), text = text } }
end

-- ---- a validator ----

local VALIDATOR = [[
-- $name: say here what it accepts. A task names it: validate = "$name".
-- It runs in the judge, on arrays that no candidate can reach. validators/README.md has the rest.

return function(ctx)
  local checks = {}
  for i, target in ipairs(ctx:targets()) do -- every buffer that has an expected value
    checks[i] = ctx:compare(target) -- exactly equal; ctx:compare(target, { rtol = 1e-6 }) is not
  end
  return ctx:result(checks) -- the first check that fails decides
end
]]

--- A validator. @treturn table list of one {path, text}
function template.validator(name)
  return { { path = ("validators/%s.lua"):format(name), text = fill(VALIDATOR, { name = name }) } }
end

return template
