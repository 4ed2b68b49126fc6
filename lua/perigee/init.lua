--- Perigee's Lua library: `local pg = require "perigee"`.
-- Parts are loaded when they are first used, so that a script starts in a moment.
--
-- * `pg.device(name)` opens a device; `dev:compile`, `dev:upload`, `kernel:launch` (see
--   perigee.device)
-- * `pg.array(dtype, shape)`, `pg.struct(name, fields)`, `pg.from_bytes(dtype, shape, text)`
-- * `pg.measure(dev, body, options)` times launches; `pg.summarize(samples)`, `pg.ratio(a, b)`
--   are its statistics
-- * `pg.task{...}`, `pg.spec(dtype, shape, init)` declare tasks (tasks/README.md)
-- * `pg.run(task, how)`, `pg.check(task, candidate, how)` evaluate them, as the commands do
-- * `pg.compare(want, got, tolerance)` compares arrays, NaN-safe (validators/README.md)
-- * `pg.product(a, b, { a_transposed =, b_transposed = })` multiplies matrices in float64
-- * `pg.native{ source = "C" }` compiles C with the system's compiler and calls it through ffi
-- * `pg.json.encode(value)`, `pg.json.decode(text)`
-- * `pg.error(code, message, hint, where)` raises an error table
-- @module perigee

local core = require "perigee.core"

local pg = {
  version = core.version, home = core.home, array = core.array, struct = core.struct,
  from_bytes = core.from_bytes, from_list = core.from_list, compare = core.compare,
  row_norms = core.row_norms, is_array = core.is_array, summarize = core.summarize,
  ratio = core.ratio, product = core.product,
  compare_rows = core.compare_rows, duplicate_rows = core.duplicate_rows,
  first_unsorted = core.first_unsorted, check_permutation = core.check_permutation,
  gather = core.gather, test_draws = core.test_draws, repeated_windows = core.repeated_windows,
  error = core.error, sha256 = core.sha256,
  json = { encode = core.json_encode, decode = core.json_decode, array = core.json_array,
    null = core.null },
}

-- name -> {module, field}; field nil: the module itself.
local LATER = {
  device = { "perigee.device", "open" },
  measure = { "perigee.measure" },
  spec = { "perigee.buffers", "spec" },
  rng = { "perigee.rng", "new" },
  ctype = { "perigee.signature", "ctype" },
  npy = { "perigee.npy" },
  catalogue = { "perigee.catalogue" },
  judge = { "perigee.judge" },
  run = { "perigee.evaluate", "run" },
  check = { "perigee.evaluate", "check" },
  tune = { "perigee.evaluate", "tune" },
  native = { "perigee.native", "open" },
}

-- pg.task reports the place of its call: the function itself, not a wrapper.
LATER.task = { "perigee.task", "new" }

local function all_names()
  local seen, names = {}, {}
  for _, known in ipairs { pg, LATER } do
    for name in next, known do
      if not seen[name] then names[#names + 1] = name end
      seen[name] = true
    end
  end
  table.sort(names)
  return names
end

-- All names in order, loaded by now or not.
local function each(_)
  local names, i = all_names(), 0
  return function()
    i = i + 1
    if names[i] then return names[i], pg[names[i]] end
  end
end

return setmetatable(pg, {
  __pairs = each,
  __index = function(_, name)
    local where = LATER[name]
    if not where then
      local names = all_names()
      core.error("not_found", ("perigee has no '%s'"):format(tostring(name)),
        require("perigee.suggest").hint(tostring(name), names, "names"))
    end
    local value = require(where[1])
    if where[2] then value = value[where[2]] end
    rawset(pg, name, value)
    return value
  end,
})
