-- Every task is proven: what its first implementation computes is right, and every damaged version
-- of that is rejected by the task's own validators.
local lu = require "luaunit"
local pg = require "perigee"
local core = require "perigee.core"
local damage = require "perigee.damage"

-- What a contract leaves open, by task. Nothing else may pass.
local OPEN = {
  -- A sample stays one when it is moved or loses an element that could be another.
  ["random/normal"] = { ["shifted by one"] = true, ["last element zero"] = true,
    ["first element wrong"] = true, ["middle element wrong"] = true,
    ["last element wrong"] = true,
    ["the answer to other inputs"] = true }, -- the judge sees that: `varies`
}
-- Behind the blocks that were allocated, coordinates may be anything.
for _, name in ipairs { "hash/tsdf_allocate", "hash/tsdf_fuse" } do
  OPEN[name] = { ["second half unwritten of coord"] = true, ["second half zero of coord"] = true,
    ["middle element wrong of coord"] = true, ["last element wrong of coord"] = true }
end
-- Behind the list there may be anything.
for _, name in ipairs { "hash/tsdf_compact", "hash/tsdf_compact_regular" } do
  OPEN[name] = { ["last element zero of active"] = true, ["last element wrong of active"] = true }
end

TestDamage = {}

for _, task in ipairs((pg.catalogue.all())) do
  TestDamage["test_" .. task.name:gsub("%W", "_")] = function()
    if not core.compiler_info() then lu.skip("no NVRTC on this machine") end
    local session <close> = pg.judge.session { device = "sim", seed = 1 }
    local p = task:resolve { purpose = "sim" }
    local _, previous = damage.answer(session, task, p, nil, 1)
    local one, arrays = damage.answer(session, task, p)
    local proof = damage.prove(one, arrays, OPEN[task.name], previous)
    lu.assertTrue(proof.right.ok, proof.right.reason)
    lu.assertEquals(proof.accepted, {})
    lu.assertTrue(proof.tried >= 8, "only " .. proof.tried .. " kinds of damage applied")
  end
end

-- A validator that looks at nothing much is found out.
function TestDamage:test_a_lax_validator_is_found_out()
  local task = pg.task {
    name = "t/lax", params = { n = { default = 100 } },
    kernel = "void k(const float* x, float* y, int n)",
    inputs = function(p, rng) return { x = rng:array("f32", p.n) } end,
    outputs = function(p) return { y = pg.spec("f32", p.n) } end,
    launch = { grid = 1, block = 1 }, reference = function(_, io) return { y = 2 * io.x } end,
    validate = function(ctx) return ctx:pass("y", tostring(ctx:array("y").count)) end,
  }
  local one = require("perigee.case").make(task, task:resolve { purpose = "sim" }, 1)
  local proof = damage.prove(one)
  lu.assertEquals(#proof.accepted, proof.tried)
  lu.assertTrue(core.json_encode(proof.accepted):find("zeros of y") ~= nil)
  lu.assertTrue(core.json_encode(proof.accepted):find("a copy of x of y") ~= nil)
end

os.exit(lu.LuaUnit.run())
