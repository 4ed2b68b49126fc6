--- Records that a command line names: a JSONL file, or a session of the results store.
-- @module perigee.cli.records

local files = require "perigee.files"
local store = require "perigee.store"

local records = {}

-- A record of a file is called FILE:LINE, as `perigee repro` takes it.
local function lines_of(path)
  local next_line = store.lines(path)
  return function()
    local number, whole = next_line()
    if not whole then return nil end
    local rec, extra = store.parts(whole)
    extra.id = ("%s:%d"):format(path, number)
    return rec, extra
  end
end

--- The option that says which store.
function records.configure(parser)
  parser:option("--db", "results store (default: $PERIGEE_DB, else ~/.local/share/perigee)")
    :argname("FILE")
end

--- Read them: a file when there is one of that name, else a session.
-- @tparam string name
-- @tparam table options of the command line
-- @tparam function body called with an iterator of record, {id, samples}
-- @return what body returns
-- @raise "not_found", "syntax" with file and line
function records.read(name, options, body)
  if files.is_file(name) then return body(lines_of(name)) end
  local path, file = store.path(options.db), records.looks_like_path(name) or name:match "%.jsonl?$"
  if not files.is_file(path) then
    files.find(name, { "." }, not file and "and no results store in " .. path or nil)
  end
  local opened <close> = store.open(path, { readonly = true })
  if file and not opened:about(name) then files.find(name, { "." }) end
  return body(opened:records(opened:find_session(name)))
end

--- Whether a name is of a file or a task rather than of a session: those of evaluations are
-- "NAME TASK #NUMBER".
function records.looks_like_path(name)
  return name:find("/", 1, true) ~= nil and not name:find(" ", 1, true)
end

--- Read several, one behind the other.
-- @tparam table names
-- @return what body returns
function records.read_all(names, options, body)
  local list, i = {}, 0
  for _, name in ipairs(names) do
    records.read(name, options, function(each, ...)
      for rec, extra in each, ... do list[#list + 1] = { rec, extra } end
    end)
  end
  return body(function()
    i = i + 1
    if list[i] then return list[i][1], list[i][2] end
  end)
end

return records
