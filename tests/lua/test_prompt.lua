--- What the interactive prompt prints and completes; the terminal itself is in
-- tests/shell/test_prompt.sh.

local lu = require "luaunit"
local pg = require "perigee"
local names = require "perigee.cli.names"
local pretty = require "perigee.pretty"

TestPretty = {}

function TestPretty:test_plain_values()
  lu.assertEquals(pretty.text(nil), "nil")
  lu.assertEquals(pretty.text(7 // 2), "3")
  lu.assertEquals(pretty.text(0.5), "0.5")
  lu.assertEquals(pretty.text "a\nb", "a\nb")
end

function TestPretty:test_tables()
  lu.assertEquals(pretty.text {}, "{}")
  lu.assertEquals(pretty.text { 1, "a\nb", x = true, [10] = 1.5, ["a b"] = {} },
    '{ 1, "a\\nb", [10] = 1.5, ["a b"] = {}, x = true }')
  lu.assertEquals(pretty.text { { { { 1 } } } }, "{ { { { ... } } } }")
  local own = {}
  own.own = own
  lu.assertEquals(pretty.text(own), "{ own = { itself } }")
  lu.assertEquals(pretty.text { false, nil, 3 }, "{ false, nil, 3 }")
end

function TestPretty:test_long_tables_are_cut()
  local list = {}
  for i = 1, 1000 do list[i] = i end
  local text = pretty.text(list)
  lu.assertStrContains(text, ", 16, ... 984 more }")
  lu.assertNotStrContains(text, "17")
  lu.assertStrContains(pretty.text { a = ("x"):rep(50), b = ("y"):rep(50) }, "{\n  a = \"xx")
end

function TestPretty:test_arrays()
  lu.assertEquals(pretty.text(pg.array("i32", 3):fill(7)), "array(i32, 3) { 7, 7, 7 }")
  local a = pg.array("i32", { 5, 4 })
  for i = 0, 19 do a[i] = i end
  lu.assertEquals(pretty.text(a), "array(i32, 5 x 4) { 0, 1, 2, 3, ..., 16, 17, 18, 19 }")
  lu.assertEquals(pretty.text(pg.array("f32", 0)), "array(f32, 0) {  }")
  local entry = pg.struct("Entry", { { "key", "i64" } })
  lu.assertStrContains(pretty.text { e = pg.array(entry, 1) }, "{ key = 0 }")
end

-- Something that says itself.
function TestPretty:test_objects()
  local object = setmetatable({ hidden = 1 }, { __tostring = function() return "an object" end })
  lu.assertEquals(pretty.text { object }, "{ an object }")
end

TestNames = {}

function TestNames:test_globals_and_keywords()
  lu.assertEquals((names.after "for i in ipa"), { "ipairs" })
  lu.assertEquals((names.after "x = requ"), { "require" })
  lu.assertEquals((names.after "whi"), { "while" })
  lu.assertEquals((names.after "zzz"), {})
end

function TestNames:test_members()
  _G.pg_test = { pg = pg, dev = pg.device "sim", array = pg.array("f32", 1) }
  lu.assertEquals((names.after "pg_test.pg.from_"), { "from_bytes", "from_list" })
  lu.assertEquals((names.after "f(pg_test.array:eq"), { "equal_bits" })
  lu.assertTableContains((names.after "pg_test.dev:"), "compile")
  lu.assertEquals((names.after "string.rep"), { "rep" })
  lu.assertEquals((names.after "pg_test.nothing.x"), {})
  lu.assertEquals((names.after "pg_test.pg.nothing.x"), {}) -- pg raises: that is no error here
  lu.assertEquals((names.after "f().x"), {})
  _G.pg_test.dev:close()
  _G.pg_test = nil
end

function TestNames:test_what_tab_does()
  _G.pg_test = { alpha_one = 1, alpha_two = 2, _hidden = 3, ["no name"] = 4 }
  lu.assertEquals({ names.complete "pg_test.al" }, { "pha_" })
  lu.assertEquals({ names.complete "pg_test.alpha_o" }, { "ne" })
  lu.assertEquals({ names.complete "pg_test." }, { "alpha_" })
  local insert, shown = names.complete "pg_test.alpha_"
  lu.assertNil(insert)
  lu.assertEquals(shown, "alpha_one  alpha_two")
  lu.assertEquals({ names.complete "pg_test._" }, { "hidden" })
  lu.assertEquals({ names.complete "" }, { "  " })
  lu.assertEquals({ names.complete "pg_test.x" }, {})
  _G.pg_test = nil
end

os.exit(lu.LuaUnit.run())
