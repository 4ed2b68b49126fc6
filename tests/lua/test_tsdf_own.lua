-- The arms of hash/tsdf_fuse with sums in a layout of their own: every knob, and faults that the
-- gate must see through the export.
local lu = require "luaunit"
local core = require "perigee.core"
local catalogue = require "perigee.catalogue"
local impl = require "perigee.impl"
local judge = require "perigee.judge"

local ARMS = { "cuda-own", "cuda-own-warp", "cuda-own-run" }

local task = catalogue.find("hash/tsdf_fuse")[1]

local function declared(name)
  for _, one in ipairs(task.impls) do
    if one.name == name then return one end
  end
  error("no arm " .. name)
end

local function run(how)
  local session <close> = judge.session { device = "sim:check", seed = 21 }
  local count = 0
  how.cells = { "base" }
  session:run(task, how, function(rec)
    count = count + 1
    lu.assertEquals(rec.verdict, "passed", ("%s: %s"):format(rec.impl, rec.reason))
    lu.assertTrue(rec.export_us > 0)
  end)
  lu.assertTrue(count > 0)
end

TestOwn = {}

function TestOwn:setUp()
  if not core.compiler_info() then lu.skip("no NVRTC on this machine") end
end

-- Every value of every knob in one of these.
function TestOwn:test_every_knob()
  for _, choice in ipairs {
    { BLOCK = 64, RUN = 2, ROWS = 3, FLOATS = 5, PAIR = 0, BRICK = 0, AHEAD = 2, PER_SM = 16 },
    { BLOCK = 128, RUN = 3, ROWS = 1, FLOATS = 8, PAIR = 0, BRICK = 1, AHEAD = 0, PER_SM = 10 },
    { BLOCK = 512, RUN = 4, ROWS = 1, FLOATS = 8, PAIR = 1, BRICK = 0, AHEAD = 1, PER_SM = 0 },
  } do
    run { impls = ARMS, knobs = choice }
  end
end

function TestOwn:test_published_weights_with_a_cap()
  run { impls = ARMS, set = { compat = "published", rows = 96, cols = 96, radius = 0.06 } }
end

function TestOwn:test_a_pool_that_is_too_small()
  run { impls = ARMS, set = { capacity = 20, table_size = 256 } }
end

-- ---- faults ----

local folder = os.tmpname()
os.remove(folder)
core.mkdir_all(folder)

-- An arm with one thing of its source changed, which must be there to change.
local function changed(name, from, to)
  local arm = impl.resolve(task, declared(name))
  local text = core.read_file(arm.path)
  local at, last = text:find(from, 1, true)
  lu.assertNotNil(at, "not in the source: " .. from)
  for _, file in ipairs { "tsdf.cuh", "warp_sum.cuh", "lean_walk.cuh" } do
    local header = core.read_file(core.home .. "/kernels/tsdf/" .. file)
    core.write_file(folder .. "/" .. file, header)
  end
  arm.path = folder .. "/fuse_own.cu"
  core.write_file(arm.path, text:sub(1, at - 1) .. to .. text:sub(last + 1))
  return arm
end

local function assert_fails(arm, reason)
  local session <close> = judge.session { device = "sim", seed = 22 }
  local rec = session:check(task, arm, { set = { rows = 40, cols = 80, radius = 0.09 } })
  lu.assertEquals(rec.verdict, reason and "wrong_result" or "passed", rec.reason)
  if reason then lu.assertStrContains(rec.reason, reason) end
end

function TestOwn:test_the_unchanged_source_passes()
  assert_fails(changed("cuda-own-run", "// Stage", "// Stage"), nil)
end

function TestOwn:test_points_of_one_thread_that_are_not_joined()
  assert_fails(changed("cuda-own-run", "sum.seen.g += term.seen.g;", ""), "sum of g")
end

function TestOwn:test_a_point_that_takes_the_block_beside_it()
  assert_fails(changed("cuda-own-run", "& ~7) == 0", "& ~15) == 0"), "no lost block")
end

function TestOwn:test_an_export_that_forgets_an_array()
  assert_fails(changed("cuda-own", "b[at] = *fifth_of(sums, voxel);", ""), "sum of b")
end

function TestOwn:test_an_export_in_the_wrong_order()
  assert_fails(changed("cuda-own", "if (!BRICK) return v;", "if (BRICK) return v;"), "sum of")
end

local status = lu.LuaUnit.run()
os.execute("rm -rf '" .. folder .. "'")
os.exit(status)
