-- The kernels of the TSDF tasks with one fault each, which the gate must reject for that fault; and
-- without one, which it must not.
local lu = require "luaunit"
local core = require "perigee.core"
local catalogue = require "perigee.catalogue"
local impl = require "perigee.impl"
local judge = require "perigee.judge"

TestFaults = {}

function TestFaults:setUp()
  if not core.compiler_info() then lu.skip("no NVRTC on this machine") end
end

local folder = os.tmpname()
os.remove(folder)
core.mkdir_all(folder)

-- The kernels with one thing changed, which must be there to change.
local function changed(file, from, to)
  for _, name in ipairs { "allocate.cu", "update.cu", "fuse.cu", "tsdf.cuh", "warp_sum.cuh" } do
    local text = core.read_file(core.home .. "/kernels/tsdf/" .. name)
    if name == file then
      local at, last = text:find(from, 1, true)
      lu.assertNotNil(at, "not in " .. file .. ": " .. from)
      text = text:sub(1, at - 1) .. to .. text:sub(last + 1)
    end
    core.write_file(folder .. "/" .. name, text)
  end
end

local function assert_fails(stage, reason, verdict)
  local session <close> = judge.session { device = "sim", seed = 12, timeout = 1 }
  local candidate = impl.candidate(("%s/%s.cu"):format(folder, stage))
  local rec = session:check(catalogue.find("hash/tsdf_" .. stage)[1], candidate, {})
  lu.assertEquals(rec.verdict, verdict or "wrong_result", rec.reason)
  lu.assertStrContains(rec.reason, reason)
end

function TestFaults:test_the_unchanged_kernels_pass_as_candidates()
  changed("tsdf.cuh", "#pragma once", "#pragma once")
  for _, stage in ipairs { "allocate", "update", "fuse" } do
    local session <close> = judge.session { device = "sim", seed = 12 }
    local candidate = impl.candidate(("%s/%s.cu"):format(folder, stage))
    local rec = session:check(catalogue.find("hash/tsdf_" .. stage)[1], candidate, {})
    lu.assertEquals(rec.verdict, "passed", rec.reason)
  end
end

function TestFaults:test_drops_that_are_not_counted()
  changed("tsdf.cuh", "atomicAdd(pool.drop_count, 1ull);", "")
  assert_fails("allocate", "drops: drop_count is 0")
end

-- Others wait for the block of that claim for ever.
function TestFaults:test_a_claim_that_is_undone()
  changed("tsdf.cuh", "const int block = place < pool.capacity ? place : kDropped;",
    "if (place >= pool.capacity) { entry->key = kEmpty; return kPending; }\n"
      .. "const int block = place;")
  assert_fails("allocate", "time limit", "timeout")
end

function TestFaults:test_coordinates_that_are_not_written()
  changed("tsdf.cuh", "pool.coord[3 * block + 1] = y;", "")
  assert_fails("allocate", "coordinates")
end

function TestFaults:test_probing_with_another_stride()
  changed("tsdf.cuh", "return (slot + 1) & mask;", "return (slot + 5) & mask;")
  assert_fails("allocate", "reachable")
end

function TestFaults:test_the_last_sample_left_out()
  changed("allocate.cu", "s <= steps", "s < steps")
  assert_fails("allocate", "no lost block")
  changed("update.cu", "s <= steps", "s < steps")
  assert_fails("update", "sum of tsdf")
end

function TestFaults:test_a_cut_that_is_forgotten()
  changed("update.cu", "if (sample.sdf < -trunc) continue;", "")
  assert_fails("update", "sum of tsdf")
end

function TestFaults:test_rounding_to_the_nearest_voxel()
  changed("tsdf.cuh", "sample.x = __float2int_rd", "sample.x = __float2int_rn")
  assert_fails("update", "sum of")
end

function TestFaults:test_sums_that_are_not_atomic()
  changed("tsdf.cuh", "atomicAdd(&v.weight[at], seen.weight);", "v.weight[at] += seen.weight;")
  assert_fails("update", "sum of weight")
end

function TestFaults:test_sums_in_half_precision()
  changed("tsdf.cuh", "atomicAdd(&v.tsdf[at], tsdf);", "atomicAdd(&v.tsdf[at], __int_as_float("
    .. "__float_as_int(tsdf) & 0xffffe000));")
  assert_fails("update", "sum of tsdf")
end

function TestFaults:test_a_colour_in_the_wrong_array()
  changed("tsdf.cuh", "atomicAdd(&v.g[at], seen.g);", "atomicAdd(&v.g[at], seen.b);")
  assert_fails("update", "sum of g")
end

local status = lu.LuaUnit.run()
os.execute("rm -rf '" .. folder .. "'")
os.exit(status)
