-- Every task is proven at the distribution of its default size: what its first implementation
-- computes is right, depends on the inputs, and every damaged version of it is rejected by the
-- task's own validators. And every task has inputs to end a timing with.
package.path = "tests/lua/?.lua;" .. package.path
local lu = require "luaunit"
local pg = require "perigee"
local core = require "perigee.core"
local damage = require "perigee.damage"
local precision = require "perigee.precision"
local scaled = require "scaled"
local versions = require "perigee.versions"

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

-- Damage that would change nothing; anything else must have been tried.
local NOT_TRIED = {
  -- The points of the published cells are no random ones, and all blocks of the shell are touched.
  ["hash/tsdf_allocate_regular"] = { ["the answer to other inputs of present"] = true },
  -- Lists of other inputs have another length, and so the buffers have.
  ["hash/tsdf_dense_update_regular"] = {},
}
-- The pool has room for those blocks: their number is that of the shell, and none is dropped.
for _, name in ipairs { "hash/tsdf_allocate", "hash/tsdf_fuse" } do
  NOT_TRIED[name] = { ["the answer to other inputs of block_count"] = true,
    ["zeros of drop_count"] = true, ["the answer to other inputs of drop_count"] = true }
end
for _, name in ipairs { "tsdf", "weight", "r", "g", "b" } do
  NOT_TRIED["hash/tsdf_dense_update_regular"]["the answer to other inputs of " .. name] = true
end

-- What must have been tried on a buffer that is judged: the cheapest lies.
local function wanted(one, buffer)
  local list = { "zeros", "unwritten", damage.PREVIOUS }
  if precision.is_float(buffer.dtype_name) then list[#list + 1] = "NaN" end
  for _, other in ipairs(one.list) do
    if other.role == "input" and other.dtype_name == buffer.dtype_name then
      list[#list + 1] = "a copy of " .. other.name
    end
  end
  return list
end

local function missing(one, proof)
  local list, known = {}, NOT_TRIED[one.task.name] or {}
  for _, buffer in ipairs(one.list) do
    if buffer.role ~= "input" and proof.right.seen[buffer.name] then
      for _, kind in ipairs(wanted(one, buffer)) do
        local label = kind .. " of " .. buffer.name
        if not proof.labels[label] and not known[label] then list[#list + 1] = label end
      end
    end
  end
  return list
end

TestDamage = {}

for _, task in ipairs((pg.catalogue.all())) do
  TestDamage["test_" .. task.name:gsub("%W", "_")] = function()
    if not core.compiler_info() then lu.skip("no NVRTC on this machine") end
    local session <close> = pg.judge.session { device = "sim", seed = 1 }
    local p = scaled.resolve(task)
    local _, previous = damage.answer(session, task, p, nil, 1)
    local one, arrays = damage.answer(session, task, p)
    local proof = damage.prove(one, arrays, OPEN[task.name], previous)
    lu.assertTrue(proof.right.ok, proof.right.reason)
    lu.assertEquals(proof.accepted, {})
    lu.assertEquals(missing(one, proof), {})
    -- There are inputs that no launch has seen when a candidate's timing ends.
    one.held_back = { seed_of = function(number) return number end }
    local unseen, why = versions.unseen(one, 1)
    lu.assertNotNil(unseen, why)
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
