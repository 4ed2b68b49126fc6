--- Rows of buffers as collections, for the validators set, multiset, sorted_by and permutation:
-- row i is element i of each buffer, so that keys and values that belong together stay together.
-- @module perigee.collection

local core = require "perigee.core"
local pattern = require "perigee.pattern"

local collection = {}

local function list_of(names)
  return type(names) == "table" and names or { names }
end

local function text_of(value)
  if type(value) ~= "table" then
    return math.type(value) == "float" and ("%.9g"):format(value) or tostring(value)
  end
  local parts = {}
  for name, field in pairs(value) do parts[#parts + 1] = name .. " = " .. text_of(field) end
  table.sort(parts)
  return "{ " .. table.concat(parts, ", ") .. " }"
end

--- Row `index` in words: "17", or "(17, 3)" of several buffers.
function collection.row(arrays, index)
  local parts = {}
  for i, array in ipairs(arrays) do parts[i] = text_of(array[index]) end
  return #parts == 1 and parts[1] or "(" .. table.concat(parts, ", ") .. ")"
end

--- How many rows came back: the value of the buffer that the option `count` names, or all.
-- @tparam table ctx
-- @tparam table arrays what came back
-- @treturn integer|nil,string|nil the count; or nil and why it cannot be one
function collection.count(ctx, arrays)
  local name, all = ctx.options.count, arrays[1].count
  if name == nil then return all end
  if type(name) == "number" then return math.min(all, math.tointeger(name)) end
  local count = math.tointeger(ctx:array(name)[0])
  if count and count >= 0 and count <= all then return count end
  return nil, ("%s[0] = %s, expected 0 to %d"):format(name, text_of(ctx:array(name)[0]), all)
end

local function expected_count(ctx, arrays)
  local name = ctx.options.count
  local want = type(name) == "string" and ctx.expected[name]
  if not want then return math.min(arrays[1].count, math.tointeger(name) or arrays[1].count) end
  return math.tointeger(core.is_array(want) and want[0] or want) or arrays[1].count
end

-- In the form of what came back: the reference may hold integers as f64.
local function like(want, got)
  if want.struct or got.struct or want.dtype == got.dtype then return want end
  return want:cast(got.dtype)
end

--- The buffers of the option `of`, and the rows they should hold: those of the inputs `from`, or
-- what the reference returns.
-- @treturn table {name = "keys, values", names, got = arrays, want = arrays or nil,
--   got_count, want_count, why = what is wrong with the count}
function collection.rows(ctx)
  local names, from = list_of(ctx:of()), ctx.options.from and list_of(ctx.options.from)
  local rows = { name = table.concat(names, ", "), names = names, got = {}, want = {} }
  if from and #from ~= #names then
    core.error("invalid", ("from names %d buffers, of %d"):format(#from, #names),
      "one input for each output", ctx.task.where)
  end
  for i, name in ipairs(names) do
    rows.got[i] = ctx:array(name)
    if rows.want then
      local want = from and ctx:input(from[i]) or ctx.expected[name]
      rows.want[i] = want and like(want, rows.got[i])
      if not want then rows.want = nil end
    end
  end
  rows.got_count, rows.why = collection.count(ctx, rows.got)
  if rows.want then
    rows.want_count = from and rows.want[1].count or expected_count(ctx, rows.want)
  end
  return rows
end

-- Elements that hold what they held before the run explain most differences.
local function unwritten(ctx, rows, difference)
  for _, name in ipairs(rows.names) do
    local count = ctx:unwritten(name, rows.got_count)
    if count * 2 > difference.extra and count > 0 then
      return ctx:fail(rows.name, ("%s: %d of %d elements never written"):format(name, count,
        rows.got_count), "unwritten_output")
    end
  end
  return nil
end

local function told_apart(rows, difference)
  local parts = {}
  if difference.missing > 0 then
    parts[1] = ("%d missing (for example %s)"):format(difference.missing,
      collection.row(rows.want, difference.missing_at))
  end
  if difference.extra > 0 then
    parts[#parts + 1] = ("%d that do not belong there (for example %s at index %d)"):format(
      difference.extra, collection.row(rows.got, difference.extra_at), difference.extra_at)
  end
  return table.concat(parts, ", ")
end

--- Compare rows in any order.
-- @tparam table ctx
-- @tparam table rows of collection.rows
-- @tparam boolean set rows count once
-- @treturn table a check
function collection.compare(ctx, rows, set)
  if not rows.got_count then return ctx:fail(rows.name, rows.why) end
  local difference = core.compare_rows(rows.want, rows.got, { set = set, key = ctx.seed,
    want_count = rows.want_count, got_count = rows.got_count })
  if not difference then
    local check = ctx:pass(rows.name, ("%d elements, in any order"):format(rows.got_count))
    check.error = 0
    return check
  end
  local reason = unwritten(ctx, rows, difference)
  if reason then return reason end
  local copy = pattern.copy_of(rows.got[1], ctx.inputs)
  return ctx:fail(rows.name, ("%s: of %d elements %s%s"):format(rows.name, rows.want_count,
    told_apart(rows, difference), copy and "; " .. copy or ""))
end

--- Whether the reference or an input says which elements must be there. @raise "not_found"
function collection.need_want(ctx, rows)
  if rows.want then return end
  core.error("not_found", ("nothing says which elements %s must hold"):format(rows.name),
    'let the reference return it, or name an input: from = "keys"', ctx.task.where)
end

return collection
