--- Paths: joining, splitting, and finding a file named relative to one of several folders.
-- @module perigee.files

local core = require "perigee.core"
local suggest = require "perigee.suggest"

local files = {}

function files.join(folder, path)
  if path:sub(1, 1) == "/" or folder == "" or folder == "." then return path end
  return (folder:gsub("/+$", "")) .. "/" .. path
end

function files.dirname(path)
  local folder = path:match "^(.*)/[^/]*$"
  return folder == "" and "/" or folder or "."
end

function files.basename(path)
  return path:match("([^/]*)$")
end

--- Extension without the dot, in lower case; "" when there is none.
function files.extension(path)
  return (files.basename(path):match("^.+%.([^.]*)$") or ""):lower()
end

local function is_a(path, kind)
  local info = path ~= "" and core.file_info(path)
  return info and info.type == kind or false
end

function files.is_file(path)
  return is_a(path, "file")
end

function files.is_folder(path)
  return is_a(path, "dir")
end

--- Whether a file lies below a folder, after links: what a stranger's source names is read only
-- there.
function files.lies_in(path, folder)
  local real, root = core.realpath(path), core.realpath(folder)
  return real ~= nil and root ~= nil and files.is_file(real)
    and real:sub(1, #root + 1) == (root == "/" and "/" or root .. "/")
end

--- The folder that a task file's other paths are relative to: what contains its `tasks` folder,
-- else its own.
function files.root_of(path)
  return path:match("^(.*)/tasks/.-$") or (path:match("^tasks/") and ".") or files.dirname(path)
end

--- Names in the folder of `path` that share its extension: candidates for "did you mean".
local function neighbours(path)
  local ok, names = pcall(core.list_dir, files.dirname(path))
  local found = {}
  if not ok or type(names) ~= "table" then return found end
  for _, name in ipairs(names) do
    if files.extension(name) == files.extension(path) then found[#found + 1] = name end
  end
  return found
end

--- The first of folder/path that is a file.
-- @tparam string path relative or absolute
-- @tparam table folders where to look, in order
-- @tparam[opt] string where place for the error message
-- @treturn string path
-- @raise "not_found", saying where it was looked for and what is there
function files.find(path, folders, where)
  local tried, hint = {}, nil
  for _, folder in ipairs(path:sub(1, 1) == "/" and { "" } or folders) do
    local full = files.join(folder, path)
    if files.is_file(full) then return full end
    if full ~= "" and core.file_info(full) then
      core.error("invalid", ("'%s' is %s"):format(path,
        files.is_folder(full) and "a folder" or "no regular file"), "name a file", where)
    end
    if not tried[folder] then
      tried[folder] = true
      tried[#tried + 1] = folder == "" and files.dirname(path) or folder
      local near = suggest.nearest(files.basename(path), neighbours(full))
      if near and near ~= files.basename(path) and not hint then -- a link to nothing is its own
        hint = ("did you mean '%s'?"):format(files.join(files.dirname(path), near))
      end
    end
  end
  core.error("not_found", ("no file '%s'"):format(path),
    hint or ("looked in %s"):format(table.concat(tried, ", ")), where)
end

local function need(value, e)
  if not value then core.error(e.code, e.message, e.hint, e.where) end
  return value
end

--- Read a file or raise "io"/"not_found".
function files.read(path, limit) return need(core.read_file(path, limit)) end

--- Write a file whole, or raise "io"/"not_found".
function files.write(path, text) need(core.write_file(path, text)) end

--- Make a folder, and those above it, or raise "io"/"not_found".
function files.make_folder(path) need(core.mkdir_all(path)) end

--- A folder for what can be made again: $PERIGEE_CACHE, else the user's cache folder; nil when
-- caching is off.
function files.cache(name)
  local given, home = os.getenv "PERIGEE_CACHE", os.getenv "HOME"
  if given == "off" or given == "0" then return nil end
  if given and given ~= "" then return files.join(given, name) end
  local xdg = os.getenv "XDG_CACHE_HOME"
  if xdg and xdg:sub(1, 1) == "/" then return files.join(xdg, "perigee/" .. name) end
  return home and home:sub(1, 1) == "/" and files.join(home, ".cache/perigee/" .. name) or nil
end

--- A path in the folder of what is kept for the user: $XDG_DATA_HOME/perigee, else
-- ~/.local/share/perigee.
function files.data(name)
  local data = os.getenv "XDG_DATA_HOME"
  if not data or data == "" then data = (os.getenv "HOME" or ".") .. "/.local/share" end
  return files.join(data, "perigee/" .. name)
end

local held = {} -- by path: other processes sweep the folder once its holder is gone

--- A new folder for what is not to stay. What processes that were killed left there is removed.
-- @tparam[opt] string within a folder; else $TMPDIR or /tmp
-- @raise "io", "not_found"
function files.temporary(within)
  local path, holder = core.temporary_folder(within)
  if not path then
    core.error(holder.code, holder.message, holder.code == "io" and "is there room?"
      or not within and "set TMPDIR to a folder" or nil, holder.where)
  end
  held[path] = holder
  return path
end

--- Remove what is in a folder.
function files.empty(folder)
  for _, name in ipairs(core.list_dir(folder) or {}) do files.remove(files.join(folder, name)) end
end

--- Remove a file, or a folder with what is in it. Links are removed, not followed.
function files.remove(path)
  local _ <close> = held[path]
  held[path] = nil
  if os.remove(path) then return end
  files.empty(path)
  os.remove(path)
end

--- Call f with a new folder, which is removed when it ends.
-- @return what f returns
-- @raise what f raises, and "io"
function files.in_temporary(f)
  local folder = files.temporary()
  local results = table.pack(pcall(f, folder))
  files.remove(folder)
  if not results[1] then error(results[2], 0) end
  return table.unpack(results, 2, results.n)
end

--- Make a file or a folder that others, processes or threads, see whole or not at all: it is made
-- in a folder of its own beside its place, then moved there. Whoever comes second finds it there.
-- @tparam string path in a folder that is there
-- @tparam function make (part, folder): makes `part` in `folder`, where other files may lie
-- @raise "io", "not_found", and what `make` raises
function files.make(path, make)
  local folder = files.temporary(files.dirname(path))
  local part = files.join(folder, files.basename(path))
  local ok, e = pcall(make, part, folder)
  local moved, reason
  if ok then moved, reason = os.rename(part, path) end
  files.remove(folder)
  if not ok then error(e, 0) end
  if not moved and not core.file_info(path) then core.error("io", reason, nil, path) end
end

--- A path as short as it can be shown: relative to the home or the current folder when it lies
-- inside.
function files.shown(path)
  for _, base in ipairs { core.home or "", core.realpath and core.realpath(".") or "" } do
    if base ~= "" and path:sub(1, #base + 1) == base .. "/" then return path:sub(#base + 2) end
  end
  return path
end

return files
