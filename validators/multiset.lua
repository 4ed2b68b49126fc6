--- multiset: the same elements in any order, each as often. Options: of (name, or a list of buffers
-- whose elements belong together, row by row; default: all outputs), from (inputs that hold the
-- elements; default: what the reference returns), count (a buffer whose first element says how many
-- elements are there, or a number).
local collection = require "perigee.collection"

return function(ctx)
  ctx:check_options { of = "string table", from = "string table", count = "string number" }
  local rows = collection.rows(ctx)
  collection.need_want(ctx, rows)
  return ctx:result { collection.compare(ctx, rows, false) }
end
