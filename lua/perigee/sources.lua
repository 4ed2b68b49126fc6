--- The files that an evaluation was made from, as a bundle that can be written out elsewhere: the
-- source first, then the files beside it that it includes, or all of a candidate's folder, with
-- paths relative to a folder that holds all of them.
-- @module perigee.sources

local core = require "perigee.core"
local compile = require "perigee.compile"
local files = require "perigee.files"

local sources = {}

local TEXTS = { cu = true, cuh = true, h = true, hpp = true, inl = true, ptx = true, lua = true,
  rs = true, py = true }
local FILES_MOST, DEPTH_MOST = 200, 8 -- of a candidate's folder

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

-- Source files below a folder, but for `main`.
local function walk(folder, root, main, list, depth)
  for _, name in ipairs(depth <= DEPTH_MOST and core.list_dir(folder) or {}) do
    local path = files.join(folder, name)
    if files.is_folder(path) then
      walk(path, root, main, list, depth + 1)
    elseif TEXTS[files.extension(name)] and path ~= main and #list < FILES_MOST
      and files.lies_in(path, root) then
      list[#list + 1] = { path = path, text = core.read_file(path) or "" }
    end
  end
  return list
end

local function others(one, text)
  local folder = one.is_data and files.dirname(one.where)
  if folder then return walk(folder, folder, one.path, {}, 1) end
  return compile.beside(text, one.path, one.lang, one.root)
end

--- The bundle of an implementation or candidate.
-- @tparam table one what impl.resolve or impl.candidate returned
-- @tparam[opt] string text of its source, when it has been read
-- @tparam[opt] string committed path of PTX that was run in place of the source
-- @treturn table list of {name, sha, text}; the first is the source itself
function sources.of(one, text, committed)
  text = text or one.source or files.read(one.path)
  local list = { { path = one.path, text = text } }
  table.move(others(one, text), 1, FILES_MOST, 2, list)
  local ptx = committed and core.read_file(committed)
  if ptx then list[#list + 1] = { path = committed, text = ptx } end
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

--- One SHA-256 for all of a bundle.
function sources.digest(bundle)
  local parts = {}
  for i, file in ipairs(bundle) do parts[i] = file.sha end
  return core.sha256(table.concat(parts, " "))
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
    files.make_folder(files.dirname(path))
    files.write(path, file.text)
  end
  return files.join(folder, table.concat(parts_of(bundle[1].name), "/"))
end

return sources
