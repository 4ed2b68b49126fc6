--- sorted_by: in order, and the right elements. Options: of (name, or a list that is compared in
-- turn), order ("ascending", "descending"), strict (no two equal), count as for multiset, from
-- (inputs that hold the elements; default: what the reference returns). With elements = "any" only
-- the order is judged: then another validator must judge the elements, since zeros are in order.
local pg = require "perigee"
local collection = require "perigee.collection"
local pattern = require "perigee.pattern"

local function order(ctx, rows)
  local descending, strict = ctx.options.order == "descending", ctx.options.strict
  local at = pg.first_unsorted(rows.got, { descending = descending, strict = strict,
    count = rows.got_count })
  local direction = descending and "descending" or "ascending"
  if not at then
    return ctx:pass(rows.name, ("%d elements in %s order"):format(rows.got_count, direction))
  end
  local copy = pattern.copy_of(rows.got[1], ctx.inputs)
  return ctx:fail(rows.name, ("%s: not in %s order: %s at index %d, %s behind it%s"):format(
    rows.name, direction, collection.row(rows.got, at - 1), at - 1, collection.row(rows.got, at),
    copy and "; " .. copy or ""))
end

return function(ctx)
  ctx:check_options { of = "string table", order = { "ascending", "descending" },
    strict = "boolean", count = "string number", from = "string table", elements = { "any" } }
  local rows = collection.rows(ctx)
  if ctx.options.elements ~= "any" then collection.need_want(ctx, rows) end
  if not rows.got_count then return ctx:result { ctx:fail(rows.name, rows.why) } end
  local checks = {}
  if ctx.options.elements ~= "any" then checks[1] = collection.compare(ctx, rows, false) end
  checks[#checks + 1] = order(ctx, rows)
  -- Elements that were never written say more than their order.
  if checks[1].verdict ~= "unwritten_output" then table.insert(checks, 1, table.remove(checks)) end
  return ctx:result(checks)
end
