-- Knobs: declaration, numbering, constraints, neighbours, choices, and the errors of each.
local lu = require "luaunit"
local knobs = require "perigee.knobs"


TestKnobs = {}

local function space()
  return knobs.declare({ BLOCK = { 256, 128, 512 }, VEC = { false, true }, TYPE = { "float", "half",
    "bf16" } }, nil, "plan.lua")
end

function TestKnobs:test_number_0_is_the_default()
  local s = space()
  lu.assertEquals(knobs.count(s), 18)
  lu.assertEquals(knobs.at(s, 0), { BLOCK = 256, VEC = false, TYPE = "float" })
  lu.assertEquals(knobs.resolve(s), knobs.at(s, 0))
end

function TestKnobs:test_every_number_is_another_configuration_and_back()
  local s, seen = space(), {}
  for index = 0, knobs.count(s) - 1 do
    local values = knobs.at(s, index)
    local text = knobs.text(values)
    lu.assertNil(seen[text])
    seen[text] = true
    lu.assertEquals(knobs.index(s, values), index)
  end
  lu.assertNil(knobs.index(s, { BLOCK = 64, VEC = false, TYPE = "float" }))
end

function TestKnobs:test_no_knobs_are_one_configuration()
  local s = knobs.declare(nil)
  lu.assertEquals(knobs.count(s), 1)
  lu.assertEquals(knobs.at(s, 0), {})
  lu.assertEquals(knobs.neighbours(s, 0), {})
end

function TestKnobs:test_neighbours_differ_by_one_step_of_one_knob()
  local s = space()
  local function near(values)
    local texts = {}
    for _, index in ipairs(knobs.neighbours(s, knobs.index(s, values))) do
      texts[#texts + 1] = knobs.text(knobs.at(s, index))
    end
    return texts
  end
  -- 128 and 512 lie on the two sides of 256 though it is declared first.
  lu.assertItemsEquals(near { BLOCK = 256, VEC = true, TYPE = "half" }, {
    "BLOCK=128 TYPE=half VEC=true", "BLOCK=512 TYPE=half VEC=true",
    "BLOCK=256 TYPE=float VEC=true", "BLOCK=256 TYPE=bf16 VEC=true",
    "BLOCK=256 TYPE=half VEC=false",
  })
  lu.assertItemsEquals(near { BLOCK = 512, VEC = false, TYPE = "bf16" }, {
    "BLOCK=256 TYPE=bf16 VEC=false", "BLOCK=512 TYPE=float VEC=false",
    "BLOCK=512 TYPE=half VEC=false", "BLOCK=512 TYPE=bf16 VEC=true",
  })
end

function TestKnobs:test_constraints_may_name_parameters()
  local s = knobs.declare({ A = { 1, 2, 4 }, B = { 1, 2, 4 } }, { "A * B <= limit", "A >= B" })
  local texts = {}
  for i, index in ipairs(knobs.list(s, { limit = 8 })) do
    texts[i] = knobs.text(knobs.at(s, index))
  end
  lu.assertItemsEquals(texts, { "A=1 B=1", "A=2 B=1", "A=2 B=2", "A=4 B=1", "A=4 B=2" })
  lu.assertEquals(knobs.broken(s, { A = 4, B = 4 }, { limit = 8 }), "A * B <= limit")
  lu.assertEquals(#knobs.list(s, { limit = 16 }), 6)
end

function TestKnobs:test_a_choice_is_given_as_text_or_value()
  local s = space()
  lu.assertEquals(knobs.resolve(s, { BLOCK = "512", VEC = "true", TYPE = "bf16" }),
    { BLOCK = 512, VEC = true, TYPE = "bf16" })
  lu.assertEquals(knobs.resolve(s, { BLOCK = 0x80 }).BLOCK, 128)
  lu.assertEquals(knobs.resolve(s, { BLOCK = "0x80" }).BLOCK, 128)
  lu.assertEquals({ knobs.parse("BLOCK=512") }, { "BLOCK", "512" })
end

local function refuses(call, code, message, hint)
  local ok, e = pcall(call)
  lu.assertFalse(ok)
  lu.assertEquals(e.code, code)
  lu.assertStrContains(e.message, message)
  lu.assertStrContains(e.hint or "", hint or "")
  return e
end

local function refuses_declaration(declared, constraints, message)
  local e = refuses(function() knobs.declare(declared, constraints, "plan.lua", { n = 1 }) end,
    "invalid", message)
  lu.assertEquals(e.where, "plan.lua")
end

function TestKnobs:test_bad_declarations_are_refused()
  refuses_declaration(5, nil, "expected a table, got number")
  refuses_declaration({ ["A B"] = { 1 } }, nil, "'A B' is no macro name")
  refuses_declaration({ { 1 } }, nil, "'1' is no macro name")
  refuses_declaration({ A = {} }, nil, "got an empty table")
  refuses_declaration({ A = 3 }, nil, "expected a list of values, got number")
  refuses_declaration({ A = { 1, {} } }, nil, "value #2 is no value of a macro")
  refuses_declaration({ A = { "a;b" } }, nil, "value #1 is no value of a macro: a;b")
  refuses_declaration({ A = { 0 / 0 } }, nil, "no value of a macro")
  refuses_declaration({ A = { 1, 2, 1 } }, nil, "the value 1 twice")
  refuses_declaration({ A = { 1, x = 2 } }, nil, "the key 'x'")
  refuses_declaration({ n = { 1, 2 } }, nil, "the name of a parameter")
  refuses_declaration({ A = { 1 } }, 5, "where: expected a list of expressions")
  refuses_declaration({ A = { 1 } }, { 5 }, "where: #1: expected an expression as text")
  local huge = {}
  for i = 1, 17 do huge["K" .. i] = { 1, 2, 3, 4, 5, 6, 7, 8 } end
  refuses_declaration(huge, nil, "more than 2^48")
end

function TestKnobs:test_bad_choices_are_refused()
  local s = space()
  refuses(function() knobs.resolve(s, { BLOK = 1 }) end, "not_found", "unknown knob 'BLOK'",
    "did you mean 'BLOCK'?")
  refuses(function() knobs.resolve(s, { BLOCK = "64" }) end, "range", "knob BLOCK has no value 64",
    "values: 256, 128, 512")
  refuses(function() knobs.at(s, 18) end, "range", "configuration 18 of 18")
  refuses(function() knobs.parse("BLOCK") end, "invalid", "expected NAME=VALUE")
  local bound = knobs.declare({ A = { 1, 4 } }, "A < 4")
  refuses(function() knobs.resolve(bound, { A = 4 }) end, "range",
    "knobs A=4 break the constraint A < 4")
end

function TestKnobs:test_a_space_too_large_to_list_is_said()
  local large = {}
  for i = 1, 8 do large["K" .. i] = { 1, 2, 3, 4, 5, 6, 7, 8 } end
  local s = knobs.declare(large)
  lu.assertEquals(knobs.count(s), 1 << 24)
  refuses(function() knobs.list(s) end, "range", "too many to try each")
end

os.exit(lu.LuaUnit.run())
