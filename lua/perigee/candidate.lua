--- Candidates that are folders: sources and a plan.lua, which is data. It is read as text, in an
-- environment with no library and within limits of time and memory (host/bind/data.c), and whatever
-- it names lies in its folder.
-- @module perigee.candidate

local core = require "perigee.core"
local files = require "perigee.files"
local flags = require "perigee.flags"
local implementation = require "perigee.impl"
local knobs = require "perigee.knobs"
local params = require "perigee.params"
local suggest = require "perigee.suggest"

local candidate = {}

-- Field -> types it may have.
local FIELDS = {
  file = "string", lang = "string", kernel = "string table", launch = "table", args = "table",
  scratch = "table", export = "table", define = "table", include = "table", options = "table",
  knobs = "table", where = "table string", doc = "string",
}
local PLAN_MOST = 1 << 20 -- bytes that are read of a plan.lua; the reader of data allows fewer

local function fail(where, hint, text, ...)
  core.error("invalid", text:format(...), hint, where)
end

-- ---- places in the folder ----

-- The path of `name` in the folder, which must not lead out of it.
local function inside(folder, name, what, where)
  if type(name) ~= "string" or name == "" then
    fail(where, nil, "%s: expected a path in the folder, got %s", what,
      name == "" and "an empty string" or "a " .. type(name))
  end
  local path = files.join(folder, name)
  local real, root = core.realpath(path), core.realpath(folder)
  local outside = name:sub(1, 1) == "/" or ("/" .. name .. "/"):find("/../", 1, true)
    or real and real ~= root and real:sub(1, #root + 1) ~= root .. "/"
  if outside then
    fail(where, "copy what the candidate needs into its folder",
      "%s: '%s' leads out of the candidate's folder", what, name)
  end
  if not real then
    core.error("not_found", ("%s: no '%s' in %s"):format(what, name, folder),
      suggest.hint(name, core.list_dir(folder) or {}, "names"), where)
  end
  return path
end

local function sources_in(folder)
  local names = {}
  for _, name in ipairs(core.list_dir(folder) or {}) do
    if implementation.LANGUAGES[files.extension(name)] then names[#names + 1] = name end
  end
  return names
end

-- The main source: what `file` says, else the only one that is there.
local function source_of(folder, given, where)
  local names = sources_in(folder)
  if given == nil then
    if #names ~= 1 then
      fail(where, #names == 0 and "expected a .cu, .rs, .py or .ptx file"
        or ('say which: file = "%s"'):format(names[1]),
        "the folder has %s", #names == 0 and "no source" or #names .. " sources: "
          .. table.concat(names, ", "))
    end
    given = names[1]
  end
  local path = inside(folder, given, "file", where)
  if not files.is_file(path) then fail(where, nil, "file: '%s' is no file", given) end
  return path
end

local function language_of(path, given, where)
  if given ~= nil then return implementation.known_language(given, where) end
  return implementation.LANGUAGES[files.extension(path)]
    or fail(where, 'say it: lang = "cuda", "rust", "triton" or "ptx"',
      "cannot tell the language of '%s'", files.basename(path))
end

local function folders_of(folder, list, where)
  local found = {}
  for i, name in ipairs(list or {}) do
    found[i] = inside(folder, name, "include", where)
    if not files.is_folder(found[i]) then fail(where, nil, "include: '%s' is no folder", name) end
  end
  return found
end

-- ---- fields ----

local function check_fields(plan, where)
  if type(plan) ~= "table" then
    fail(where, "write: return { ... }", "expected a table, got a %s", type(plan))
  end
  for field, value in pairs(plan) do
    local allowed = FIELDS[field]
    if not allowed then
      fail(where, suggest.hint(tostring(field), params.names(FIELDS), "fields"),
        "unknown field '%s'", tostring(field))
    end
    if not (" " .. allowed .. " "):find(" " .. type(value) .. " ", 1, true) then
      fail(where, nil, "field '%s': expected %s, got a %s", field, (allowed:gsub(" ", " or ")),
        type(value))
    end
  end
end

-- A plain list, or an error: a name in it would be passed over.
local function check_list(list, what, where)
  local count = 0
  for _ in pairs(list or {}) do count = count + 1 end
  for key in pairs(list or {}) do
    if math.type(key) ~= "integer" or key < 1 or key > count then
      fail(where, ('write %s = { "...", "..." }'):format(what), "%s: expected a list, got the key "
        .. "'%s'", what, tostring(key))
    end
  end
end

local function check_define(define, where)
  for name, value in pairs(define or {}) do
    if type(name) ~= "string" or not name:match("^[%a_][%w_]*$") then
      fail(where, "write define = { BLOCK = 256 }", "define: '%s' is no macro name", tostring(name))
    end
    if type(value) == "table" then
      fail(where, "write define = { BLOCK = 256 }",
        "define %s: expected a number, a string or a boolean, got a table", name)
    end
    if type(value) == "string" and value:find("[%c]") then
      fail(where, nil, "define %s: a value is one line", name)
    end
    if type(value) == "number" and value - value ~= 0 then
      fail(where, nil, "define %s: %s is no number that C++ reads", name, value)
    end
  end
end

local function read_plan(path, shown)
  if not core.file_info(path) then return {} end -- the defaults are a plan, too
  if not files.is_file(path) then fail(shown, nil, "plan.lua is no file") end
  local plan = core.read_data(files.read(path, PLAN_MOST), shown)
  check_fields(plan, shown)
  for _, field in ipairs { "args", "include", "options" } do
    check_list(plan[field], field, shown)
  end
  check_define(plan.define, shown)
  return plan
end

local function build(folder, plan, where)
  local path = source_of(folder, plan.file, where)
  return {
    lang = language_of(path, plan.lang, where), path = path, shown = path,
    kernel = plan.kernel, launch = plan.launch, args = plan.args, scratch = plan.scratch,
    export = plan.export, define = plan.define, include = folders_of(folder, plan.include, where),
    options = flags.check(plan.options or {}, where),
    space = knobs.declare(plan.knobs, plan.where, where), doc = plan.doc, plan = plan,
  }
end

--- Read a candidate folder.
-- @tparam string folder
-- @treturn table what impl.resolve returns, and `plan`, the data of its plan.lua
-- @raise "invalid", "range", "syntax", "not_found", "unsupported" with "folder/plan.lua:line" or
--   "folder/plan.lua"
function candidate.read(folder)
  folder = folder:gsub("(.)/+$", "%1")
  local where = files.join(folder, "plan.lua")
  local one = build(folder, read_plan(where, where), where)
  one.where, one.is_data = where, true
  one.name = files.basename(core.realpath(folder))
  return one
end

return candidate
