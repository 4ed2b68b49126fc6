-- The simulator against what a real GPU gave (tests/golden), and the parts of that on their own.
package.path = "tests/golden/?.lua;" .. package.path
local lu = require "luaunit"
local core = require "perigee.core"
local bounds = require "bounds"
local check = require "check"
local codec = require "codec"
local inputs = require "inputs"
local kernels = require "kernels"
local play = require "play"
local spec = require "spec"
local store = require "store"

local groups = spec.load(require "list")
local recorded = store.open "tests/golden"
-- Instructions that replay today: fewer would be a loss that nothing else says.
local LEAST = 2001

local dev = core.device "sim"
local matched = 0

local function entry_named(key)
  for _, group in ipairs(groups) do
    for _, e in ipairs(group.entries) do
      if e.key == key then return e end
    end
  end
  error("no instruction " .. key)
end

-- ---- golden vectors ----

TestGolden = {}

for _, group in ipairs(groups) do
  TestGolden["test_" .. group.name] = function()
    if not recorded then lu.skip("no golden vectors recorded") end
    local wrong = {}
    for _, r in ipairs(check.group(dev, recorded, group)) do
      if r.status == "ok" then matched = matched + 1 end
      if r.status == "wrong" then
        wrong[#wrong + 1] = ("%s: %d of %d: %s"):format(r.entry.key, r.bad, r.vectors, r.detail)
      end
    end
    lu.assertEquals(table.concat(wrong, "\n"), "")
  end
end

function TestGolden:test_zz_enough_instructions_match()
  if not recorded then lu.skip("no golden vectors recorded") end
  lu.assertTrue(matched >= LEAST, ("only %d instructions match"):format(matched))
end

-- ---- what they are made of ----

TestVectors = {}

function TestVectors:test_codec_gives_back_what_it_was_given()
  local random = core.array("u8", 4096):random { seed = 5, dist = "bits" }:tostring()
  local few = random:gsub("[^\0-\7]", "\255")
  local ramp = {}
  for i = 0, 1023 do ramp[i + 1] = string.pack("<i8", i < 700 and i * 3 or 12) end
  ramp = table.concat(ramp)
  for _, bytes in ipairs { random, few, ramp, ("\0"):rep(4096) } do
    for _, width in ipairs { 1, 2, 4, 8 } do
      for _, smoothly in ipairs { false, true } do
        local coded = codec.encode(bytes, width, smoothly)
        lu.assertTrue(codec.decode(coded, #bytes, width, smoothly) == bytes)
      end
    end
  end
  lu.assertTrue(#codec.encode(ramp, 8, true) < 64)
  lu.assertTrue(#codec.encode(few, 4, false) < 1024)
end

function TestVectors:test_operands_do_not_depend_on_anything_but_types_and_row()
  lu.assertEquals(core.sha256(inputs.make(entry_named "fma.rz.f32")[3]),
    core.sha256(inputs.make(entry_named "fma.rn.f32")[3]))
  lu.assertNotEquals(inputs.make(entry_named "add.f32")[1], inputs.make(entry_named "add.f32")[2])
end

function TestVectors:test_operands_have_special_values()
  local function has(key, k, wanted)
    for _, v in pairs(inputs.make(entry_named(key)).values[k]) do
      if v == wanted then return true end
    end
    return false
  end
  for _, bits in ipairs { 0, 0x80000000, 1, 0x7f800000, 0xff800000, 0x7f800001, 0x3f7fffff } do
    lu.assertTrue(has("sqrt.rn.f32", 1, bits), ("%08x"):format(bits))
    lu.assertTrue(has("add.f32", 2, bits) or bits == 0x3f7fffff, ("%08x"):format(bits))
  end
  lu.assertTrue(has("div.s32", 1, 0x80000000) and has("div.s32", 2, 0xffffffff))
  lu.assertTrue(has("shl.b32", 2, 32) and has("shl.b32", 2, 33))
  lu.assertEquals(inputs.rows(entry_named "abs.f16"), 65536)
end

function TestVectors:test_what_a_device_gave_is_read_back_from_files()
  local folder, given, group = os.tmpname(), {}, nil
  local facts = { device = "d", driver = "1", date = "x" }
  os.remove(folder)
  for _, g in ipairs(groups) do
    if g.name == "integer" then
      group = { name = g.name, entries = { table.unpack(g.entries, 1, 8) } }
    end
  end
  play.run(dev, group.entries, function(e, bytes) given[e.key] = bytes end, error)
  given["mul.lo.u16"] = nil
  store.write(folder, { group }, given, { ["add.u32"] = "a|b" }, facts)
  local back = store.open(folder)
  lu.assertEquals(back.facts.device, "d")
  for key, bytes in pairs(given) do
    lu.assertTrue(store.read(back, entry_named(key)) == bytes, key)
  end
  -- Another result in one place is found, with its operands.
  local e = entry_named "add.u16"
  given[e.key] = ("\1"):rep(#given[e.key])
  store.write(folder, { group }, given, {}, facts)
  local r = check.group(dev, store.open(folder), group)[1]
  lu.assertEquals(r.status, "wrong")
  lu.assertStrContains(r.detail, "thread 0: a=0000 b=0000: GPU 0101, sim 0000")
  for _, name in ipairs(core.list_dir(folder)) do os.remove(folder .. "/" .. name) end
  os.remove(folder)
end

function TestVectors:test_bounds_tell_near_from_far()
  local e = entry_named "ex2.approx.f32"
  local bound = bounds.of(e)
  local function outside(want, got)
    return bounds.first_outside(e, bound, string.pack("<f", want), string.pack("<f", got)) ~= nil
  end
  lu.assertFalse(outside(8, 8 * (1 + 2 ^ -22)))
  lu.assertTrue(outside(8, 8 * (1 + 2 ^ -20)))
  lu.assertTrue(outside(0 / 0, 1))
  lu.assertTrue(outside(math.huge, 1e38))
  lu.assertFalse(outside(0 / 0, 0 / 0))
  lu.assertNil(bounds.of(entry_named "sqrt.rn.f32"))
end

function TestVectors:test_kernels_of_a_group_load_together()
  local bits = {}
  for _, e in ipairs(groups[2].entries) do
    if e.opcode == "and" or e.opcode == "shl" or e.opcode == "popc" then bits[#bits + 1] = e end
  end
  local module = dev:load(kernels.module(bits), "bits.ptx")
  lu.assertEquals(#module:kernels(), #bits)
end

os.exit(lu.LuaUnit.run())
