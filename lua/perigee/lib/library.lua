--- Numerical libraries of the system, found when they are first used and called through ffi. What
-- the files beside this one share: looking for a library by several names, errors that name the
-- package, checks of matrices.
-- @module perigee.lib.library

local core = require "perigee.core"
local ffi = require "ffi"
local suggest = require "perigee.suggest"

local library = {}

-- The first of the names that can be loaded and has the symbol.
local function find(one)
  for _, name in ipairs(one.names) do
    local ok, found = pcall(ffi.load, name)
    if ok and pcall(function() return found[one.symbol] end) then return found, name end
  end
  return nil
end

--- Declare a library; nothing is loaded before it is used.
-- @tparam table one `what` (its name in messages), `names` (files, in the order to look for them),
--   `symbol` (a function that it must have), `cdef` (declarations), `package` (Debian's), and
--   `prepare` (a function that gets the library when it is loaded)
-- @treturn function that gives the library, and the name it was found by; raises environment when
--   it is missing
-- @treturn function whether it is there
function library.declare(one)
  local state = {}
  local function look()
    if not state.searched then
      ffi.cdef(one.cdef)
      state.searched, state.found, state.name = true, find(one)
      if state.found and one.prepare then one.prepare(state.found) end
    end
    return state.found
  end
  local function open()
    if not look() then
      core.error("environment", ("there is no %s here (%s)"):format(one.what,
        table.concat(one.names, ", ")), "Debian: apt-get install " .. one.package)
    end
    return state.found, state.name
  end
  return open, function() return look() ~= nil end
end

local function say(shape)
  return "{ " .. table.concat(shape, ", ") .. " }"
end

--- Refuse what is no array of these dtypes, or of another number of extents.
-- @tparam string where name of the function
-- @tparam string name of the argument
-- @tparam array array
-- @tparam string dtypes separated by spaces
-- @tparam[opt] integer ndim
function library.check(where, name, array, dtypes, ndim)
  if not core.is_array(array) then
    core.error("invalid", ("%s: %s: expected an array of %s, got %s"):format(where, name,
      dtypes:gsub(" ", " or "), type(array)))
  end
  if array.struct or not (" " .. dtypes .. " "):find(" " .. array.dtype .. " ", 1, true) then
    core.error("invalid", ("%s: %s: expected an array of %s, got one of %s"):format(where, name,
      dtypes:gsub(" ", " or "), array.dtype), name .. ':cast("f64") makes a copy')
  end
  if ndim and array.ndim ~= ndim then
    core.error("invalid", ("%s: %s: expected %d extents, got %s"):format(where, name, ndim,
      say(array.shape)))
  end
end

--- Refuse an array whose shape is not the one expected.
function library.check_shape(where, name, array, shape)
  local same = array.ndim == #shape
  for i, extent in ipairs(array.shape) do same = same and extent == shape[i] end
  if not same then
    core.error("invalid", ("%s: %s: expected shape %s, got %s"):format(where, name, say(shape),
      say(array.shape)))
  end
end

local function address(array)
  return ffi.tonumber(ffi.cast("uintptr_t", ffi.cast("const void *", array)))
end

--- Refuse a result that lies in the memory of an argument: it would be read when it is half new.
-- @tparam string where name of the function
-- @tparam string name of the result
-- @tparam array array the result
-- @tparam table others arguments by name
function library.check_apart(where, name, array, others)
  local from = address(array)
  for other, argument in pairs(others) do
    local start = address(argument)
    if from < start + argument.nbytes and start < from + array.nbytes then
      core.error("invalid", ("%s: %s has memory in common with %s"):format(where, name, other),
        name .. " = " .. other .. ":copy() keeps them apart")
    end
  end
end

--- Refuse options that are not known.
-- @tparam string where name of the function
-- @tparam table options or nil
-- @tparam table known list of names
-- @treturn table the options
function library.options(where, options, known)
  if options == nil then return {} end
  if type(options) ~= "table" then
    core.error("invalid", ("%s: options: expected table, got %s"):format(where, type(options)))
  end
  for name in pairs(options) do
    if not suggest.has(known, name) then
      core.error("invalid", ("%s: unknown option '%s'"):format(where, tostring(name)),
        suggest.hint(tostring(name), known, "options"))
    end
  end
  return options
end

return library
