-- The kernels of hash/insert, hash/find and hash/count in every language on the simulator: every
-- cell and arm, and sizes that fill neither warps nor tiles.
local lu = require "luaunit"
local core = require "perigee.core"
local pg = require "perigee"
local keyset = require "hash.keyset"
local catalogue = require "perigee.catalogue"
local judge = require "perigee.judge"

local PARTITIONED = { "naive", "flight", "partitioned", "rust", "rust-flight", "rust-partitioned",
  "triton" }
local ARMS = {
  ["hash/insert"] = PARTITIONED, ["hash/count"] = PARTITIONED,
  ["hash/find"] = { "naive", "flight", "rust", "rust-flight", "triton" },
}

-- Everything passes; the arms that ran, by name.
local function run(name, how)
  local session <close> = judge.session { device = "sim:check", seed = 21, timeout = 60 }
  local arms = {}
  session:run(catalogue.find(name)[1], how, function(rec)
    local key = ("%s %s %s"):format(name, rec.cell or "", rec.impl)
    lu.assertEquals(rec.verdict, "passed", key .. ": " .. tostring(rec.reason))
    for _, finding in ipairs(rec.findings) do
      lu.assertEquals(finding.kind, "weak_read", key .. ": " .. finding.text)
    end
    arms[rec.impl] = (arms[rec.impl] or 0) + 1
  end)
  return arms
end

TestHashKernels = {}

function TestHashKernels:test_every_cell_and_arm()
  for name, expected in pairs(ARMS) do
    local arms = run(name, {})
    for _, arm in ipairs(expected) do lu.assertTrue((arms[arm] or 0) >= 7, name .. " " .. arm) end
  end
end

function TestHashKernels:test_odd_sizes()
  for name in pairs(ARMS) do
    for _, n in ipairs { 1, 31, 129, 4099, 8191 } do
      for _, probing in ipairs { "linear", "bucket" } do
        local cell = ("%s-0.9%s"):format(probing, name == "hash/count" and "-zipf" or "")
        local arms = run(name, { cells = { cell }, set = { n = n } })
        lu.assertEquals({ arms.rust, arms.triton }, { 1, 1 })
      end
    end
  end
  for _, name in ipairs { "hash/insert", "hash/find" } do
    for _, n in ipairs { 1, 129, 4099 } do
      local arms = run(name, { cells = { "cuckoo-0.9" }, set = { n = n } })
      lu.assertEquals({ arms.rust, arms.triton }, { 1, 1 })
    end
  end
end

-- ---- the sort by region ----

-- A key in a wrong bin would end in the right slot all the same, by way of the list of those that
-- found none in their region: so the steps are looked at one by one.
TestPartition = {}

local N, COARSE, FINE, TILE = 9001, 3, 4, 4096
local BITS = COARSE + FINE

local function bin_of(key)
  return (key * 0x9e3779b97f4a7c15 >> 32 & 0xffffffff) >> (32 - BITS)
end

-- How many keys each bin has, as the host counts.
local function counted(keys)
  local bins = {}
  for b = 0, (1 << BITS) - 1 do bins[b] = 0 end
  for i = 0, N - 1 do bins[bin_of(keys[i])] = bins[bin_of(keys[i])] + 1 end
  return bins
end

-- The values of the array's first `count` elements, to compare with those that `value` gives.
local function assert_values(array, count, value, what)
  for i = 0, count - 1 do lu.assertEquals(array[i], value(i), ("%s %d"):format(what, i)) end
end

local function check_counts(dev, module, keys, expected)
  local on_device = dev:upload(keys)
  for name, shared in pairs { partition_count = 4 << BITS, partition_count_many = 0 } do
    local bins = dev:upload(pg.array("u32", 1 << BITS))
    module:kernel(name):launch { grid = 2, block = 1024, shared = shared,
      args = { on_device, bins, N, BITS } }
    assert_values(bins:download(), 1 << BITS, function(b) return expected[b] end, name)
  end
end

local function check_sort(dev, module, keys, expected)
  local function room(dtype, count) return dev:upload(pg.array(dtype, count)) end
  local source, binned, sorted = dev:upload(keys), room("u64", N), room("u64", N)
  local counts = pg.array("u32", 1 << BITS)
  for b, count in pairs(expected) do counts[b] = count end
  local bins, coarse, tiles = dev:upload(counts), room("u32", 256), room("u32", 257)
  module:kernel("partition_begin"):launch { grid = 1, block = 1024,
    args = { bins, coarse, tiles, room("u32", 2), N, COARSE, FINE } }
  local count = (N + TILE - 1) // TILE
  module:kernel("partition_coarse"):launch { grid = count, block = 256,
    args = { source, binned, coarse, N, COARSE, FINE } }
  module:kernel("partition_fine"):launch { grid = count + (1 << COARSE), block = 256,
    args = { binned, sorted, bins, coarse, tiles, COARSE, FINE } }
  local result, had, i = sorted:download(), {}, 0
  for k = 0, N - 1 do had[keys[k]] = (had[keys[k]] or 0) + 1 end
  for b = 0, (1 << BITS) - 1 do
    for _ = 1, expected[b] do
      lu.assertEquals(bin_of(result[i]), b)
      had[result[i]] = (had[result[i]] or 0) - 1
      i = i + 1
    end
  end
  for key, left in pairs(had) do lu.assertEquals(left, 0, ("key %x"):format(key)) end
end

local function check_module(file)
  local dev <close> = pg.device "sim:check"
  local module = dev:compile { file = core.home .. "/kernels/hash/" .. file }
  for kind, ids in pairs { uniform = N, zipf = N // 8 } do
    local keys = keyset.keys(7, N, ids, kind)
    local expected = counted(keys)
    check_counts(dev, module, keys, expected)
    check_sort(dev, module, keys, expected)
  end
  lu.assertEquals(#dev:findings(), 0)
end

function TestPartition:test_in_cuda()
  if not core.compiler_info() then lu.skip("no NVRTC on this machine") end
  check_module "insert_partitioned.cu"
end

function TestPartition:test_in_rust()
  check_module "insert_partitioned.rs"
end

os.exit(lu.LuaUnit.run())
