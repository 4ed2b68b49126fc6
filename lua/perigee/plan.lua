--- Plans: what the `launch` of a task or candidate is, turned into steps for the runner (data only;
-- see host/judge). A number may be an expression over the parameters, scalars and knobs.
-- @module perigee.plan

local core = require "perigee.core"
local arguments = require "perigee.arguments"
local experts = require "perigee.experts"
local expression = require "perigee.expression"
local implementation = require "perigee.impl"
local signature = require "perigee.signature"
local suggest = require "perigee.suggest"

local plan = {}

local DEPTH_MOST = 4 -- of repeat_until, as in the runner
local U32_MOST = (1 << 32) - 1

-- What says which kind of step it is -> its fields.
local KINDS = {
  { "repeat_until", { repeat_until = true, max = true, steps = true } },
  { "memset", { memset = true, byte = true, bytes = true, offset = true } },
  { "copy", { copy = true, bytes = true } },
  { "grid", { kernel = true, grid = true, block = true, shared = true, cooperative = true,
    cluster = true, args = true } },
}

local function fail(context, hint, text, ...)
  core.error("invalid", text:format(...), hint, context.where)
end

-- ---- numbers ----

-- An integer from low to high, given as one or as an expression; nil stays nil.
local function integer(value, what, low, high, context)
  if value == nil then return nil end
  local number = expression.eval(value, context.env, what, context.where)
  local whole = math.tointeger(number)
  if not whole or whole < low or whole > high then
    local shown = type(value) == "string" and (" (%s)"):format(value) or ""
    core.error("range", ("%s is %s%s: expected an integer from %d to %d"):format(what, number,
      shown, low, high), not whole and "use // for integer division" or nil, context.where)
  end
  return whole
end

