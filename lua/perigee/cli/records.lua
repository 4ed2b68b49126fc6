--- Records that a command line names: a JSONL file, or a session of the results store.
-- @module perigee.cli.records

local files = require "perigee.files"
local store = require "perigee.store"

local records = {}

-- {id, samples} of a record in a file; its number is that of its line.
local function lines_of(path)
  local next_line = store.lines(path)
  return function()
    local number, whole = next_line()
    if not whole then return nil end
    local rec, extra = store.parts(whole)
    extra.id = number
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
  local path = store.path(options.db)
  local file = name:find("/", 1, true) or name:match("%.jsonl?$")
  if file or not files.is_file(path) then
    files.find(name, { "." }, not file and "and no results store in " .. path or nil)
  end
  local opened <close> = store.open(path, { readonly = true })
  return body(opened:records(opened:find_session(name)))
end

return records
