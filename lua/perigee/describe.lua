--- Everything a stranger needs to write a candidate for a task, as a table (--json) and as text.
-- @module perigee.describe

local core = require "perigee.core"
local buffers = require "perigee.buffers"
local case = require "perigee.case"
local columns = require "perigee.columns"
local files = require "perigee.files"
local params = require "perigee.params"
local plan = require "perigee.plan"
local skeleton = require "perigee.skeleton"
local timing = require "perigee.timing"
local units = require "perigee.units"
local validate = require "perigee.validate"

local describe = {}

-- A small case shows the buffers; its seed is of no use to anybody.
local function sample_case(task)
  return case.make(task, task:resolve { purpose = "sim" }, 1)
end

local function value_text(value)
  if type(value) == "table" then
    local parts = {}
    for i, item in ipairs(value) do parts[i] = tostring(item) end
    return table.concat(parts, ", ")
  end
  if math.type(value) == "float" then return ("%.9g"):format(value) end
  return value == nil and "" or tostring(value)
end

local function options_text(options)
  local parts = {}
  for _, name in ipairs(params.names(options)) do
    local value = options[name]
    local text = type(value) == "function" and "depends on the parameters" or value_text(value)
    parts[#parts + 1] = ("%s = %s"):format(name, text)
  end
  return table.concat(parts, ", ")
end

local function validators_of(task)
  local list = {}
  for i, one in ipairs(validate.prepare(task)) do
    list[i] = { name = one.name, options = options_text(one.options) }
  end
  return list
end

-- What a buffer holds when the plan starts.
local function contents_text(buffer)
  if buffer.role == "output" then return "garbage" end
  if buffer.role == "input" then return "data, read only" end
  return buffer.fill and ("bytes 0x%02X"):format(buffer.fill) or "data"
end

local function buffer_list(one)
  local list = {}
  for i, buffer in ipairs(one.list) do
    list[i] = {
      name = buffer.name, role = buffer.role, dtype = buffer.dtype_name,
      shape = core.json_array(buffer.shape), bytes = buffer.bytes,
      before = contents_text(buffer), text = buffers.text(buffer),
    }
  end
  return core.json_array(list)
end

-- Scalar parameters of all signatures, each once, with their values in the sample case.
local function scalar_list(task, one)
  local args, list, seen = task:call("args", one.p) or {}, {}, {}
  for _, parsed in ipairs(one.signatures) do
    for _, param in ipairs(parsed.params) do
      if not param.pointer and not seen[param.name] then
        seen[param.name] = true
        local value = args[param.name]
        if value == nil then value = one.p[param.name] end
        list[#list + 1] = { name = param.name, type = param.type, value = value }
      end
    end
  end
  return core.json_array(list)
end

local function launch_text(step)
  if step.memset then return ("set %d bytes to %d"):format(step.bytes, step.byte) end
  if step.copy then return ("copy %d bytes"):format(step.bytes) end
  local text = ("%s<<<(%s), (%s)>>>"):format(step.launch, table.concat(step.grid, ", "),
    table.concat(step.block, ", "))
  if step.shared > 0 then text = text .. (" with %d bytes of shared memory"):format(step.shared) end
  return text
end

local function launches(task, one)
  local list = {}
  local steps = plan.build(task, { where = task.where }, one.p, one.list)
  for i, step in ipairs(steps) do list[i] = launch_text(step) end
  return core.json_array(list)
end

local function param_list(task)
  local list = {}
  for i, name in ipairs(params.names(task.params)) do
    local decl = task.params[name]
    list[i] = {
      name = name, type = decl.type, default = decl.default, check = decl.check, sim = decl.sim,
      range = params.range_text(decl), doc = decl.doc,
    }
  end
  return core.json_array(list)
end

local function impl_list(task)
  local list = {}
  for i, impl in ipairs(task.impls) do
    list[i] = { name = impl.name, lang = impl[1] or impl.lang, file = impl[2] or impl.file,
      doc = impl.doc }
  end
  return core.json_array(list)
end

--- The description as a table.
function describe.table(task)
  local one = sample_case(task)
  local method, batch = timing.method_of(task, one.p)
  local cells = {}
  for i, cell in ipairs(task.cells) do
    cells[i] = { name = cell.name, axis = cell.axis, set = cell.set, doc = cell.doc }
  end
  local signatures = {}
  for i, parsed in ipairs(one.signatures) do signatures[i] = parsed.text end
  return {
    name = task.name, category = task.category, level = task.level, doc = task.doc,
    file = files.shown(task.file or "?"),
    kernel = core.json_array(signatures), params = param_list(task), cells = core.json_array(cells),
    buffers = buffer_list(one), scalars = scalar_list(task, one), launch = launches(task, one),
    shown_at = params.brief(one.p, task.params),
    validate = core.json_array(validators_of(task)), time = { method = method, batch = batch },
    impls = impl_list(task), skeleton = skeleton.text(one),
    check = ("perigee check %s FILE.cu"):format(task.name),
  }
end

local function indented(text)
  return (text:gsub("^%s*\n", ""):gsub("%s+$", ""):gsub("([^\n]+)", "  %1"))
end

local function section(out, title)
  out("")
  out(title)
end

local function say_params(d, out)
  if #d.params == 0 then return end
  section(out,
    "Parameters (default: on a GPU; check: sizes of `perigee check`; sim: on the simulator)")
  local rows = {}
  for i, p in ipairs(d.params) do
    rows[i] = { p.name, p.type, value_text(p.default), value_text(p.check), value_text(p.sim),
      p.range, p.doc }
  end
  out(columns.text({ { title = "name" }, { title = "type" }, { title = "default", right = true },
    { title = "check" }, { title = "sim" }, { title = "range" }, { title = "meaning" } }, rows))
end

local function say_buffers(d, out)
  section(out, ("Buffers (sizes at %s)"):format(d.shown_at))
  local rows = {}
  for i, b in ipairs(d.buffers) do
    rows[i] = { b.name, b.role, b.text, units.bytes(b.bytes), b.before }
  end
  out(columns.text({ { title = "name" }, { title = "role" }, { title = "elements" },
    { title = "size", right = true }, { title = "before the run" } }, rows))
  out("  Inputs must not be written. State is reset before each run. Outputs hold garbage before")
  out("  each run: every element must be written.")
end

local function say_scalars(d, out)
  if #d.scalars == 0 then return end
  section(out, ("Scalars (values at %s)"):format(d.shown_at))
  local rows = {}
  for i, s in ipairs(d.scalars) do rows[i] = { s.name, s.type, value_text(s.value) } end
  out(columns.text({ { title = "name" }, { title = "type" }, { title = "value" } }, rows))
end

local function say_cells(d, out)
  if #d.cells == 0 then return end
  section(out, "Cells (perigee run does all, --cell A,B some)")
  local rows = {}
  for i, cell in ipairs(d.cells) do
    rows[i] = { cell.name, cell.axis, options_text(cell.set or {}) }
  end
  out(columns.text({ { title = "cell" }, { title = "axis" }, { title = "sets" } }, rows))
end

local function say_judging(d, out)
  section(out, "Judging")
  for _, one in ipairs(d.validate) do
    local options = one.options ~= "" and (" (%s)"):format(one.options) or ""
    out(("  validator %s%s"):format(one.name, options))
  end
  out(("  timed %s%s, after the results were found right"):format(d.time.method,
    d.time.method == "batch" and (" of %d launches"):format(d.time.batch) or ""))
end

--- Print the description.
-- @tparam table task
-- @tparam function out called with each line
function describe.print(task, out)
  local d = describe.table(task)
  out(("%s  (category %s, level %s, %s)"):format(d.name, d.category, d.level, d.file))
  out("")
  if d.doc ~= "" then out(indented(d.doc)) end
  section(out, "Contract")
  for _, text in ipairs(d.kernel) do out("  " .. text) end
  say_buffers(d, out)
  say_scalars(d, out)
  section(out, ("Launch (at %s)"):format(d.shown_at))
  for _, text in ipairs(d.launch) do out("  " .. text) end
  say_params(d, out)
  say_cells(d, out)
  say_judging(d, out)
  if #d.impls > 0 then
    section(out, "Implementations")
    local rows = {}
    for i, impl in ipairs(d.impls) do rows[i] = { impl.name, impl.lang, impl.file, impl.doc } end
    out(columns.text({ { title = "name" }, { title = "language" }, { title = "file" },
      { title = "" } }, rows))
  end
  section(out, ("A file to start from (perigee describe %s --skeleton > mine.cu)"):format(d.name))
  out("")
  out(indented(d.skeleton))
  section(out, "Check it")
  out("  " .. d.check)
end

return describe
