--- C compiled by the system's compiler when a script runs, and called through ffi:
-- `local lib = pg.native { source = [[ double twice(double x) { return 2 * x; } ]] }`.
-- What was compiled is kept in the user's cache, by the content, the compiler and its flags.
-- @module perigee.native

local core = require "perigee.core"
local files = require "perigee.files"
local params = require "perigee.params"
local prototypes = require "perigee.prototypes"
local shell = require "perigee.shell"
local suggest = require "perigee.suggest"

local native = {}

-- What they may be, by words that have the names of the types.
local OPTIONS = { source = "string", file = "string", cdef = "string", openmp = "boolean",
  flags = "string or table of strings" }
-- As the host is compiled: a reference rounds where its source says. `now`: a function that is
-- nowhere is an error when the library is loaded, not the end of the process when it is called;
-- the linker names its callers, by the line tables of DWARF 4 (binutils misreads files in 5).
-- What newer compilers refuse: a call without a declaration passes and returns int.
local FLAGS = "-shared -fPIC -O3 -gdwarf-4 -std=gnu11 -ffp-contract=off "
  .. "-Wl,-z,nodelete,-z,now,-z,defs,--warn-unresolved-symbols "
  .. "-Werror=implicit-function-declaration -Werror=int-conversion "
  .. "-Werror=incompatible-pointer-types"
-- What a library carries beside: the declarations of what its source offers.
local CARRIED = "extern const char pg_native_declarations[];"

local loaded = {} -- key -> library: a second declaration of its types would be an error
local compilers = {} -- $CC -> { name, version, openmp }

