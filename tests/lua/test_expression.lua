-- Expressions of plans: against Lua's own evaluation of the same text where the two agree, against
-- written-out values where they differ on purpose, and every mistake with its words.
local lu = require "luaunit"
local expression = require "perigee.expression"

local ENV = { n = 1000, m = 7, a = 2.5, BLOCK = 256, wide = true, narrow = false, dtype = "f16",
  list = {} }

local function eval(text, env)
  return expression.eval(text, env or ENV, "grid", "plan.lua")
end

TestExpression = {}

-- Lua itself is the independent judge: the same text compiled by `load` over the same numbers.
function TestExpression:test_agrees_with_lua()
  for _, text in ipairs {
    "1 + 2 * 3", "(1 + 2) * 3", "2 - 3 - 4", "-2.0 ^ 2", "2.0 ^ -1", "2.0 ^ 3 ^ 2",
    "7 // 2 * 2 + 7 % 2",
    "-7 // 2", "-7 % 3", "7 % -3", "1 << 4 + 1", "6 & 3 | 8 ~ 1", "~5", "- -5", "7 / 2", "n / 8",
    "(n + BLOCK - 1) // BLOCK", "a * n", "0x1F + 0Xff", "1e3 + .5", "3.25e-2 * 4", "n*m-m*n",
    "7.5 // 2", "-7.5 % 2", "1 << 62", "5 & 6 << 1", "9007199254740993 + 0",
    "n - -m", "2 * -3", "8 // 3 // 2", "100 % 7 * 2", "1 | 2 & 4 ~ 8 << 1 + 1",
  } do
    local env = { n = ENV.n, m = ENV.m, a = ENV.a, BLOCK = ENV.BLOCK }
    local want = assert(load("return " .. text, "=lua", "t", env))()
    local got = eval(text)
    lu.assertEquals(got, want, text)
    lu.assertEquals(math.type(got), math.type(want), text)
  end
end

