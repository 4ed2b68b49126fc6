--- `perigee list`
-- @module perigee.cli.list

local core = require "perigee.core"
local catalogue = require "perigee.catalogue"
local columns = require "perigee.columns"
local common = require "perigee.cli.common"
local errors = require "perigee.errors"
local files = require "perigee.files"
local suggest = require "perigee.suggest"

local list = {}

function list.configure(parser)
  parser:argument("category", "only its tasks (default: those of all categories)"):args("?")
  parser:option("--category", "the same"):argname("C"):target "only"
  parser:flag("--json", "one JSON object a line on standard output")
end

local function of_category(tasks, wanted)
  if not wanted then return tasks end
  local chosen, categories, seen = {}, {}, {}
  for _, task in ipairs(tasks) do
    if task.category == wanted then chosen[#chosen + 1] = task end
    if not seen[task.category] then
      seen[task.category] = true
      categories[#categories + 1] = task.category
    end
  end
  if #chosen == 0 then
    core.error("not_found", ("no category '%s'"):format(wanted),
      suggest.hint(wanted, categories, "categories"))
  end
  return chosen
end

local function json(task)
  return core.json_encode {
    name = task.name, category = task.category, level = task.level, summary = task:summary(),
    impls = core.json_array(task:impl_names()), cells = core.json_array(task:cell_names()),
    file = files.shown(task.file),
  }
end

local IMPLS_WIDE = 28 -- columns; more names than fit are counted, `describe` has them all

-- "naive, wide", or "cuda, cuda-ray and 9 more".
local function impls_shown(task)
  local names, shown = task:impl_names(), nil
  for i, name in ipairs(names) do
    local longer = shown and shown .. ", " .. name or name
    local rest = #names - i
    if #longer + (rest > 0 and #(" and %d more"):format(rest) or 0) > IMPLS_WIDE and shown then
      return ("%s and %d more"):format(shown, #names - i + 1)
    end
    shown = longer
  end
  return shown or ""
end

local function print_table(tasks)
  if #tasks == 0 then
    common.out("no tasks; put a task file into ./tasks (see tasks/README.md)")
    return
  end
  local rows = {}
  for i, task in ipairs(tasks) do
    rows[i] = { task.name, task.level, #task.cells > 0 and tostring(#task.cells) or "",
      impls_shown(task), task:summary() }
  end
  common.out(columns.text({ { title = "task" }, { title = "level" },
    { title = "cells", right = true },
    { title = "implementations" }, { title = "what it computes" } }, rows, { indent = 0 }))
end

--- @treturn integer 0, or 2 when a task file did not load (the others are listed)
function list.main(options)
  local tasks, failed = catalogue.all()
  tasks = of_category(tasks, options.only or options.category)
  if options.json then
    for _, task in ipairs(tasks) do common.out(json(task)) end
  else
    print_table(tasks)
  end
  for _, e in ipairs(failed) do common.warn(errors.text(e)) end
  return #failed > 0 and 2 or 0
end

return list