local function compiler()
  local name = os.getenv "CC"
  if not name or name == "" then name = "cc" end
  local known = compilers[name]
  if known then return known end
  local version, ok = shell.output(name .. " --version")
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
    local _, ok = shell.output("echo 'int main(void) { return 0; }' | " .. cc.name ..
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
  for level = 3, 32 do -- from whoever called native.open
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

--- A text with a #line directive, so that what the compiler says names the script's own lines.
local function placed(source, path, line)
  return ('#line %d "%s"\n%s\n'):format(line, path:gsub('[\\"]', "\\%0"), source)
end

-- ---- compiling ------------------------------------------------------------------------------

--- The first error among what the compiler printed, or what the linker misses: place and text.
local function first_error(log)
  for line in log:gmatch "[^\n]+" do
    local place, text = line:match "^(.-:%d+):%d+: [%a ]*error: (.*)"
    if not place then -- "ld: a.o: in function `f': t.c:3: warning: undefined reference to `g'"
      place, text = line:gsub("^[^:]*ld: ", ""):gsub("^[^:]*%.o: ?", "")
        :match "(.-:%d+): [%a: ]*(undefined reference to .*)"
    end
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

--- What the compiler prints when it does what it is told to.
local function run(cc, words)
  local log, ok = shell.output(cc.name .. " " .. words)
  if not ok then fail(log) end
  return log
end

--- The text as the compiler reads it, after its directives.
local function expanded(cc, flags, text)
  return files.in_temporary(function(folder)
    local from, to = files.join(folder, "source.c"), files.join(folder, "source.i")
    files.write(from, text)
    run(cc, ("%s -E -x c - -o %s <%s"):format(flags, shell.quoted(to), shell.quoted(from)))
    return files.read(to)
  end)
end

local ESCAPES = { ["\\"] = "\\\\", ['"'] = '\\"', ["\n"] = "\\n", ["\f"] = "\\f" }

--- Make the library. Its declarations are in it, so that the next start need not look for them.
local function compile(cc, flags, text, declarations, to, folder)
  local source, carried = files.join(folder, "source.i"), files.join(folder, "declarations.c")
  files.write(source, text)
  files.write(carried, ('__attribute__((visibility("default"))) '
    .. 'const char pg_native_declarations[] = "%s";\n'):format(
    declarations:gsub('[\\"\n\f]', ESCAPES)))
  return run(cc, ("%s %s %s -o %s -lm"):format(shell.quoted(source), shell.quoted(carried), flags,
    shell.quoted(to)))
end

--- Open what was compiled; `log` is what was said then.
local function open(path, log)
  local ok, library = pcall(require "ffi".load, path)
  if ok then return library end
  os.remove(path) -- or the next start would not know why
  if log and log:find "undefined" then fail(log) end
  core.error("compile_error", "C does not load: " .. library.message, library.hint)
end

--- The library by its key, compiled by `make` unless it is in the cache; and whether it was.
local function build(key, make)
  local cache, log = files.cache "native", nil
  local function into(part, folder) log = make(part, folder) end
  if cache and core.mkdir_all(cache) then
    local path = files.join(cache, key .. ".so")
    local cached = files.is_file(path)
    if not cached then files.make(path, into) end
    return open(path, log), cached
  end
  return files.in_temporary(function(folder) -- what is loaded needs its file no more
    local path = files.join(folder, key .. ".so")
    into(path, folder)
    return open(path, log)
  end), false
end

-- ---- declaring ------------------------------------------------------------------------------

--- The place of a function in the source.
local function place_of(name, source, path, line)
  local at = name and source:find("%f[%w_]" .. name .. "%f[^%w_]%s*%(")
  return at and ("%s:%d"):format(path, line + select(2, source:sub(1, at):gsub("\n", "")))
end

--- Declare something and take all that it names from the library now, while its types are those:
-- a later source may have the same names with others.
local function declare(library, text)
  require "ffi".cdef(text)
  for word in text:gmatch "[%a_][%w_]*" do pcall(function() return library[word] end) end
end

--- Declare what the source was found to offer.
local function declare_own(library, source, path, line)
  local ffi = require "ffi"
  ffi.cdef(CARRIED)
  for text in ffi.string(library.pg_native_declarations):gmatch "[^\f]+" do
    local ok, e = pcall(declare, library, text)
    if not ok then
      local name = text:match "([%a_][%w_]*)%s*%b()%s*;$"
      local reason = e.message:gsub("^C declaration, line %d+, column %d+: ", "")
      core.error(e.code, ("%s cannot be declared: %s"):format(name or "a type of the source",
        reason), "give cdef = [[ ... ]]: what is called from here, for example with void * where "
        .. "types of headers are in the way", place_of(name, source, path, line))
    end
  end
end

-- ---- pg.native ------------------------------------------------------------------------------

local function check(how)
  if type(how) ~= "table" then
    core.error("invalid", "bad argument #1 to 'native': expected table, got " .. type(how))
  end
  for name, value in pairs(how) do
    local types = OPTIONS[name] or core.error("invalid", ("unknown option '%s'"):format(
      tostring(name)), suggest.hint(tostring(name), params.names(OPTIONS), "options"))
    if not types:find(type(value), 1, true) then
      core.error("invalid", ("option '%s': expected %s, got %s"):format(name, types, type(value)))
    end
  end
  if (how.source == nil) == (how.file == nil) then
    core.error("invalid", "expected either 'source' or 'file'")
  end
end

local function flags_of(how)
  local given = type(how.flags) == "string" and { how.flags } or how.flags or {}
  local list = { FLAGS }
  for i, flag in ipairs(given) do
    if type(flag) ~= "string" then
      core.error("invalid", ("option 'flags', number %d: expected string, got %s"):format(i,
        type(flag)))
    end
    list[i + 1] = shell.quoted(flag)
  end
  if how.file then list[#list + 1] = "-I" .. shell.quoted(files.dirname(how.file)) end
  return table.concat(list, " ")
end

--- Compile C and open it.
-- @tparam table how `source` (C text) or `file` (its path); `cdef`: declarations for ffi, without
--   it those of the source's own types and of its functions that are not static; `flags`: a list
--   for the compiler; `openmp = true`: with OpenMP where the compiler has it, said on standard
--   error when not
-- @treturn library its functions by name, as `ffi.load` gives
-- @treturn table {cached, openmp, compiler}
-- Raises environment (no compiler), compile_error (`where` is the line, `log` all that was said; a
-- function that is nowhere, too), syntax (a declaration that ffi cannot read), not_found (the
-- file).
function native.open(how)
  check(how)
  local source = how.source or files.read(how.file)
  local cc, flags = compiler(), flags_of(how)
  local openmp = how.openmp and has_openmp(cc) or false
  if how.openmp and not openmp then
    io.stderr:write(("pg.native: %s has no OpenMP: one thread\n"):format(cc.name))
  end
  if openmp then flags = flags .. " -fopenmp" end
  local path, line = how.file, 1
  if not path then path, line = script_place(source) end
  local text, whole = placed(source, path, line), nil
  if text:find '#%s*include%s*"' then whole = expanded(cc, flags, text) end -- they may change
  local key = core.sha256(table.concat({ core.version, cc.name, cc.version, flags,
    whole or text }, "\0"))
  local info = { cached = true, openmp = openmp, compiler = cc.version }
  if not loaded[key] then
    local library
    library, info.cached = build(key, function(part, folder)
      whole = whole or expanded(cc, flags, text)
      local offered = table.concat(prototypes.of(whole, path), "\f")
      return compile(cc, flags, whole, offered, part, folder)
    end)
    if how.cdef then declare(library, how.cdef)
    else declare_own(library, source, path, line) end
    loaded[key] = library
  end
  return loaded[key], info
end

return native
