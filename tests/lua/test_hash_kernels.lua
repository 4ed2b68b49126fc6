-- The kernels of hash/insert, hash/find and hash/count in every language on the simulator: every
-- cell and arm, and sizes that fill neither warps nor tiles.
local lu = require "luaunit"
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

os.exit(lu.LuaUnit.run())
