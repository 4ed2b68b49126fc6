--- Tools that look at the catalogue: list_tasks and describe_task.
-- @module perigee.serve.catalogue

local core = require "perigee.core"
local catalogue = require "perigee.catalogue"
local errors = require "perigee.errors"
local describe = require "perigee.describe"
local describe_text = require "perigee.describe_text"
local impl = require "perigee.impl"
local params = require "perigee.params"
local sources = require "perigee.sources"
local suggest = require "perigee.suggest"

local tools = {}

local LIMIT = 20

-- All tasks, loaded again when a file has changed.
local known = {}

--- Every task, and what did not load: as perigee.catalogue.
function tools.all()
  local state = catalogue.state()
  if known.state ~= state then
    known.tasks, known.failed = catalogue.all()
    known.state = state
  end
  return known.tasks, known.failed
end

--- The one task of that name. A path is none: a server runs the task files of its folders only.
-- @raise "not_found" with the nearest name
function tools.task(name)
  for _, task in ipairs(tools.all()) do
    if task.name == name then return task end
  end
  if name:match "%.lua$" then
    core.error("not_found", ("unknown task '%s'"):format(name), "list_tasks has their names")
  end
  return catalogue.find(name)[1] -- says the nearest
end

local function categories(tasks)
  local names, seen = {}, {}
  for _, task in ipairs(tasks) do
    if not seen[task.category] then names[#names + 1] = task.category end
    seen[task.category] = true
  end
  return names
end

local function chosen(tasks, given)
  local list, word = {}, (given.text or ""):lower()
  for _, task in ipairs(tasks) do
    local said = (task.name .. " " .. task:summary()):lower()
    if (not given.category or task.category == given.category) and said:find(word, 1, true) then
      list[#list + 1] = task
    end
  end
  if #list == 0 and given.category then
    local names = categories(tasks)
    if not suggest.has(names, given.category) then
      core.error("not_found", ("no category '%s'"):format(given.category),
        suggest.hint(given.category, names, "categories"))
    end
  end
  return list
end

local function as_lines(failed)
  local lines = core.json_array {}
  for i, e in ipairs(failed) do lines[i] = errors.text(e) end
  return #lines > 0 and lines or nil
end

function tools.list_tasks(given)
  local tasks, failed = tools.all()
  local list, from = chosen(tasks, given), given.offset or 0
  local shown, lines = core.json_array {}, {}
  for i = from + 1, math.min(#list, from + (given.limit or LIMIT)) do
    local task = list[i]
    shown[#shown + 1] = { name = task.name, summary = task:summary(), category = task.category,
      level = task.level }
    lines[#lines + 1] = ("%s: %s"):format(task.name, task:summary())
  end
  local after = from + #shown
  local answer = { total = #list, tasks = shown, next_offset = after < #list and after or nil,
    not_loaded = as_lines(failed) }
  lines[#lines + 1] = ("%d of %d tasks%s"):format(#shown, #list, answer.next_offset
    and ("; the next from offset %d"):format(after) or "")
  for _, line in ipairs(answer.not_loaded or {}) do lines[#lines + 1] = "not loaded: " .. line end
  return answer, table.concat(lines, "\n")
end

-- The source of an implementation that comes with the task.
local function reference(task, name)
  if task.closed then
    core.error("unsupported", ("%s does not show the sources of its implementations"):format(
      task.name), "the skeleton is a file to start from")
  end
  local one = impl.resolve(task, task:select_impls({ name })[1])
  local bundle, beside = sources.of(one), nil
  for i = 2, #bundle do
    beside = beside or {}
    beside[bundle[i].name] = bundle[i].text
  end
  return { name = one.name, language = one.lang, source = bundle[1].text, files = beside }
end

local function reference_text(one)
  local parts = { ("%s (%s):\n%s"):format(one.name, one.language, one.source) }
  for _, name in ipairs(params.names(one.files or {})) do
    parts[#parts + 1] = ("%s:\n%s"):format(name, one.files[name])
  end
  return table.concat(parts, "\n\n")
end

--- The description of a task in words, and as a table.
function tools.description(name, set)
  local task, lines = tools.task(name), {}
  local d = describe.table(task, set)
  describe_text.contract(d, function(line) lines[#lines + 1] = line end)
  return table.concat(lines, "\n"), d, task
end

function tools.describe_task(given)
  local text, d, task = tools.description(given.task, given.set)
  local answer = { task = d.name, summary = task:summary(), contract = text,
    skeleton = d.skeleton, signatures = d.kernel, buffers = d.buffers, params = d.params,
    launch = d.launch, checks = d.checks, work = d.work and next(d.work) and d.work or nil,
    implementations = core.json_array(task:impl_names()), detail = given.detail and d or nil }
  text = text .. "\n\nImplementations that come with it: " .. table.concat(task:impl_names(), ", ")
  if given.reference then
    answer.reference = reference(task, given.reference)
    text = text .. "\n\n" .. reference_text(answer.reference)
  end
  return answer, text
end

return tools
