--- set: the same elements in any order. How often one is there does not matter, unless
-- unique = true, which refuses repetitions. Options: of, from, count as for multiset; unique.
local pg = require "perigee"
local collection = require "perigee.collection"

local function repetitions(ctx, rows)
  local duplicates, at = pg.duplicate_rows(rows.got, { key = ctx.seed, count = rows.got_count })
  if duplicates == 0 then return ctx:pass(rows.name, "no repetitions") end
  return ctx:fail(rows.name, ("%s: %d elements are there before (for example %s at index %d)")
    :format(rows.name, duplicates, collection.row(rows.got, at), at))
end

return function(ctx)
  ctx:check_options { of = "string table", from = "string table", count = "string number",
    unique = "boolean" }
  local rows = collection.rows(ctx)
  collection.need_want(ctx, rows)
  local checks = { collection.compare(ctx, rows, true) }
  if ctx.options.unique and checks[1].ok then checks[2] = repetitions(ctx, rows) end
  return ctx:result(checks)
end
