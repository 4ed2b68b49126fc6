-- Parameters: declaration, values for each purpose, cells, --set, and the errors of each.
local lu = require "luaunit"
local params = require "perigee.params"
local suggest = require "perigee.suggest"

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
  bad({ 5 }, "expected names")
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
    "b = 9, the others at their defaults")
  lu.assertEquals(params.brief({ a = 1, b = 2, c = 3, d = 4, e = 5 }, five),
    "every parameter at its default")
end

TestSuggest = {}

function TestSuggest:test_the_nearest_name()
  local names = { "vector/saxpy", "hash/tsdf_fuse", "hash/tsdf_update" }
  lu.assertEquals(suggest.nearest("vector/saxpi", names), "vector/saxpy")
  lu.assertEquals(suggest.nearest("hash/tdsf_fuse", names), "hash/tsdf_fuse")
  lu.assertEquals(suggest.nearest("saxpy", names), "vector/saxpy")
  lu.assertNil(suggest.nearest("reduction", names))
end

function TestSuggest:test_the_hint_lists_what_there_is_when_nothing_is_near()
  lu.assertEquals(suggest.hint("zzz", { "a1", "b1" }, "cells"), "cells: a1, b1")
  lu.assertEquals(suggest.hint("zzz", {}, "cells"), "there are no cells")
end

os.exit(lu.LuaUnit.run())
