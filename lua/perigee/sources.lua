--- The files that an evaluation was made from, as a bundle that can be written out elsewhere: the
-- source first, then the files beside it that it includes, with paths relative to a folder that
-- holds all of them.
-- @module perigee.sources

local core = require "perigee.core"
local compile = require "perigee.compile"
local files = require "perigee.files"

local sources = {}

-- Parts of a path without "." and "..", as far as that can be told.
local function parts_of(path)
  local parts = {}
  for part in path:gmatch("[^/]+") do
    if part == ".." and #parts > 0 and parts[#parts] ~= ".." then parts[#parts] = nil
    elseif part ~= "." then parts[#parts + 1] = part end
  end
  return parts
end

-- How many leading folders all lists of parts have in common.
local function common(lists)
  local count = #lists[1] - 1
  for _, parts in ipairs(lists) do
    count = math.min(count, #parts - 1)
    for i = 1, count do
      if parts[i] ~= lists[1][i] then
        count = i - 1
        break
      end
    end
  end
  return count
end

--- The bundle of a request.
-- @tparam table request what impl.request returned
-- @treturn table list of {name, sha, text}; the first is the source itself
function sources.of(request)
  local list = { { path = request.path, text = request.source } }
  if request.lang == "cuda" then
    table.move(compile.included(request.source, request.path), 1, 1000, 2, list)
  end
  local lists = {}
  for i, file in ipairs(list) do
    lists[i] = parts_of(core.realpath(file.path) or file.path)
  end
  local bundle, shared = {}, common(lists)
  for i, file in ipairs(list) do
    bundle[i] = { name = table.concat(lists[i], "/", shared + 1), text = file.text,
      sha = core.sha256(file.text) }
  end
  return bundle
end

--- Write a bundle below a folder.
-- @tparam table bundle list of {name, text}
-- @treturn string path of the first file
-- @raise "invalid" for a name that would leave the folder, "io"
function sources.write(bundle, folder)
  for _, file in ipairs(bundle) do
    local parts = parts_of(file.name)
    if file.name:sub(1, 1) == "/" or parts[1] == ".." or #parts == 0 then
      core.error("invalid", ("a source called '%s' would lie outside its folder"):format(
        file.name), "the record was not written by perigee")
    end
    local path = files.join(folder, table.concat(parts, "/"))
    local made, e = core.mkdir_all(files.dirname(path))
    if made then made, e = core.write_file(path, file.text) end
    if not made then core.error(e.code, e.message, e.hint, e.where) end
  end
  return files.join(folder, table.concat(parts_of(bundle[1].name), "/"))
end

return sources
