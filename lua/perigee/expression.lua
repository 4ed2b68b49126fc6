--- Arithmetic in plans: text over the names of parameters, scalars and knobs, evaluated by a parser
-- of its own, since what a candidate gives is data and never code.
--
-- Operators and their binding are Lua's: `or and < <= > >= ~= == | ~ & << >> + - * / // % not ^`.
-- Integers stay integers, and one that 64 bits do not hold is an error. A comparison is 1 or 0, and
-- 0 counts as false. Quoted text can be compared by == and ~=.
-- @module perigee.expression

local core = require "perigee.core"
local suggest = require "perigee.suggest"

local expression = {}

local TEXT_MOST, DEPTH_MOST = 1000, 40

-- ---- operations: a value, or nil and what went wrong ----

local TOO_LARGE = "the result does not fit 64 bits"

local function shift_by(b, f)
  if b < 0 or b > 62 then return nil, ("a shift by %d"):format(b) end
  return f(1 << b)
end

local INTEGER
INTEGER = {
  ["+"] = function(a, b)
    local sum = a + b
    if (a ~ sum) & (b ~ sum) < 0 then return nil, TOO_LARGE end
    return sum
  end,
  ["-"] = function(a, b)
    local difference = a - b
    if (a ~ b) & (a ~ difference) < 0 then return nil, TOO_LARGE end
    return difference
  end,
  ["*"] = function(a, b)
    local product = a * b
    if a == 0 then return 0 end
    if (a == -1 and b == math.mininteger) or product // a ~= b or product % a ~= 0 then
      return nil, TOO_LARGE
    end
    return product
  end,
  ["//"] = function(a, b)
    if b == 0 then return nil, "division by zero" end
    if b == -1 then return INTEGER["-"](0, a) end
    return a // b
  end,
  ["%"] = function(a, b)
    if b == 0 then return nil, "division by zero" end
    return a % b
  end,
  ["&"] = function(a, b) return a & b end,
  ["|"] = function(a, b) return a | b end,
  ["~"] = function(a, b) return a ~ b end,
  ["<<"] = function(a, b)
    return shift_by(b, function(factor) return INTEGER["*"](a, factor) end)
  end,
  -- Keeps the sign, unlike Lua's own.
  [">>"] = function(a, b)
    return shift_by(b, function(divisor) return a // divisor end)
  end,
}

-- Integer powers are exact; |base| <= 1 needs no loop, and any other overflows within 63 steps.
INTEGER["^"] = function(base, exponent)
  if exponent < 0 then return base ^ exponent end
  if base == 0 or base == 1 then return exponent == 0 and 1 or base end
  if base == -1 then return exponent % 2 == 0 and 1 or -1 end
  if exponent > 63 then return nil, TOO_LARGE end
  local result = 1
  for _ = 1, exponent do
    result = result and INTEGER["*"](result, base)
  end
  if not result then return nil, TOO_LARGE end
  return result
end

local function float_division(a, b)
  if b == 0 then return nil, "division by zero" end
  return a / b
end

local FLOAT = {
  ["+"] = function(a, b) return a + b end,
  ["-"] = function(a, b) return a - b end,
  ["*"] = function(a, b) return a * b end,
  ["/"] = float_division,
  ["//"] = function(a, b)
    if b == 0 then return nil, "division by zero" end
    return a // b
  end,
  ["%"] = function(a, b)
    if b == 0 then return nil, "division by zero" end
    return a % b
  end,
  ["^"] = function(a, b) return a ^ b end,
}

local COMPARE = {
  ["<"] = function(a, b) return a < b end, ["<="] = function(a, b) return a <= b end,
  [">"] = function(a, b) return a > b end, [">="] = function(a, b) return a >= b end,
}

local function whole(value)
  local result = math.tointeger(value)
  if not result then return nil, TOO_LARGE end
  return result
end

local function floor(value) return whole(math.floor(value)) end

local function ceil(value) return whole(math.ceil(value)) end

local function integers(name, f)
  return function(...)
    local list = { ... }
    for i, value in ipairs(list) do
      list[i] = math.tointeger(value)
      if not list[i] then return nil, ("%s of %s, which is no integer"):format(name, value) end
    end
    return f(table.unpack(list))
  end
end

local function bit_length(a)
  if a < 0 then return nil, ("bit_length of %d"):format(a) end
  local bits = 0
  while a > 0 do a, bits = a >> 1, bits + 1 end
  return bits
end

local function ceil_div(a, b)
  if b <= 0 then return nil, ("ceil_div by %d"):format(b) end
  return a // b + (a % b > 0 and 1 or 0)
end

local function round_up(a, multiple)
  if multiple <= 0 then return nil, ("round_up to a multiple of %d"):format(multiple) end
  return INTEGER["*"](ceil_div(a, multiple), multiple)
end

-- name -> {least arguments, most, function}
local FUNCTIONS = {
  min = { 1, 100, math.min }, max = { 1, 100, math.max }, ceil = { 1, 1, ceil },
  floor = { 1, 1, floor },
  log2 = { 1, 1, function(x)
    if x <= 0 then return nil, ("log2 of %s"):format(x) end
    return math.log(x, 2)
  end },
  sqrt = { 1, 1, function(x)
    if x < 0 then return nil, ("sqrt of %s"):format(x) end
    return math.sqrt(x)
  end },
  ceil_div = { 2, 2, integers("ceil_div", ceil_div) },
  round_up = { 2, 2, integers("round_up", round_up) },
  next_pow2 = { 1, 1, integers("next_pow2", function(a)
    if a <= 1 then return 1 end
    return INTEGER["<<"](1, bit_length(a - 1))
  end) },
  bit_length = { 1, 1, integers("bit_length", bit_length) },
}

-- ---- reading ----

local Parser = {}
Parser.__index = Parser

local function stop(self, code, message, hint)
  core.error(code, ("%s: %s in \"%s\""):format(self.what, message, self.text), hint, self.where)
end

local SYMBOLS = {
  ["//"] = true, ["<<"] = true, [">>"] = true, ["<="] = true, [">="] = true, ["=="] = true,
  ["~="] = true,
}
local WORDS = { ["and"] = true, ["or"] = true, ["not"] = true }

-- A number that starts at `at`: {kind, value, at} and where it ends.
local function number_token(self, at)
  local text = self.text:match("^0[xX]%x+", at) or self.text:match("^%d+%.?%d*[eE][+-]?%d+", at)
    or self.text:match("^%.%d+[eE][+-]?%d+", at) or self.text:match("^%d*%.?%d*", at)
  local value = tonumber(text)
  if not value or self.text:match("^[%w_%.]", at + #text) then
    stop(self, "syntax", ("cannot read a number at column %d"):format(at))
  end
  if value == math.huge or (text:match("^%d+$") and math.type(value) == "float") then
    stop(self, "range", text .. " is too large")
  end
  return { kind = "number", value = value, at = at }, at + #text
end

local function next_token(self, at)
  local text = self.text
  if text:match("^%.?%d", at) then return number_token(self, at) end
  local name = text:match("^[%a_][%w_]*", at)
  if name then
    return { kind = WORDS[name] and name or "name", value = name, at = at }, at + #name
  end
  local quote = text:match("^['\"]", at)
  if quote then
    local body = text:match("^[^'\"]*", at + 1)
    if text:sub(at + 1 + #body, at + 1 + #body) ~= quote then
      stop(self, "syntax", ("text without its closing quote at column %d"):format(at))
    end
    return { kind = "text", value = body, at = at }, at + #body + 2
  end
  local symbol = text:sub(at, at + 1)
  if not SYMBOLS[symbol] then symbol = text:match("^[-+*/%%^<>&|~(),]", at) end
  if not symbol then
    stop(self, "syntax", ("unexpected '%s' at column %d"):format(text:match(utf8.charpattern, at)
      or "?", at), text:sub(at, at) == "=" and "compare by ==" or nil)
  end
  return { kind = symbol, value = symbol, at = at }, at + #symbol
end

local function tokens_of(self)
  local list, at = {}, 1
  while true do
    at = self.text:find("%S", at)
    if not at then break end
    list[#list + 1], at = next_token(self, at)
  end
  list[#list + 1] = { kind = "end", value = "the end", at = #self.text + 1 }
  return list
end

-- Binding strength on the left and on the right, as in Lua.
local BINARY = {
  ["or"] = { 1, 1 }, ["and"] = { 2, 2 }, ["<"] = { 3, 3 }, [">"] = { 3, 3 }, ["<="] = { 3, 3 },
  [">="] = { 3, 3 }, ["~="] = { 3, 3 }, ["=="] = { 3, 3 }, ["|"] = { 4, 4 }, ["~"] = { 5, 5 },
  ["&"] = { 6, 6 }, ["<<"] = { 7, 7 }, [">>"] = { 7, 7 }, ["+"] = { 10, 10 }, ["-"] = { 10, 10 },
  ["*"] = { 11, 11 }, ["/"] = { 11, 11 }, ["//"] = { 11, 11 }, ["%"] = { 11, 11 },
  ["^"] = { 14, 13 },
}
local UNARY = { ["-"] = true, ["~"] = true, ["not"] = true }
local UNARY_BINDING = 12

function Parser:peek() return self.tokens[self.at] end

function Parser:take()
  self.at = self.at + 1
  return self.tokens[self.at - 1]
end

function Parser:unexpected(wanted)
  local token = self:peek()
  local got = token.kind == "end" and token.value or ("'%s'"):format(token.value)
  stop(self, "syntax", ("expected %s, got %s at column %d"):format(wanted, got, token.at))
end

function Parser:expect(kind, wanted)
  if self:peek().kind ~= kind then self:unexpected(wanted) end
  return self:take()
end

local parse

local function parse_call(self, token, depth)
  local f = FUNCTIONS[token.value]
  if not f then
    local names = {}
    for name in pairs(FUNCTIONS) do names[#names + 1] = name end
    table.sort(names)
    stop(self, "not_found", ("no function '%s'"):format(token.value),
      suggest.hint(token.value, names, "functions"))
  end
  self:take()
  local node = { kind = "call", name = token.value, f = f[3] }
  if self:peek().kind ~= ")" then
    repeat
      node[#node + 1] = parse(self, 0, depth + 1)
      local comma = self:peek().kind == ","
      if comma then self:take() end
    until not comma
  end
  self:expect(")", "',' or ')'")
  if #node < f[1] or #node > f[2] then
    stop(self, "syntax", ("%s takes %d argument%s, got %d"):format(token.value, f[1],
      f[1] == 1 and "" or "s", #node))
  end
  return node
end

local function parse_operand(self, depth)
  local token = self:peek()
  if UNARY[token.kind] then
    self:take()
    return { kind = "unary", op = token.kind, parse(self, UNARY_BINDING, depth + 1) }
  end
  if token.kind == "number" or token.kind == "text" then
    return { kind = "value", value = self:take().value }
  end
  if token.kind == "(" then
    self:take()
    local inner = parse(self, 0, depth + 1)
    self:expect(")", "')'")
    return inner
  end
  if token.kind ~= "name" then self:unexpected("a number or a name") end
  self:take()
  if self:peek().kind == "(" then return parse_call(self, token, depth) end
  return { kind = "name", name = token.value }
end

-- Precedence climbing: what binds more strongly than `limit`.
function parse(self, limit, depth)
  if depth > DEPTH_MOST then
    stop(self, "range", ("nested deeper than %d"):format(DEPTH_MOST))
  end
  local left = parse_operand(self, depth)
  while true do
    local op = self:peek().kind
    local binding = BINARY[op]
    if not binding or binding[1] <= limit then return left end
    self:take()
    left = { kind = "binary", op = op, left, parse(self, binding[2], depth + 1) }
  end
end

-- ---- evaluating ----

local function is_true(value)
  return value ~= 0
end

local function lookup(self, name)
  local value = self.env[name]
  if value == true or (value == nil and name == "true") then return 1 end
  if value == false or (value == nil and name == "false") then return 0 end
  if value == nil then
    local names = {}
    for known in pairs(self.env) do
      if type(known) == "string" then names[#names + 1] = known end
    end
    table.sort(names)
    stop(self, "not_found", ("no name '%s'"):format(name), suggest.hint(name, names, "names"))
  end
  if type(value) ~= "number" and type(value) ~= "string" then
    stop(self, "invalid", ("'%s' is a %s, which is no number"):format(name, type(value)))
  end
  return value
end

local evaluate

local function number(self, node)
  local value = evaluate(self, node)
  if type(value) == "number" then return value end
  stop(self, "invalid", ("'%s' is text, which can only be compared"):format(value))
end

-- The value of an operation, or the error that it is.
local function done(self, value, message)
  if value == nil then
    stop(self, message == TOO_LARGE and "range" or "invalid", message)
  end
  if value ~= value or value == math.huge or value == -math.huge then
    stop(self, "range", "the result is no finite number")
  end
  return value
end

local function bitwise_operand(self, value, op)
  return math.tointeger(value)
    or stop(self, "invalid", ("'%s' needs integers, got %s"):format(op, value))
end

local function arithmetic(self, op, a, b)
  if not FLOAT[op] then
    a, b = bitwise_operand(self, a, op), bitwise_operand(self, b, op)
  end
  local exact = INTEGER[op] and math.type(a) == "integer" and math.type(b) == "integer"
  return done(self, (exact and INTEGER or FLOAT)[op](a, b))
end

local function binary(self, node)
  local op = node.op
  if op == "and" or op == "or" then
    local left = number(self, node[1])
    if is_true(left) == (op == "or") then return left end
    return number(self, node[2])
  end
  if op == "==" or op == "~=" then
    return (evaluate(self, node[1]) == evaluate(self, node[2])) == (op == "==") and 1 or 0
  end
  local a, b = number(self, node[1]), number(self, node[2])
  if COMPARE[op] then return COMPARE[op](a, b) and 1 or 0 end
  return arithmetic(self, op, a, b)
end

local function unary(self, node)
  local value = number(self, node[1])
  if node.op == "not" then return is_true(value) and 0 or 1 end
  if node.op == "~" then return ~bitwise_operand(self, value, "~") end
  return arithmetic(self, "-", math.type(value) == "integer" and 0 or -0.0, value)
end

local function call(self, node)
  local values = {}
  for i, argument in ipairs(node) do values[i] = number(self, argument) end
  local value, message = node.f(table.unpack(values))
  return done(self, value, message)
end

function evaluate(self, node)
  if node.kind == "value" then return node.value end
  if node.kind == "name" then return lookup(self, node.name) end
  if node.kind == "binary" then return binary(self, node) end
  if node.kind == "unary" then return unary(self, node) end
  return call(self, node)
end

-- ---- the interface ----

local function read(text, what, where)
  if #text > TEXT_MOST then
    core.error("range", ("%s: an expression of %d bytes"):format(what, #text),
      ("at most %d are read"):format(TEXT_MOST), where)
  end
  local self = setmetatable({ text = text, what = what, where = where, at = 1 }, Parser)
  self.tokens = tokens_of(self)
  local tree = parse(self, 0, 1)
  if self:peek().kind ~= "end" then self:unexpected("an operator or the end") end
  return self, tree
end

--- An expression that is evaluated many times: a function of env. See eval.
-- @tparam string text
function expression.compile(text, what, where)
  local self, tree = read(text, what, where)
  return function(env)
    self.env = env
    return number(self, tree)
  end
end

--- The value of an expression; a number is its own value.
-- @param text a string or a number
-- @tparam table env name -> number, boolean (1 or 0) or text
-- @tparam string what what it is for, e.g. "grid", for errors
-- @tparam[opt] string where place, for errors
-- @treturn number
-- @raise "syntax", "not_found" (a name), "range" (64 bits, not finite), "invalid" (division by
--   zero, text where a number is needed), each with the expression
function expression.eval(text, env, what, where)
  if type(text) == "number" then return text end
  if type(text) ~= "string" then
    core.error("invalid", ("%s: expected a number or an expression, got a %s"):format(what,
      type(text)), 'write 256 or "ceil_div(n, 256)"', where)
  end
  local self, tree = read(text, what, where)
  self.env = env
  return number(self, tree)
end

-- The value of a node, or nil where it has none.
local function value_at(self, node, env)
  self.env = env
  local ok, value = pcall(evaluate, self, node)
  return ok and value or nil
end

-- Whether the values at `others` are one, and the value at `env` another.
local function differs(self, node, env, others)
  local own, elsewhere = value_at(self, node, env), nil
  for _, other in ipairs(own and others or {}) do
    local value = value_at(self, node, other)
    if value == own or (elsewhere and value and value ~= elsewhere) then return false end
    elsewhere = elsewhere or value
  end
  return elsewhere ~= nil
end

local function node_singles_out(self, node, env, others)
  if differs(self, node, env, others) then return true end
  for _, child in ipairs(node) do
    if node_singles_out(self, child, env, others) then return true end
  end
  return false
end

--- Whether a part of an expression has one value at all of `others`, and another one at env: it
-- tells env from them, as a comparison would. Where a part has no value it is passed over.
-- @tparam string text
-- @tparam table env see eval
-- @tparam table others list of such
function expression.singles_out(text, env, others)
  local ok, self, tree = pcall(read, text, "", nil)
  return ok and node_singles_out(self, tree, env, others)
end

return expression
