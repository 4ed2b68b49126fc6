--- Ceilings of a GPU: which limit a result is nearest to, what a stored file must hold, and that a
-- simulator has none.

local lu = require "luaunit"
local pg = require "perigee"
local ceilings = require "perigee.ceilings"
local measure = require "perigee.ceilings_measure"

TestCeilings = {}

local KNOWN = { copy = 4000, read = 4200, l2 = 9000, f32 = 60000, f64 = 30000, f16 = 600000 }

local function about(dtypes, bytes, method)
  local list = {}
  for i, dtype in ipairs(dtypes) do list[i] = { dtype_name = dtype } end
  return { case = { list = list, work = function() return { bytes = bytes } end },
    method = method or "cold", l2_bytes = 50e6 }
end

function TestCeilings:test_the_nearest_limit_counts()
  local share, limit = ceilings.share({ bandwidth = 2100, compute = 6000 }, KNOWN,
    about({ "f32" }, 1e9))
  lu.assertEquals({ share, limit }, { 0.5, "memory bandwidth" })
  share, limit = ceilings.share({ bandwidth = 2100, compute = 54000 }, KNOWN,
    about({ "f32" }, 1e9))
  lu.assertEquals({ share, limit }, { 0.9, "f32 arithmetic" })
end

function TestCeilings:test_arithmetic_is_that_of_the_widest_numbers_given()
  local function limit_of(...)
    return { ceilings.share({ compute = 15000 }, KNOWN, about({ ... }, nil)) }
  end
  lu.assertEquals(limit_of("f32", "f64", "f16"), { 0.5, "f64 arithmetic" })
  lu.assertEquals(limit_of("f16", "i32"), { 0.025, "f16 arithmetic" })
  lu.assertEquals(limit_of("i32"), { 0.25, "f32 arithmetic" })
  local sums = about({ "f16", "f16", "f32" }, nil)
  sums.case.list[3].role = "output"
  lu.assertEquals({ ceilings.share({ compute = 15000 }, KNOWN, sums) }, { 0.025, "f16 arithmetic" })
  local drawn = about({ "f32" }, nil)
  drawn.case.list[1].role = "output"
  lu.assertEquals({ ceilings.share({ compute = 15000 }, KNOWN, drawn) }, { 0.25, "f32 arithmetic" })
end

function TestCeilings:test_what_stays_in_l2_is_held_against_l2()
  local function limit_of(bytes, method)
    return { ceilings.share({ bandwidth = 4500 }, KNOWN, about({ "f32" }, bytes, method)) }
  end
  lu.assertEquals(limit_of(1e6, "hot"), { 0.5, "L2 bandwidth" })
  lu.assertEquals(limit_of(1e6, "batch"), { 0.5, "L2 bandwidth" })
  lu.assertEquals(limit_of(1e6, "cold")[2], "memory bandwidth")
  lu.assertEquals(limit_of(1e9, "hot")[2], "memory bandwidth")
end

function TestCeilings:test_nothing_is_said_of_what_is_not_known()
  lu.assertNil(ceilings.share({ compute = 1 }, { copy = 4000 }, about({ "f32" }, 1e9)))
  lu.assertNil(ceilings.share({ bandwidth = 1 }, { f32 = 4000 }, about({ "f32" }, 1e9)))
  lu.assertNil(ceilings.share({}, KNOWN, about({ "f32" }, 1e9)))
end

function TestCeilings:test_a_simulator_has_no_ceilings()
  local dev <close> = pg.device "sim"
  local ok, e = pcall(measure, dev)
  lu.assertFalse(ok)
  lu.assertEquals(e.code, "unsupported")
  lu.assertStrContains(e.message, "sim has no ceilings")
end

-- In a process of its own, whose data folder is another.
local function loaded(content)
  local folder = os.tmpname()
  os.remove(folder)
  local script = folder .. ".lua"
  assert(require "perigee.core".write_file(script, ([[
    local ceilings, core = require "perigee.ceilings", require "perigee.core"
    local path = ceilings.path "NVIDIA H200"
    core.mkdir_all(require "perigee.files".dirname(path))
    core.write_file(path, %q)
    local known, why = ceilings.load "NVIDIA H200"
    print(known and known.copy, why, path)
  ]]):format(content)))
  local pipe <close> = io.popen(("XDG_DATA_HOME='%s' '%s' '%s'"):format(folder,
    (os.getenv "BUILD" or "build") .. "/perigee", script))
  local text = pipe:read "a"
  os.execute(("rm -rf '%s' '%s'"):format(folder, script))
  return text
end

function TestCeilings:test_a_stored_file_is_read_or_refused()
  lu.assertStrMatches(loaded '{"gpu":"NVIDIA H200","copy":4100.5}',
    "4100.5\tnil\t.*/perigee/ceilings/nvidia%-h200%.json\n")
  for _, bad in ipairs { "", "[1", "7", "{}", '{"gpu":"other","copy":1}',
    '{"gpu":"NVIDIA H200","copy":"fast"}', '{"gpu":"NVIDIA H200","copy":0}' } do
    lu.assertStrContains(loaded(bad), "does not hold the ceilings of NVIDIA H200", bad)
  end
end

os.exit(lu.LuaUnit.run())
