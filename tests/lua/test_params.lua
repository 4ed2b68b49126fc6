-- Parameters: declaration, values for each purpose, cells, --set, and the errors of each.
local lu = require "luaunit"
local params = require "perigee.params"
local suggest = require "perigee.suggest"
local sweep = require "perigee.sweep"

TestParams = {}

local declared = params.declare({
  n = { default = 1000, check = { 1, 17, 255 }, sim = 64, min = 1, max = 5000 },
  a = { default = 2.5 }, mode = { default = "fast", choices = { "fast", "safe" } }, flag = false,
}, "t.lua:1")

local function resolve(how)
  how.where = "vector/saxpy"
  return params.resolve(declared, how)
end

function TestParams:test_types_come_from_the_default()
  lu.assertEquals(declared.n.type, "integer")
  lu.assertEquals(declared.a.type, "number")
  lu.assertEquals(declared.mode.type, "string")
  lu.assertEquals(declared.flag.type, "boolean")
end

function TestParams:test_each_purpose_has_its_value()
  lu.assertEquals(resolve { purpose = "default" }.n, 1000)
  lu.assertEquals(resolve { purpose = "sim" }.n, 64)
  lu.assertEquals(resolve { purpose = "check", index = 2 }.n, 17)
  lu.assertEquals(resolve { purpose = "check", index = 9 }.n, 255)
  lu.assertEquals(resolve { purpose = "check" }.a, 2.5)
  lu.assertEquals(params.check_count(declared), 3)
end

function TestParams:test_cells_lie_over_the_defaults_and_set_over_all()
  local cell = { name = "big", set = { n = 2000, a = 3 }, sim = { n = 100 } }
  lu.assertEquals(resolve { purpose = "default", cell = cell }.n, 2000)
  lu.assertEquals(resolve { purpose = "sim", cell = cell }.n, 100)
  lu.assertEquals(resolve { purpose = "sim", cell = cell }.a, 3.0)
  lu.assertEquals(resolve { purpose = "sim", cell = cell, set = { n = "0x10" } }.n, 16)
end

function TestParams:test_text_becomes_the_declared_type()
  local p = resolve { purpose = "default", set = { n = "4e3", a = "1", flag = "true",
    mode = "safe" } }
  lu.assertEquals(p.n, 4000)
  lu.assertEquals(math.type(p.n), "integer")
  lu.assertEquals(math.type(p.a), "float")
  lu.assertIs(p.flag, true)
  lu.assertEquals(p.mode, "safe")
end

local function refuses(set, code, message, hint)
  local ok, e = pcall(resolve, { purpose = "default", set = set })
  lu.assertFalse(ok)
  lu.assertEquals(e.code, code)
  lu.assertStrContains(e.message, message)
  lu.assertStrContains(e.hint or "", hint or "")
  lu.assertEquals(e.where, "vector/saxpy")
end

function TestParams:test_refusals_say_what_was_expected()
  refuses({ m = "1" }, "not_found", "unknown parameter 'm'")
  refuses({ mod = "1" }, "not_found", "unknown parameter 'mod'", "did you mean 'mode'?")
  refuses({ n = "many" }, "invalid", "expected integer, got 'many'")
  refuses({ n = "1.5" }, "invalid", "expected integer")
  refuses({ n = "0" }, "range", "n = 0 is out of range", "1 to 5000")
  refuses({ mode = "faast" }, "range", "mode = faast", "did you mean 'fast'? one of: fast, safe")
  refuses({ n = "1,2,1" }, "invalid", "the value 1 is given twice")
  refuses({ n = "1..x" }, "invalid", "cannot read '1..x'", "a range (2^10..2^26*4")
  refuses({ n = "" }, "invalid", "cannot read ''")
  refuses({ n = "5001" }, "range", "out of range")
  refuses({ mode = "wild" }, "range", "mode = wild", "one of: fast, safe")
  refuses({ flag = "perhaps" }, "invalid", "expected boolean")
  refuses({ a = "nan" }, "invalid", "expected number")
end

