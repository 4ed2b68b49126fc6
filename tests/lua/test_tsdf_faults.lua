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

local SOURCES = { "allocate.cu", "update.cu", "fuse.cu", "compact.cu", "dense_update.cu",
  "stencil.cu", "tsdf.cuh", "warp_sum.cuh" }

-- The kernels with one thing changed, which must be there to change.
local function changed(file, from, to)
  for _, name in ipairs(SOURCES) do
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

-- ---- compact, dense_update, stencil ----

local function check(name, stage, device)
  local session <close> = judge.session { device = device, seed = 22, timeout = 10 }
  local candidate = impl.candidate(("%s/%s.cu"):format(folder, stage))
  return session:check(catalogue.find("hash/tsdf_" .. name)[1], candidate, {})
end

local function assert_stage_fails(name, stage, from, to, verdict)
  changed(stage .. ".cu", from, to)
  local rec = check(name, stage, verdict == "wrong_result" and "sim" or "sim:check")
  lu.assertEquals(rec.verdict, verdict, ("%s: %s"):format(to, rec.reason))
end

function TestFaults:test_compact()
  local function fails(from, to, verdict, name)
    assert_stage_fails(name or "compact", "compact", from, to, verdict or "wrong_result")
  end
  fails("k < 4; ++k) positive", "k < 3; ++k) positive") -- the last quarter unseen
  fails("v.x > 0.0f || ", "") -- one voxel of four unseen
  fails("v.w > 0.0f", "v.w >= 0.0f") -- blocks without weight are listed
  fails("min(*block_count, capacity)", "min(*block_count + 8, capacity)") -- what is left
  fails("min(*block_count, capacity)", "*block_count", "out_of_bounds") -- blocks without a place
  fails("if (lane_of() == 0) active", "if (lane_of() < 2) active", "out_of_bounds") -- listed twice
  fails("atomicAdd(active_count, 1)", "(*active_count)++", "race")
  fails("*active_count = at + listed", "*active_count = at", nil, "compact_regular")
end

function TestFaults:test_dense_update()
  local function fails(from, to, verdict, name)
    assert_stage_fails(name or "dense_update", "dense_update", from, to, verdict or "wrong_result")
  end
  fails("if (z <= 0.0f) return -1;", "") -- what lies behind the camera is seen, too
  fails("v * image.side + u", "u * image.side + v")
  fails("depth <= 0.0f || ", "") -- pixels that saw nothing
  fails(" || sdf < -grid.trunc", "")
  fails("x / z * image.focal + image.centre)", "x / z * image.focal + image.centre + 0.5f)")
  fails("u >= 0 && u < image.side", "u >= 0 && u <= image.side", "out_of_bounds")
  fails("const int block = active[k];", "const int block = k;")
  fails("voxels.g[i] += seen.g;", "voxels.g[i] = seen.g;")
  fails("block < count;", "block < count - 1;", nil, "dense_update_regular")
end

function TestFaults:test_stencil()
  local function fails(from, to, verdict, name)
    assert_stage_fails(name or "stencil7", "stencil", from, to, verdict or "wrong_result")
  end
  fails("abs(dz) <= 1", "abs(dz) <= 2") -- 19 taps
  fails("return block < 0 ? 0.0f : tsdf", "return tsdf", "out_of_bounds") -- missing blocks
  fails("block < 0 ? 0.0f", "block < 0 ? 1.0f")
  fails("find(table, mask, at[0] + d.x", "find(table, mask, at[0] - d.x") -- mirrored
  fails("(x + 8) / 8 +", "1 +") -- periodic in each block
  fails("__syncthreads();", "", "uninitialized_read")
  fails("neighbor[27 * (size_t)block + t]", "neighbor[27 * (size_t)block + 26 - t]", nil,
    "stencil27_regular")
end

local status = lu.LuaUnit.run()
os.execute("rm -rf '" .. folder .. "'")
os.exit(status)
