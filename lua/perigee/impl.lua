--- Implementations and candidates: from a declaration in a task, or a file named on the command
-- line, to source text, compiler options and kernel name.
-- @module perigee.impl

local core = require "perigee.core"
local errors = require "perigee.errors"
local files = require "perigee.files"
local knobs = require "perigee.knobs"
local params = require "perigee.params"
local signature = require "perigee.signature"
local suggest = require "perigee.suggest"

local impl = {}

local SOURCE_MOST = 16 << 20 -- bytes; a larger source is a compile bomb

--- Extension -> language.
impl.LANGUAGES = { cu = "cuda", rs = "rust", py = "triton", ptx = "ptx" }
local KNOWN = { cuda = true, rust = true, triton = true, ptx = true }
local HOST = "host code in Lua is for experts that come with a task, never for a candidate"

--- The language of a file, by its extension.
-- @raise "invalid" for other files
function impl.language_of(path)
  if files.extension(path) == "lua" then
    core.error("invalid", ("'%s' is no device code: %s"):format(path, HOST),
      "expected .cu, .rs (Rust), .py (Triton) or .ptx")
  end
  return impl.LANGUAGES[files.extension(path)]
    or core.error("invalid", ("cannot tell the language of '%s'"):format(path),
      "expected .cu, .rs (Rust), .py (Triton) or .ptx")
end

--- A language by name. @raise "invalid" with the names
-- @tparam[opt] boolean trusted of a task's own implementation, which may be an expert in Lua
function impl.known_language(lang, where, trusted)
  if KNOWN[lang] or trusted and lang == "lua" then return lang end
  if lang == "lua" then core.error("invalid", HOST, nil, where) end
  core.error("invalid", ("there is no language '%s'"):format(tostring(lang)),
    suggest.hint(tostring(lang), { "cuda", "ptx", "rust", "triton" }, "languages"), where)
end

