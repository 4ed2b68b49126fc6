--- Failing cases as files: `perigee check --dump FOLDER` leaves what the candidate got, what it
-- wrote and what was expected as `.npy`, with a case.json that says what they are.
-- @module perigee.dump

local core = require "perigee.core"
local buffers = require "perigee.buffers"
local files = require "perigee.files"
local npy = require "perigee.npy"

local dump = {}

-- Names of tasks and implementations as names of files.
local function plain(text)
  return (text:gsub("[^%w%-_.]", "_"):gsub("^%.+", "_"))
end

--- Make the folder, so that a mistake in its name shows before anything runs.
-- @raise "io"
function dump.prepare(folder)
  local ok, e = core.mkdir_all(folder)
  if not ok then core.error("io", e.message, "--dump names a folder to write into", folder) end
end

-- A folder of its own for each failure: task-candidate, task-candidate-2, ...
local function new_folder(folder, case, impl)
  local name = plain(case.task.name) .. "-" .. plain(impl.name or "candidate")
  local path, number = files.join(folder, name), 1
  while core.file_info(path) do
    number = number + 1
    path = files.join(folder, ("%s-%d"):format(name, number))
  end
  dump.prepare(path)
  return path
end

local function save(list, path, what, name, array)
  if not core.is_array(array) then return end
  local file = ("%s_%s.npy"):format(what, plain(name))
  npy.save(files.join(path, file), array)
  list[#list + 1] = { file = file, what = what, name = name, dtype = array.dtype,
    shape = core.json_array(array.shape) }
end

local function save_arrays(path, case, arrays)
  local list = core.json_array {}
  for _, buffer in ipairs(case.list) do
    if buffer.role ~= "output" then
      save(list, path, buffer.role == "input" and "input" or "initial", buffer.name,
        buffers.contents(buffer))
    end
  end
  for _, buffer in ipairs(case.list) do
    if buffer.role ~= "input" and arrays then
      save(list, path, buffer.role, buffer.name, arrays[buffer.name])
    end
  end
  for _, name in ipairs(case:checked_names()) do
    save(list, path, "expected", name, case:expected()[name])
  end
  return list
end

--- Write a failing case.
-- @tparam string folder
-- @tparam table what {case, impl, failure = {verdict, reason}, device, seed = of the session,
--   arrays = what came back, by name, or nil when nothing did}
-- @treturn string the folder made for it
-- @raise "io"
function dump.write(folder, what)
  local case, failure = what.case, what.failure
  local path = new_folder(folder, case, what.impl)
  local list = save_arrays(path, case, what.arrays)
  files.write(files.join(path, "case.json"), core.json_encode({
    task = case.task.name, params = case.p, case_seed = case.seed, seed = what.seed,
    device = what.device, impl = what.impl.name, source = what.impl.shown,
    verdict = failure.verdict, reason = failure.reason, arrays = list,
    perigee = core.version,
  }, true) .. "\n")
  return path
end

return dump
