--- C compiled by the system's compiler when a script runs, and called through ffi:
-- `local lib = pg.native { source = [[ double twice(double x) { return 2 * x; } ]] }`.
-- What was compiled is kept in the user's cache, by the content, the compiler and its flags.
-- @module perigee.native

local core = require "perigee.core"
local files = require "perigee.files"
local prototypes = require "perigee.prototypes"
local suggest = require "perigee.suggest"

local native = {}

local OPTIONS = { "source", "file", "cdef", "flags", "openmp" }
-- As the host is compiled: a reference rounds where its source says.
local FLAGS = "-shared -fPIC -O3 -g -std=gnu11 -ffp-contract=off -Wl,-z,nodelete"

local loaded = {} -- key -> { library, info }: a second declaration of its types would be an error
local compilers = {} -- $CC -> { name, version, openmp }

local function quoted(word)
  return "'" .. word:gsub("'", "'\\''") .. "'"
end

--- What a shell command prints, both streams, and whether it ended well.
local function output_of(command)
  local pipe = io.popen(command .. " 2>&1", "r")
  local text = pipe:read "a"
  return text, pipe:close() == true
end

local function compiler()
  local name = os.getenv "CC"
  if not name or name == "" then name = "cc" end
  local known = compilers[name]
  if known then return known end
  local version, ok = output_of(name .. " --version")
  if not ok then
    core.error("environment", ("there is no C compiler here: '%s' does not run"):format(name),
      "install gcc, or name a compiler in $CC")
  end
  compilers[name] = { name = name, version = version:match "[^\n]*" }
  return compilers[name]
end

--- Whether the compiler has OpenMP. Asked only when something is to be compiled with it.
local function has_openmp(cc)
  if cc.openmp == nil then
    local _, ok = output_of("echo 'int main(void) { return 0; }' | " .. cc.name ..
      " -fopenmp -x c - -o /dev/null")
    cc.openmp = ok
  end
  return cc.openmp
end

-- ---- where the source stands ----------------------------------------------------------------

--- Line of a Lua file on which the text begins, or nil when it is not there as it is.
local function line_in(path, text)
  local whole = core.read_file(path)
  local at = whole and whole:find(text, 1, true)
  if not at then return nil end
  return select(2, whole:sub(1, at - 1):gsub("\n", "")) + 1
end

--- File and line of the script: the nearest caller that holds the text, else the nearest.
local function script_place(text)
  local nearest
  for level = 4, 32 do -- of whoever called native.open
    local frame = debug.getinfo(level, "Sl")
    if not frame then break end
    local path = frame.source:match "^@(.*)"
    if path and frame.currentline > 0 then
      local line = line_in(path, text)
      if line then return path, line end
      nearest = nearest or ("%s:%d: C source"):format(path, frame.currentline)
    end
  end
  return nearest or "C source", 1
end

--- A #line directive, so that what the compiler says names the script's own lines.
local function placed(source, file)
  local path, line = file, 1
  if not file then path, line = script_place(source) end
  return ('#line %d "%s"\n%s\n'):format(line, path:gsub('[\\"]', "\\%0"), source)
end

-- ---- compiling ------------------------------------------------------------------------------

--- The first error among what the compiler printed: its place and its text.
local function first_error(log)
  for line in log:gmatch "[^\n]+" do
    local place, text = line:match "^(.-:%d+):%d+: [%a ]*error: (.*)"
    if place then return place, text end
  end
  return nil, log:match "[^\n]+" or "the compiler says nothing"
end

local function fail(log)
  local place, text = first_error(log)
  local ok, e = pcall(core.error, "compile_error", "C does not compile: " .. text, nil, place)
  if ok then return end
  e.log = log
  error(e, 0)
end

local function compile(cc, flags, text, to)
  local part = ("%s.%d.c"):format(to, core.getpid())
  local made = part:gsub("c$", "so")
  local ok, e = core.write_file(part, text)
  if not ok then core.error(e.code, e.message, e.hint, e.where) end
  local log, compiled = output_of(("%s %s %s -o %s -lm"):format(cc.name, flags, quoted(part),
    quoted(made)))
  os.remove(part)
  if not compiled then
    os.remove(made)
    fail(log)
  end
  assert(os.rename(made, to)) -- whole or not at all: others may load it now
end

--- A folder for compiled libraries, and whether it stays.
local function folder()
  local cache = files.cache "native"
  if cache and core.mkdir_all(cache) then return cache, true end
  local temporary = os.tmpname()
  os.remove(temporary)
  return temporary, not core.mkdir_all(temporary)
end

local function build(cc, flags, text)
  local key = core.sha256(table.concat({ core.version, cc.name, cc.version, flags, text }, "\0"))
  if loaded[key] then return key, nil, true end
  local where, stays = folder()
  local path = files.join(where, key .. ".so")
  local cached = files.is_file(path)
  if not cached then compile(cc, flags, text, path) end
  local library = require "ffi".load(path)
  if not stays then -- what is loaded needs its file no more
    os.remove(path)
    os.remove(where)
  end
  return key, library, cached
end

-- ---- pg.native ------------------------------------------------------------------------------

local function check(how)
  if type(how) ~= "table" then
    core.error("invalid", "bad argument #1 to 'native': expected table, got " .. type(how))
  end
  for name in pairs(how) do
    local known = false
    for _, option in ipairs(OPTIONS) do known = known or option == name end
    if not known then
      core.error("invalid", ("unknown option '%s'"):format(tostring(name)),
        suggest.hint(tostring(name), OPTIONS, "options"))
    end
  end
  if (how.source == nil) == (how.file == nil) then
    core.error("invalid", "expected either 'source' or 'file'")
  end
  for _, name in ipairs { "source", "file", "cdef" } do
    if how[name] ~= nil and type(how[name]) ~= "string" then
      core.error("invalid", ("option '%s': expected string, got %s"):format(name, type(how[name])))
    end
  end
end

local function flags_of(how)
  local given = how.flags or {}
  if type(given) == "string" then given = { given } end
  local list = { FLAGS }
  for i, flag in ipairs(given) do list[i + 1] = quoted(flag) end
  if how.file then list[#list + 1] = "-I" .. quoted(files.dirname(how.file)) end
  return table.concat(list, " ")
end

--- Compile C and open it.
-- @tparam table how `source` (C text) or `file` (its path); `cdef`: declarations for ffi, without
--   it those of the source's own types and of its functions that are not static; `flags`: a list
--   for the compiler; `openmp = true`: with OpenMP where the compiler has it, said on standard
--   error when not
-- @treturn library its functions by name, as `ffi.load` gives
-- @treturn table {cached, openmp, compiler}
-- Raises environment (no compiler), compile_error (`where` is the line, `log` all that was said),
-- syntax (a declaration that ffi cannot read), not_found (the file).
function native.open(how)
  check(how)
  local source = how.source or files.read(how.file)
  local cc, flags = compiler(), flags_of(how)
  local openmp = how.openmp and has_openmp(cc) or false
  if how.openmp and not openmp then
    io.stderr:write(("pg.native: %s has no OpenMP: one thread\n"):format(cc.name))
  end
  if openmp then flags = flags .. " -fopenmp" end
  local text = placed(source, how.file)
  local key, library, cached = build(cc, flags, text)
  if not loaded[key] then
    require "ffi".cdef(how.cdef or prototypes.of(source))
    loaded[key] = library
  end
  return loaded[key], { cached = cached, openmp = openmp, compiler = cc.version }
end

return native