local function define_options(define, options, where)
  local names = {}
  for name in pairs(define) do
    if type(name) ~= "string" or not name:match("^[%a_][%w_]*$") then
      core.error("invalid", ("define: '%s' is no macro name"):format(tostring(name)), nil, where)
    end
    names[#names + 1] = name
  end
  table.sort(names) -- one order, so that the compile cache hits
  for _, name in ipairs(names) do
    local value = define[name]
    if value == true then options[#options + 1] = "-D" .. name
    elseif value then options[#options + 1] = ("-D%s=%s"):format(name, tostring(value)) end
  end
end

--- Compiler options of macros, include folders and further options.
-- @tparam table how {define = {NAME = value}, include = {folder...}, options = {...}}
function impl.options(how, where)
  local options = {}
  for _, folder in ipairs(how.include or {}) do options[#options + 1] = "-I" .. folder end
  define_options(how.define or {}, options, where)
  for _, option in ipairs(how.options or {}) do options[#options + 1] = option end
  return options
end

--- The implementation with a choice of its knobs.
-- @tparam table one what impl.resolve or impl.candidate returned
-- @tparam[opt] table choice name -> value or text; a knob left out has its default
-- @tparam[opt] boolean shared leave out what the choice says of other implementations' knobs
-- @treturn table a copy
function impl.choose(one, choice, shared)
  local own = {}
  for name, value in pairs(choice or {}) do
    if not shared or (one.space and one.space.by_name[name]) then own[name] = value end
  end
  return setmetatable({ choice = own }, { __index = one })
end

--- The knobs of a candidate's plan against the task and the choice: what is wrong makes it
-- `broken`, and its knobs are left out, so that a record can be made.
function impl.check_knobs(one, task, p)
  local ok, e = errors.catch("invalid", function()
    for _, name in ipairs(one.space.names) do
      if task.params[name] then
        core.error("invalid", ("knob %s has the name of a parameter"):format(name),
          "give it another name", one.where)
      end
    end
    impl.settings(one, p)
  end)
  if not ok then one.broken, one.space = e, false end
end

--- Refuse a choice that names a knob which none of several implementations has, or a value that it
-- has not. @raise "not_found" or "range" with what there is
function impl.check_choice(list, choice)
  local names, seen = {}, {}
  for _, one in ipairs(list) do
    for _, name in ipairs(one.space and one.space.names or {}) do
      if not seen[name] then names[#names + 1] = name end
      seen[name] = true
      local given = choice and choice[name]
      local alone = setmetatable({ constraints = {} }, { __index = one.space })
      if given ~= nil then knobs.resolve(alone, { [name] = given }) end
    end
  end
  for name in pairs(choice or {}) do
    if not seen[name] then
      core.error("not_found", ("unknown knob '%s'"):format(name),
        suggest.hint(name, names, "knobs"))
    end
  end
end

--- Parameters with the chosen values of the implementation's knobs over them.
-- @treturn table,table a copy of p (p itself without knobs), and the knobs' values
-- @raise "range" when the choice breaks a constraint
function impl.settings(one, p)
  if not one.space or #one.space.names == 0 then return p, {} end
  local values, all = knobs.resolve(one.space, one.choice, p), {}
  for name, value in pairs(p) do all[name] = value end
  for name, value in pairs(values) do all[name] = value end
  return all, values
end

--- What a field gives that is a table or a function of the parameters; nil when it is absent.
-- @raise what the function raises, with the field's name; "invalid" when it returns no table
function impl.field(one, name, p)
  local given = one[name]
  if type(given) ~= "function" then return given end
  local value = errors.call(name, one.where, given, (impl.settings(one, p)))
  if value ~= nil and type(value) ~= "table" then
    core.error("invalid", ("%s: expected a table, got %s"):format(name, type(value)), nil,
      one.where)
  end
  return value
end

--- A kernel's name with "{NAME}" replaced by a parameter or knob; a dtype by its C++ spelling.
-- @raise "not_found" with the nearest name
function impl.filled(text, p, where)
  return (text:gsub("{%s*([%w_]+)%s*}", function(name)
    if p[name] == nil then
      core.error("not_found", ("kernel %s: no parameter or knob '%s'"):format(text, name),
        suggest.hint(name, params.names(p), "names"), where)
    end
    return signature.native(p[name]) or tostring(p[name])
  end))
end

--- Folders that a task's relative paths are looked up in.
function impl.folders(task)
  local root = task.root or "."
  return { root, task.folder or root, core.home or "." }
end

--- An implementation that a task declares, with its file found.
-- @treturn table {name, lang, path, source = text in place of the file's, shown, define, include,
--   options, kernel, launch, args, ptx, scratch, export, space = its knobs, doc, where}
function impl.resolve(task, declared)
  local where = ("%s, implementation %s"):format(task.where or task.name, declared.name)
  local lang, file = declared[1] or declared.lang, declared[2] or declared.file
  if type(file) ~= "string" and not declared.source then
    core.error("invalid", "expected a language and a file",
      'write { "cuda", "kernels/vector/saxpy.cu" }', where)
  end
  impl.known_language(lang, where, true)
  local folders = impl.folders(task)
  local path = declared.source and files.join(folders[2], declared.name)
    or files.find(file, folders, where)
  return {
    name = declared.name, lang = lang, path = path, source = declared.source,
    shown = declared.source and declared.name .. ".cu" or files.shown(path),
    define = declared.define,
    include = declared.include, options = declared.options, kernel = declared.kernel,
    launch = declared.launch, args = declared.args, ptx = declared.ptx, scratch = declared.scratch,
    export = declared.export, with = declared.with,
    space = knobs.declare(declared.knobs, declared.where, where, task.params),
    doc = declared.doc, where = where, root = folders[1],
  }
end

--- A candidate: one source file, run with the task's own launch, or a folder with a plan.lua (see
-- perigee.candidate). A file has no `where`: mistakes of a launch or a signature are the task's.
-- `foreign`: its compiler may run host code of a stranger.
-- A folder whose plan cannot be read has `broken`, the error that says why: that is a verdict.
function impl.candidate(path)
  if files.is_folder(path) then
    local candidate = require "perigee.candidate"
    local ok, one = errors.catch("invalid", candidate.read, path)
    if ok then
      one.foreign = true
      return one
    end
    return { name = files.basename((path:gsub("/+$", ""))), shown = path, broken = one,
      is_data = true, foreign = true }
  end
  local lang = impl.language_of(path)
  local found = files.find(path, { "." })
  return { name = files.basename(path), lang = lang, path = found, shown = path, foreign = true }
end

-- Sources travel as JSON, which holds UTF-8 only: what is no text, as in comments of old encodings,
-- becomes "?", and a compiler complains about the rest.
local function as_text(source)
  if utf8.len(source) and not source:find("%z") then return source end
  return (source:gsub("[%z\128-\255]", "?"))
end

-- Macros: those of `define`, and each knob as one.
local function macros(one, p)
  local define = impl.field(one, "define", p)
  local _, values = impl.settings(one, p)
  if not next(values) then return define end
  local all = {}
  for name, value in pairs(define or {}) do all[name] = value end
  for name, value in pairs(values) do
    if type(value) == "boolean" then value = value and 1 or 0 end
    all[name] = value
  end
  return all
end

-- Template instances that the steps of a launch name.
local function instances_in(steps, add)
  if type(steps) ~= "table" then return end
  if type(steps.kernel) == "string" then add(steps.kernel) end
  for _, step in ipairs(steps) do instances_in(step, add) end
  instances_in(steps.steps, add)
end

-- Name expressions that the compiler is to instantiate.
local function expressions(one, p)
  local all, list, seen = impl.settings(one, p), {}, {}
  local function add(text)
    if type(text) ~= "string" or not text:find("<", 1, true) then return end
    local name = impl.filled(text, all, one.where)
    if not seen[name] then list[#list + 1] = name end
    seen[name] = true
  end
  local kernel = type(one.kernel) == "table" and one.kernel or { one.kernel }
  for _, text in pairs(kernel) do add(text) end
  instances_in(impl.field(one, "launch", p), add)
  instances_in(impl.field(one, "export", p), add)
  table.sort(list) -- one order, so that the compile cache hits
  return list
end

-- Macros as "NAME=VALUE", for the languages that have constants instead.
local function settings(define)
  local list = {}
  for name, value in pairs(define or {}) do list[#list + 1] = ("%s=%s"):format(name, value) end
  table.sort(list)
  return list
end

--- What to compile for parameters p: macros may depend on them.
-- @treturn table {source, name, options, expressions, lang, root = folder that may be read}
function impl.request(one, p)
  local define = macros(one, p)
  local include = { files.dirname(one.path) }
  for _, folder in ipairs(one.include or {}) do include[#include + 1] = folder end
  return {
    lang = one.lang, source = as_text(one.source or files.read(one.path, SOURCE_MOST)),
    name = one.shown, path = one.path,
    options = one.lang == "cuda" and impl.options({ define = define, include = include,
      options = one.options }, one.where) or settings(define),
    expressions = one.lang == "cuda" and expressions(one, p) or {},
    plain = not define and not one.options, ptx = one.ptx, root = one.root,
  }
end

return impl