function TestExpression:test_random_expressions_agree_with_lua()
  math.randomseed(11)
  local operators = { "+", "-", "*", "//", "%", "&", "|", "~", "<<" }
  local function random_text(depth)
    if depth == 0 or math.random() < 0.2 then
      return math.random() < 0.5 and tostring(math.random(0, 40)) or ({ "n", "m", "BLOCK" })[
        math.random(3)]
    end
    local op = operators[math.random(#operators)]
    local right = op == "<<" and tostring(math.random(0, 5)) or random_text(depth - 1)
    local text = random_text(depth - 1) .. " " .. op .. " " .. right
    return math.random() < 0.5 and "(" .. text .. ")" or text
  end
  local compared = 0
  for _ = 1, 2000 do
    local text = random_text(3)
    local ok, want = pcall(assert(load("return " .. text, "=lua", "t", ENV)))
    local right, got = pcall(eval, text)
    if ok and right then
      compared = compared + 1
      lu.assertEquals(got, want, text)
    elseif right then
      lu.fail(text .. " is " .. tostring(got) .. ", Lua says " .. tostring(want))
    else -- a shift of a large or negative number, or an overflow: refused here
      lu.assertTrue(got.code == "range" or got.code == "invalid", text)
    end
  end
  lu.assertTrue(compared > 1000)
end

function TestExpression:test_values_written_out()
  for text, want in pairs {
    ["ceil_div(n, 256)"] = 4, ["ceil_div(1024, 256)"] = 4, ["ceil_div(0, 8)"] = 0,
    ["ceil_div(-7, 2)"] = -3, ["round_up(n, 256)"] = 1024, ["round_up(-1, 4)"] = 0,
    ["next_pow2(n)"] = 1024, ["next_pow2(1024)"] = 1024, ["next_pow2(0)"] = 1,
    ["next_pow2(1 << 62)"] = 1 << 62, ["bit_length(0)"] = 0, ["bit_length(255)"] = 8,
    ["bit_length(256)"] = 9, ["min(3, n, 2)"] = 2, ["max(m)"] = 7, ["max(n, 2.5)"] = 1000,
    ["ceil(a)"] = 3, ["floor(-a)"] = -3, ["floor(7)"] = 7, ["log2(1024)"] = 10.0,
    ["ceil(log2(n))"] = 10, ["sqrt(16)"] = 4.0, ["2 ^ 10"] = 1024, ["2 ^ 62"] = 1 << 62,
    ["(-1) ^ 1000001"] = -1, ["0 ^ 100"] = 0, ["7 ^ 0"] = 1, ["1 ^ 9999999999"] = 1,
    ["-8 >> 1"] = -4, ["8 >> 3"] = 1, ["n > 5"] = 1, ["n <= 5"] = 0, ["n == 1000.0"] = 1,
    ["n ~= m"] = 1, ["not n"] = 0, ["not 0"] = 1, ["n > 5 and 2 or 3"] = 2,
    ["n < 5 and 2 or 3"] = 3,
    ["0 or 4"] = 4, ["wide"] = 1, ["narrow or 9"] = 9, ["true and 5"] = 5, ["false or 6"] = 6,
    ["dtype == 'f16' and 8 or 4"] = 8, ['dtype ~= "f32"'] = 1, ["dtype == n"] = 0,
    ["n == 0 or 1 // (n - 0) >= 0"] = 1, ["m == 7 or 1 // 0"] = 1, ["m ~= 7 and 1 // 0"] = 0,
    ["(((((((((1)))))))))"] = 1,
  } do
    local got = eval(text)
    lu.assertEquals(got, want, text)
    lu.assertEquals(math.type(got), math.type(want), text)
  end
end

function TestExpression:test_a_number_is_its_own_value()
  lu.assertEquals(eval(12), 12)
  lu.assertEquals(eval(0.5), 0.5)
  lu.assertNaN(eval(0 / 0))
end

function TestExpression:test_mistakes()
  for _, case in ipairs {
    { "n +", "syntax", "expected a number or a name, got the end at column 4 in \"n +\"" },
    { "", "syntax", "expected a number or a name" }, { "* 3", "syntax", "got '*' at column 1" },
    { "(n", "syntax", "expected ')', got the end" }, { "n n", "syntax", "expected an operator" },
    { "n )", "syntax", "expected an operator or the end, got ')'" },
    { "3n", "syntax", "cannot read a number at column 1" }, { "1..2", "syntax", "a number" },
    { "0x", "syntax", "cannot read a number" }, { "1e", "syntax", "cannot read a number" },
    { "n = 3", "syntax", "unexpected '=' at column 3", "compare by ==" },
    { "n; 3", "syntax", "unexpected ';' at column 2" }, { "n.x", "syntax", "unexpected '.'" },
    { "n[1]", "syntax", "unexpected '['" }, { "'abc", "syntax", "closing quote" },
    { "n \255", "syntax", "unexpected" }, { "n\0", "syntax", "unexpected" },
    { "nn + 1", "not_found", "no name 'nn' in \"nn + 1\"", "did you mean 'n'?" },
    { "m > 1 or nn", nil }, -- not looked at
    { "ceil_dvi(n, 2)", "not_found", "no function 'ceil_dvi'", "did you mean 'ceil_div'?" },
    { "ceil_div(n)", "syntax", "ceil_div takes 2 arguments, got 1" },
    { "sqrt()", "syntax", "sqrt takes 1 argument, got 0" },
    { "min()", "syntax", "min takes 1 argument, got 0" },
    { "max(1,)", "syntax", "expected a number or a name" },
    { "list + 1", "invalid", "'list' is a table" }, { "dtype", "invalid", "'f16' is text" },
    { "dtype + 1", "invalid", "is text" }, { "1 // 0", "invalid", "division by zero" },
    { "1 / 0", "invalid", "division by zero" }, { "1 % (n - n)", "invalid", "division by zero" },
    { "1.0 // 0", "invalid", "division by zero" }, { "1 // 0.0", "invalid", "division by zero" },
    { "9223372036854775807 + 1", "range", "64 bits" }, { "-9223372036854775807 - 2", "range" },
    { "3037000500 * 3037000500", "range" }, { "(1 << 62) * 2", "range" }, { "2 ^ 63", "range" },
    { "3 ^ 1000000000", "range", "64 bits" }, { "1 << 63", "invalid", "a shift by 63" },
    { "1 << -1", "invalid", "a shift by -1" }, { "3 << 62", "range" },
    { "(-9223372036854775807 - 1) // -1", "range" }, { "-(-9223372036854775807 - 1)", "range" },
    { "-1 * (-9223372036854775807 - 1)", "range" }, { "(-9223372036854775807 - 1) * -1", "range" },
    { "99999999999999999999", "range", "is too large" }, { "1e308 * 10", "range", "finite" },
    { "1e999", "range" }, { "floor(1e300)", "range", "64 bits" },
    { "2.5 & 1", "invalid", "integers" },
    { "~0.5", "invalid", "'~' needs integers" }, { "sqrt(-1)", "invalid", "sqrt of -1" },
    { "log2(0)", "invalid", "log2 of 0" }, { "ceil_div(1, 0)", "invalid", "ceil_div by 0" },
    { "ceil_div(1, -2)", "invalid" }, { "round_up(3, 0)", "invalid", "multiple of 0" },
    { "next_pow2((1 << 62) + 1)", "invalid", "a shift by 63" },
    { "ceil_div(n, 2.5)", "invalid", "ceil_div of 2.5, which is no integer" },
    { "bit_length(-1)", "invalid", "bit_length of -1" },
    { ("("):rep(60) .. "1" .. (")"):rep(60), "range", "nested deeper than 40" },
    { ("-"):rep(200) .. "1", "range", "nested deeper" }, { ("not "):rep(90) .. "1", "range" },
    { ("2^"):rep(90) .. "1", "range", "nested" },
    { ("1+"):rep(600) .. "1", "range", "of 1201 bytes" },
    { {}, "invalid", "expected a number or an expression, got a table" },
    { true, "invalid", "got a boolean" },
  } do
    local text, code, words, hint = table.unpack(case, 1, 4)
    local ok, e = pcall(eval, text)
    local shown = tostring(text)
    if code then
      lu.assertFalse(ok, shown)
      lu.assertEquals(type(e), "table", shown .. ": " .. tostring(e))
      lu.assertEquals(e.code, code, shown .. ": " .. e.message)
      lu.assertStrContains(e.message, "grid: ")
      lu.assertStrContains(e.message, words or "")
      lu.assertStrContains(e.hint or "", hint or "")
      lu.assertEquals(e.where, "plan.lua")
    else
      lu.assertTrue(ok, shown)
    end
  end
end

-- At n = 4096 and elsewhere: what is a comparison in any words, and what honest plans write.
function TestExpression:test_what_singles_out_a_value()
  local others = {}
  for i, n in ipairs { 1, 255, 1000, 2048, 4094, 4095, 4097, 4098, 8192, 12288 } do
    others[i] = { n = n, m = 7 }
  end
  for text, wanted in pairs {
    ["n == 4096"] = true, ["n == 4096 and 3 or n"] = true, ["(n ~= 4096) * n + 1"] = true,
    ["n > 4095 and n < 4097"] = true, ["1 // (1 + (n - 4096)^2)"] = true,
    ["n - min((n - 4096)^2, 1)"] = true, ["max(0, 1 - (n ~ 4096)) + m"] = true,
    ["n // (n == 4096 and 2 or 1)"] = true, ["min(1, n % 4096 + n // 8192)"] = true,
    ["n"] = false, ["ceil_div(n, 256)"] = false, ["n % 4 == 0 and 4 or 1"] = false,
    ["min(n, 1024)"] = false, ["n >= 4096"] = false, ["n > 4095 and 2 or 1"] = false,
    ["next_pow2(n)"] = false, ["bit_length(n) - 1"] = false, ["n & (n - 1) == 0"] = false,
    ["round_up(n, 128) // 128 * m"] = false, ["sqrt(n) * 2"] = false, ["m"] = false,
    ["n // 4096"] = false, ["4096"] = false, ["n ="] = false, ["x"] = false,
    ["1 // (n - 8192)"] = false,
  } do
    lu.assertEquals(expression.singles_out(text, { n = 4096, m = 7 }, others), wanted, text)
  end
end

function TestExpression:test_no_text_makes_it_raise_anything_but_an_error_table()
  math.randomseed(5)
  local pieces = { "n", "m", "(", ")", "+", "-", "~", "<<", "//", "%", "^", "1", "0", "2.5",
    "min", ",", "'", '"', " ", "and", "not", "==", "a", "9223372036854775807", "\0", "é" }
  for _ = 1, 5000 do
    local parts = {}
    for i = 1, math.random(12) do parts[i] = pieces[math.random(#pieces)] end
    local text = table.concat(parts)
    local ok, value = pcall(eval, text)
    if ok then lu.assertTrue(value - value == 0, text)
    else lu.assertEquals(type(value), "table", text .. ": " .. tostring(value)) end
  end
end

os.exit(lu.LuaUnit.run())