function TestParams:test_mistakes_in_a_declaration()
  local function bad(declaration, message)
    local ok, e = pcall(params.declare, declaration, "t.lua:7")
    lu.assertFalse(ok)
    lu.assertStrContains(e.message, message)
    lu.assertEquals(e.where, "t.lua:7")
  end
  bad({ n = {} }, "n has no default")
  bad({ n = { default = 1, mim = 0 } }, "unknown field 'mim'")
  bad({ n = { default = 1, max = 0 } }, "out of range")
  bad({ n = { default = 1, check = { 1, "x" } } }, "expected integer, got 'x'")
  bad({ n = { default = 1, type = "float" } }, "unknown type 'float'")
  bad({ 5 }, "params: '1' is no name")
  bad({ ["a b"] = 5 }, "params: 'a b' is no name")
  bad({ n = { default = 1, min = {} } }, "min: expected a number or string, got a table")
  bad({ n = { default = 1, sim = { 1, 2 } } }, "sim must be a value")
  bad({ n = { default = 1, check = {} } }, "check must be a value or a list")
  bad({ m = { default = "a", choices = {} } }, "choices is empty")
  bad({ m = { default = "c", choices = { "a", "b" } } }, "m = c is out of range")
  bad({ m = { default = "a", choices = { "a", 1 } } }, "choice '1' is no string")
  bad({ m = { default = "a", variant = true } }, "a variant needs choices")
  bad({ m = { default = "a", choices = { "a" }, variant = true, sim = "a" } },
    "a variant has no check or sim values")
  bad({ m = { default = 1, only = { k = 1 } } }, "only: unknown parameter 'k'")
  bad({ m = { default = 1, only = { k = 3 } }, k = { default = 1, max = 2 } }, "out of range")
end

function TestParams:test_set_needs_an_equals_sign()
  lu.assertEquals({ params.parse_set("n=1=2") }, { "n", "1=2" })
  local ok, e = pcall(params.parse_set, "n")
  lu.assertFalse(ok)
  lu.assertStrContains(e.message, "expected name=value")
end

function TestParams:test_of_many_parameters_only_the_changed_ones_are_named()
  lu.assertEquals(params.brief({ n = 7, a = 2.5, mode = "fast", flag = false }, declared),
    "a = 2.5, flag = false, mode = fast, n = 7")
  local five = params.declare { a = 1, b = 2, c = 3, d = 4, e = 5 }
  lu.assertEquals(params.brief({ a = 1, b = 9, c = 3, d = 4, e = 5 }, five),
    "b = 9, the others at their default values")
  lu.assertEquals(params.brief({ a = 1, b = 2, c = 3, d = 4, e = 5 }, five),
    "every parameter at its default value")
  local two = params.declare { a = { default = 1, sim = 2 }, b = 2, c = 3, d = 4, e = 5 }
  lu.assertEquals(params.brief({ a = 2, b = 2, c = 3, d = 4, e = 5 }, two, "sim"),
    "every parameter at its simulator's value")
end

local function list(text) return sweep.list(text, "n") end

TestSweep = {}

function TestSweep:test_numbers_as_people_write_them()
  local numbers = { ["4096"] = 4096, ["4k"] = 4000, ["64Ki"] = 65536, ["1.5M"] = 1500000,
    ["2^20"] = 1048576, ["0x10"] = 16, ["1e3"] = 1000.0, ["-2"] = -2, ["2Gi"] = 1 << 31 }
  for text, value in pairs(numbers) do lu.assertEquals(sweep.number(text), value, text) end
  for _, text in ipairs { "many", "4q", "k", "2^", "", "1..2" } do
    lu.assertNil(sweep.number(text), text)
  end
end

function TestSweep:test_lists_and_ranges()
  lu.assertEquals(list "1k,4k,1M", { 1000, 4000, 1000000 })
  lu.assertEquals(list "2^10..2^16*4", { 1024, 4096, 16384, 65536 })
  lu.assertEquals(list "2^10..100000*4", { 1024, 4096, 16384, 65536 })
  lu.assertEquals(list "0..100+25", { 0, 25, 50, 75, 100 })
  lu.assertEquals(list "7..9", { 7, 8, 9 })
  lu.assertEquals(list "1,10..30+10,64", { 1, 10, 20, 30, 64 })
  lu.assertAlmostEquals(list("0..0.3+0.1")[4], 0.3, 1e-15)
  lu.assertEquals(list "f16,f32", { "f16", "f32" })
