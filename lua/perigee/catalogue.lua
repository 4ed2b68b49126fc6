--- The catalogue: task files under ./tasks, the folders of PERIGEE_TASKS and the home's tasks/.
-- A file is run when it is first looked at; one that fails does not hide the others.
-- @module perigee.catalogue

local core = require "perigee.core"
local chunk = require "perigee.chunk"
local errors = require "perigee.errors"
local files = require "perigee.files"
local suggest = require "perigee.suggest"
local task = require "perigee.task"

local catalogue = {}

local function mistake(code, message, hint)
  return { code = code, message = message, hint = hint }
end

--- Folders that hold tasks, nearest first.
-- @treturn table,table paths, and an error for each folder of PERIGEE_TASKS that is not there
function catalogue.folders()
  local list, seen, failed = {}, {}, {}
  local function add(folder)
    local real = files.is_folder(folder) and core.realpath(folder)
    if real and not seen[real] then
      seen[real] = true
      list[#list + 1] = real
    end
    return real
  end
  add("tasks")
  for folder in (os.getenv("PERIGEE_TASKS") or ""):gmatch("[^:]+") do
    if not add(folder) then
      failed[#failed + 1] = mistake("not_found", ("PERIGEE_TASKS names no folder: '%s'"):format(
        folder), "folders are separated by ':'")
    end
  end
  add(files.join(core.home or ".", "tasks"))
  return list, failed
end

local function check_names(list, last, path)
  for i = 1, last - 1 do
    if list[i].name == list[last].name then
      local text = "items #%d and #%d of the returned list are both called '%s'"
      core.error("invalid", text:format(i, last, list[i].name), "a name is unique",
        files.shown(path))
    end
  end
end

local function returned_tasks(path, value)
  local list = task.is_task(value) and { value } or value
  if type(list) ~= "table" then
    core.error("invalid",
      ("a task file returns a task or a list of tasks, this one returns %s"):format(
      value == nil and "nothing" or "a " .. type(value)),
      "end the file with: return pg.task { ... }", files.shown(path))
  end
  if next(list) ~= nil and #list == 0 then
    core.error("invalid", "the returned table is no task and no list of tasks",
      "make tasks with pg.task { ... }", files.shown(path))
  end
  for i, item in ipairs(list) do
    if not task.is_task(item) then
      core.error("invalid", ("item #%d of the returned list is no task"):format(i),
        "make it with pg.task { ... }", files.shown(path))
    end
    check_names(list, i, path)
    item.file, item.folder, item.root = path, files.dirname(path), files.root_of(path)
  end
  return list
end

--- Run a task file. @treturn table list of tasks
-- @raise "not_found", "syntax", or what the file raises, with its place
function catalogue.load(path)
  if not files.is_file(path) then files.find(path, { "." }) end
  path = core.realpath(path) or path
  return returned_tasks(path, chunk.run(path))
end

local DEPTH, FILES = 8, 10000 -- what PERIGEE_TASKS=/ must not make of it

-- Lua files of a folder and its folders, sorted. A folder that cannot be read, or that links back
-- to one that contains it, is not entered.
local function walk(folder, found, failed, above, depth)
  local real = core.realpath(folder)
  if not real or above[real] or found.full then return end
  if depth > DEPTH or #found > FILES then
    found.full = true
    failed[#failed + 1] = mistake("range", depth > DEPTH
      and ("'%s' is more than %d folders deep: no tasks are looked for there"):format(folder, DEPTH)
      or ("'%s' is one of more than %d Lua files: the others are left out"):format(folder, FILES),
      "name a nearer folder in PERIGEE_TASKS")
    return
  end
  local names, e = core.list_dir(folder)
  if not names then failed[#failed + 1] = e end
  above[real] = true
  for _, name in ipairs(names or {}) do
    local path = files.join(folder, name)
    if files.is_folder(path) then
      walk(path, found, failed, above, depth + 1)
    elseif files.is_file(path) and name:match("%.lua$") and not name:match("^[_.]") then
      found[#found + 1] = path
    end
  end
  above[real] = nil
end

-- Other Lua files lie beside tasks (helpers, makers of data); running them to find out would be
-- wrong.
local function declares_tasks(path)
  local text = core.read_file(path) or ""
  return text:find("%.task%s*[%({]") ~= nil
end

-- The tasks of one folder by name. Two of one name are a mistake: the first stays.
local function of_folder(folder, failed)
  local paths, by_name = {}, {}
  walk(folder, paths, failed, {}, 1)
  for _, path in ipairs(paths) do
    local ok, list = true, {}
    if declares_tasks(path) then ok, list = errors.catch("invalid", catalogue.load, path) end
    if not ok then failed[#failed + 1] = list end
    for _, item in ipairs(ok and list or {}) do
      local first = by_name[item.name]
      if first then
        failed[#failed + 1] = mistake("invalid", ("two tasks are called '%s': %s and %s"):format(
          item.name, first.where or files.shown(first.file), item.where or files.shown(path)),
          "the second is left out: rename one of them")
      end
      by_name[item.name] = first or item
    end
  end
  return by_name
end

--- Every task. One of a nearer folder replaces that of the same name in another.
-- @treturn table,table tasks sorted by name, and errors {error...} of what did not load
function catalogue.all()
  local tasks, seen = {}, {}
  local folders, failed = catalogue.folders()
  for _, folder in ipairs(folders) do
    for name, item in pairs(of_folder(folder, failed)) do
      if not seen[name] then tasks[#tasks + 1] = item end
      seen[name] = true
    end
  end
  table.sort(tasks, function(a, b) return a.name < b.name end)
  return tasks, failed
end

--- What the files of tasks and of validators beside them are by now: another text when one was
-- added, changed or removed.
function catalogue.state()
  local paths = {}
  for _, folder in ipairs(catalogue.folders()) do
    walk(folder, paths, {}, {}, 1)
    walk(files.join(files.dirname(folder), "validators"), paths, {}, {}, 1)
  end
  for i, path in ipairs(paths) do
    local info = core.file_info(path) or {}
    paths[i] = ("%s %s %s"):format(path, info.mtime, info.size)
  end
  return table.concat(paths, "\n")
end

-- The file named like the task, which spares loading all of them.
local function direct(name)
  if name:find("..", 1, true) then return nil end
  for _, folder in ipairs(catalogue.folders()) do
    local path = files.join(folder, name .. ".lua")
    if files.is_file(path) then
      for _, item in ipairs(catalogue.load(path)) do
        if item.name == name then return item end
      end
    end
  end
  return nil
end

local function unknown(name, tasks, failed)
  local names = {}
  local hint
  for i, item in ipairs(tasks) do
    names[i] = item.name
    if item.name:match "^[^/]*" == name then
      hint = ("a task of that category? perigee list %s"):format(name)
    end
  end
  hint = hint or suggest.hint(name, names, "tasks")
  for _, e in ipairs(failed) do
    hint = hint .. "\n  not loaded: " .. errors.text(e):gsub("\n", "\n  ")
  end
  core.error("not_found", ("unknown task '%s'"):format(name), hint)
end

--- Tasks by name, or all of a task file when `name` ends in .lua.
-- @treturn table list of tasks
-- @raise "not_found" with the nearest name
function catalogue.find(name)
  if name:match("%.lua$") then return catalogue.load(name) end
  local item = direct(name)
  if item then return { item } end
  local tasks, failed = catalogue.all()
  for _, other in ipairs(tasks) do
    if other.name == name then return { other } end
  end
  return unknown(name, tasks, failed)
end

return catalogue