-- n or {x, y, z} -> {x, y, z}, and whether any extent is zero.
local function extents(value, what, context)
  if type(value) == "number" or type(value) == "string" then value = { value } end
  if type(value) ~= "table" or #value < 1 or #value > 3 then
    fail(context, nil, "%s: expected an integer or {x, y, z}, got %s", what,
      type(value) == "table" and #value .. " values" or tostring(value))
  end
  local result, empty = { 1, 1, 1 }, false
  for i, extent in ipairs(value) do
    local number = expression.eval(extent, context.env, what, context.where)
    local whole = math.tointeger(number)
    if not whole or whole < 0 or whole > U32_MOST then
      core.error("range", ("%s has %s where an integer %s is expected"):format(what, number,
        whole and whole > 0 and "below 2^32" or ">= 1"),
        not whole and "use // for integer division" or nil, context.where)
    end
    result[i] = whole
    empty = empty or whole == 0
  end
  return result, empty
end

-- ---- steps ----

-- "launch #2", "launch #2.1" within a loop.
local function titled(context, path)
  return ("%s #%s"):format(context.field, path)
end

local function fields_of_step(step, title, context)
  if type(step) ~= "table" then
    fail(context, "a step is { grid =, block = }, { memset = }, { copy = } or { repeat_until = }",
      "%s: expected a step, got %s", title, type(step))
  end
  for _, kind in ipairs(KINDS) do
    if step[kind[1]] ~= nil then return kind[2], kind[1] end
  end
  return KINDS[#KINDS][2], "grid"
end

local function check_step(step, title, context)
  local fields, kind = fields_of_step(step, title, context)
  for field in pairs(step) do
    if not fields[field] then
      fail(context, suggest.hint(tostring(field), arguments.names(fields), "fields"),
        "%s: unknown field '%s'", title, tostring(field))
    end
  end
  return kind
end

local function buffer_of(name, title, context)
  local buffer = context.buffers[name]
  if not buffer then
    core.error("not_found", ("%s: no buffer '%s'"):format(title, tostring(name)),
      suggest.hint(tostring(name), arguments.names(context.buffers), "buffers"), context.where)
  end
  return buffer
end

local function written(name, title, context)
  local buffer = buffer_of(name, title, context)
  if buffer.role == "input" then
    fail(context, "copy it to scratch and change the copy", "%s: '%s' is an input, which no step "
      .. "may write", title, name)
  end
  return buffer
end

-- The name in the module and the signature of the kernel that a launch means.
local function kernel_of(step, title, context)
  local name = step.kernel
  if name ~= nil and type(name) ~= "string" then
    fail(context, nil, "%s: kernel: expected a name, got a %s", title, type(name))
  end
  name = name or context.contract[1].name
  local given = context.renamed[name]
  if not given then
    return implementation.filled(name, context.params, context.where), context.contract[name]
  end
  return given.name, given.signature or context.contract[name]
end

local function check_extents(grid, no_blocks, block, no_threads, title, context)
  if not no_blocks and not no_threads then return true end
  if context.task.allow_empty and not no_threads then return false end
  core.error("range", ("%s has an empty %s: {%s}"):format(title, no_blocks and "grid" or "block",
    table.concat(no_blocks and grid or block, ", ")),
    "a launch needs at least one block and one thread; a task that may launch nothing says "
      .. "allow_empty = true", context.where)
end

-- What Triton's argument map says of a kernel: its block is its warps, and its own grid takes the
-- place of one that the task made for other kernels.
local function mapped_launch(step, entry, context)
  local map = context.map and context.map[entry]
  if not map then return step end
  local grid = context.impl.launch and step.grid or map.grid or step.grid
  return { grid = grid, block = 32 * map.num_warps, shared = map.shared, args = step.args,
    cooperative = step.cooperative, cluster = step.cluster,
    names = not step.args and map.args or nil }
end

local function cluster_of(value, grid, title, context)
  local cluster, empty = extents(value, "cluster of " .. title, context)
  for i, extent in ipairs(cluster) do
    if empty or grid[i] % extent ~= 0 then
      core.error("range", ("%s: a grid of {%s} in clusters of {%s}"):format(title,
        table.concat(grid, ", "), table.concat(cluster, ", ")),
        "each side of the grid is a multiple of the cluster's", context.where)
    end
  end
  return core.json_array(cluster)
end

local function launch_step(step, path, context)
  local title = titled(context, path)
  local entry, declared = kernel_of(step, title, context)
  local kernel = step.kernel or entry
  step = mapped_launch(step, entry, context)
  local grid, no_blocks = extents(step.grid, "grid of " .. title, context)
  local block, no_threads = extents(step.block, "block of " .. title, context)
  if not check_extents(grid, no_blocks, block, no_threads, title, context) then return nil end
  local cooperative = step.cooperative or false
  if type(cooperative) ~= "boolean" then
    fail(context, nil, "%s: cooperative: expected true or false, got a %s", title,
      type(cooperative))
  end
  return {
    launch = entry, grid = core.json_array(grid), block = core.json_array(block),
    cluster = step.cluster and cluster_of(step.cluster, grid, title, context) or nil,
    shared = integer(step.shared, "shared of " .. title, 0, U32_MOST, context) or 0,
    cooperative = cooperative,
    args = step.names and arguments.mapped(step.names, declared, context)
      or arguments.build(kernel, step.args or context.listed, declared, context),
  }
end

local function memset_step(step, path, context)
  local title = titled(context, path)
  local buffer = written(step.memset, title, context)
  local offset = integer(step.offset, "offset of " .. title, 0, buffer.bytes, context) or 0
  return {
    memset = buffer.index, offset = offset,
    byte = integer(step.byte, "byte of " .. title, 0, 255, context) or 0,
    bytes = integer(step.bytes, "bytes of " .. title, 0, buffer.bytes - offset, context)
      or buffer.bytes - offset,
  }
end

-- "buffer" or { "buffer", offset = bytes }: the buffer and the offset.
local function side_of(given, find, title, context)
  if type(given) ~= "table" then return find(given, title, context), 0 end
  local buffer = find(given[1], title, context)
  for key in pairs(given) do
    if key ~= 1 and key ~= "offset" then
      fail(context, 'write { "buffer", offset = bytes }', "%s: copy: unknown field '%s'", title,
        tostring(key))
    end
  end
  return buffer, integer(given.offset, "offset of " .. title, 0, buffer.bytes, context) or 0
end

local function copy_step(step, path, context)
  local title = titled(context, path)
  if type(step.copy) ~= "table" or #step.copy ~= 2 then
    fail(context, 'write { copy = { "to", "from" } }', "%s: copy: expected two buffers", title)
  end
  local to, to_offset = side_of(step.copy[1], written, title, context)
  local from, from_offset = side_of(step.copy[2], buffer_of, title, context)
  if to == from then fail(context, nil, "%s: '%s' is copied to itself", title, to.name) end
  local most = math.min(to.bytes - to_offset, from.bytes - from_offset)
  return { copy = core.json_array { to.index, from.index }, to_offset = to_offset,
    from_offset = from_offset,
    bytes = integer(step.bytes, "bytes of " .. title, 0, most, context) or most }
end

local build_list

local function repeat_step(step, path, context, depth)
  local title = titled(context, path)
  local flag = written(step.repeat_until, title, context)
  if flag.bytes < 4 then
    fail(context, "the flag is an i32 or u32", "%s: the flag '%s' has %d bytes, 4 are looked at",
      title, flag.name, flag.bytes)
  end
  if step.max == nil then
    fail(context, "write max = the most rounds that a right kernel can need",
      "%s: repeat_until without max", title)
  end
  if depth == DEPTH_MOST then
    core.error("range", ("%s: repeat_until is nested deeper than %d"):format(title, DEPTH_MOST),
      nil, context.where)
  end
  local steps = build_list(step.steps, path .. ".", context, depth + 1)
  if #steps == 0 then return nil end
  return { repeat_until = flag.index, steps = steps,
    max = integer(step.max, "max of " .. title, 1, U32_MOST, context) }
end

local BUILD = { grid = launch_step, memset = memset_step, copy = copy_step,
  repeat_until = repeat_step }

-- One step or a list of them; launches that the task allows to be empty are left out.
function build_list(described, path, context, depth)
  if type(described) ~= "table" then
    fail(context, "a step is { grid =, block = }, { memset = }, { copy = } or { repeat_until = }",
      "%s: expected steps, got %s", context.field, type(described))
  end
  local list = described[1] ~= nil and described or { described }
  local steps = core.json_array {}
  if next(described) == nil then fail(context, nil, "%s has no steps", context.field) end
  local count = 0
  for _ in pairs(list) do count = count + 1 end
  for key in pairs(list) do
    if math.type(key) ~= "integer" or key < 1 or key > count then
      fail(context, "write a list of steps: { { ... }, { ... } }",
        "%s: '%s' among the steps of a list", context.field, tostring(key))
    end
  end
  for number, step in ipairs(list) do
    local place = path .. number
    local kind = check_step(step, titled(context, place), context)
    local built = BUILD[kind](step, place, context, depth)
    if built then steps[#steps + 1] = built end
  end
  return steps
end

-- ---- the plan ----

-- One kernel name of an implementation: a plain name, a template instance, or a whole signature.
local function renaming(text, context)
  if text:find("(", 1, true) and not text:find("<", 1, true) then
    local parsed = signature.parse(text, context.where)
    return { name = parsed.name, signature = parsed }
  end
  return { name = implementation.filled(text, context.params, context.where) }
end

-- Kernels that the implementation has in place of the task's: a string stands for the first one, a
-- map for any.
local function renamings(kernel, context)
  local map = {}
  if type(kernel) == "string" then kernel = { [context.contract[1].name] = kernel } end
  for name, text in pairs(kernel or {}) do
    if type(name) ~= "string" or type(text) ~= "string" then
      fail(context, 'write kernel = { name_in_the_task = "name_here" }',
        "kernel: expected names by name")
    end
    map[name] = renaming(text, context)
    if map[name].signature then map[map[name].name] = map[name] end
  end
  return map
end

local function context_of(task, impl, p, list, map)
  local context = {
    task = task, contract = task:contract(p), impl = impl, map = map,
    params = implementation.settings(impl, p),
    args = task:call("args", p) or {}, buffers = {}, env = {}, field = "launch",
    listed = impl.args,
    where = impl.where or task.where or task.name,
  }
  for _, scalars in ipairs { context.params, context.args } do
    for name, value in pairs(scalars) do context.env[name] = value end
  end
  for i, buffer in ipairs(list) do
    buffer.index = i - 1
    context.buffers[buffer.name] = buffer
  end
  context.renamed = renamings(impl.kernel, context)
  return context
end

--- Build the runner's steps.
-- @tparam table task
-- @tparam table impl what impl.resolve or impl.candidate returned
-- @tparam table p parameters
-- @tparam table list buffers in order; each gets `index` (0-based, as the runner counts)
-- @tparam[opt] table map Triton's argument map of the kernels
-- @treturn table list of steps; empty when the task allows that nothing is launched
function plan.build(task, impl, p, list, map)
  if experts.is(impl) then return experts.steps() end
  local context = context_of(task, impl, p, list, map)
  local described
  if impl.launch then described = implementation.field(impl, "launch", p)
  else described = task:call("launch", p) end
  if not described then
    fail(context, "return { grid =, block = } or a list of steps", "launch: it returned nothing")
  end
  return build_list(described, "", context, 0)
end

-- An export has kernels of its own: the task's would do the work again.
local function check_export(steps, context)
  plan.each_launch(steps, function(step)
    for _, declared in ipairs(context.contract) do
      local own = context.renamed[declared.name]
      if step.launch == (own and own.name or declared.name) then
        fail(context, 'name one: { kernel = "unpack", grid = ..., args = { ... } }',
          "export: a launch needs a kernel of its own, '%s' is the task's", step.launch)
      end
    end
  end)
end

--- Build the runner's steps of an implementation's export; see build.
function plan.export(task, impl, p, list, map)
  local context = context_of(task, impl, p, list, map)
  context.field, context.listed = "export", nil
  local steps = build_list(implementation.field(impl, "export", p), "", context, 0)
  check_export(steps, context)
  return steps
end

--- Call `visit` for each launch of a plan, those in loops too.
function plan.each_launch(steps, visit)
  for _, step in ipairs(steps) do
    if step.launch then visit(step) end
    if step.steps then plan.each_launch(step.steps, visit) end
  end
end

--- Names of the kernels a plan launches.
function plan.kernels(steps)
  local names, seen = {}, {}
  plan.each_launch(steps, function(step)
    if not seen[step.launch] then names[#names + 1] = step.launch end
    seen[step.launch] = true
  end)
  return names
end

return plan