end

function TestSweep:test_ranges_that_never_end_or_never_begin()
  for _, text in ipairs { "1..9*1", "0..9*2", "9..1", "1..9+0", "1..", "1..x", "1..9*", ",", "1,,2",
    "1..9+-1" } do
    local ok, e = pcall(list, text)
    lu.assertFalse(ok, text)
    lu.assertStrContains(e.message, "cannot read")
  end
  local ok, e = pcall(list, "1..1M")
  lu.assertFalse(ok)
  lu.assertStrContains(e.message, "more than 1000 values")
  ok, e = pcall(sweep.product, { "a", "b" }, { a = list "1..100", b = list "1..100" })
  lu.assertFalse(ok)
  lu.assertStrContains(e.message, "more than 1000 combinations")
end

function TestSweep:test_a_product_runs_the_last_name_fastest()
  local points = sweep.product({ "b", "a" }, { a = { 1, 2 }, b = { 3, 4 } })
  lu.assertEquals(points, { { a = 1, b = 3 }, { a = 2, b = 3 }, { a = 1, b = 4 }, { a = 2,
    b = 4 } })
end

function TestParams:test_a_check_takes_a_value_for_each_case_and_the_rest_takes_the_last()
  local set = { n = "5,6,7,8" }
  lu.assertEquals(params.check_count(declared, set), 4)
  lu.assertEquals(params.check_count(declared, { n = "9" }), 1)
  lu.assertEquals(resolve({ purpose = "check", index = 2, set = set }).n, 6)
  lu.assertEquals(resolve({ purpose = "sim", set = set }).n, 8)
end

function TestParams:test_a_text_without_choices_is_taken_as_it_is()
  local one = params.declare { file = "a.ply" }
  lu.assertEquals(params.resolve(one, { purpose = "sim", set = { file = "a,b..c" } }).file,
    "a,b..c")
end

function TestParams:test_a_parameter_that_has_no_effect_is_refused()
  local some = params.declare {
    scene = { default = "ball", choices = { "ball", "file" } },
    radius = { default = 1, only = { scene = "ball" } },
    points = { default = 9, only = { scene = { "file" } } },
  }
  local function effect(set)
    local values = params.resolve(some, { purpose = "default", set = set })
    return pcall(params.check_effect, some, set, { values }, "here")
  end
  lu.assertTrue(effect { radius = 2 })
  lu.assertTrue(effect { points = 2, scene = "file" })
  local ok, e = effect { points = 2 }
  lu.assertFalse(ok)
  lu.assertEquals(e.message, "parameter points has no effect: scene = ball")
  lu.assertEquals(e.hint, "it counts where scene = file")
end

TestSuggest = {}

function TestSuggest:test_the_nearest_name()
  local names = { "vector/saxpy", "hash/tsdf_fuse", "hash/tsdf_update" }
  lu.assertEquals(suggest.nearest("vector/saxpi", names), "vector/saxpy")
  lu.assertEquals(suggest.nearest("hash/tdsf_fuse", names), "hash/tsdf_fuse")
  lu.assertEquals(suggest.nearest("saxpy", names), "vector/saxpy")
  lu.assertNil(suggest.nearest("reduction", names))
  lu.assertEquals(suggest.nearest("VECTOR/SAXPI", names), "vector/saxpy")
  lu.assertNil(suggest.nearest("x", { "y" }))
  lu.assertNil(suggest.nearest("abc", { "xyc" }))
  lu.assertEquals(suggest.nearest("nn", { "n" }), "n")
  lu.assertEquals(suggest.nearest("radios", { "ratio", "radius" }), "radius")
  lu.assertNil(suggest.nearest("", { "a" }))
end

function TestSuggest:test_the_hint_lists_what_there_is_when_nothing_is_near()
  lu.assertEquals(suggest.hint("zzz", { "a1", "b1" }, "cells"), "cells: a1, b1")
  lu.assertEquals(suggest.hint("zzz", {}, "cells"), "there are no cells")
end

os.exit(lu.LuaUnit.run())
