--- Comparisons of sizes in a candidate's kernels: in words, and whether they single out a size that
-- is timed. What is compared is an expression of parameters, which is worked out for the values
-- that a launch gives them.
-- @module perigee.audit_sizes

local sizes = {}

-- A branch where two are equal is one where they are not.
local SIGNS = { eq = "==", ne = "==", lt = "<", le = "<=", gt = ">", ge = ">=", lo = "<",
  ls = "<=", hi = ">", hs = ">=" }
local OPERATORS = { add = "+", sub = "-", mul = "*", div = "/", rem = "%", shl = "<<", shr = ">>",
  ["and"] = "&", ["or"] = "|", xor = "^" }

-- ---- working out ----

-- What `bits` hold of a value.
local function wrapped(value, bits, signed)
  if bits <= 0 or bits >= 64 then return value end
  local low = value & ((1 << bits) - 1)
  if signed and low >= 1 << (bits - 1) then return low - (1 << bits) end
  return low
end

-- Division as C does it: towards zero.
local function divided(a, b)
  if b == 0 then return nil end
  local quotient = a // b
  if quotient < 0 and quotient * b ~= a then quotient = quotient + 1 end
  return quotient
end

local function shifted_right(a, n, signed)
  if n >= 64 then return signed and a < 0 and -1 or 0 end
  return signed and a // (1 << math.min(n, 62)) or a >> n
end

local COMPUTE = {
  copy = function(a) return a end,
  neg = function(a) return -a end,
  ["not"] = function(a) return ~a end,
  add = function(a, b) return a + b end,
  sub = function(a, b) return a - b end,
  mul = function(a, b) return a * b end,
  mad = function(a, b, c) return a * b + c end,
  div = divided,
  rem = function(a, b)
    local quotient = divided(a, b)
    return quotient and a - quotient * b
  end,
  shl = function(a, n) return n < 64 and a << n or 0 end,
  shr = function(a, n, _, node) return n >= 0 and shifted_right(a, n, node.signed) or nil end,
  ["and"] = function(a, b) return a & b end,
  ["or"] = function(a, b) return a | b end,
  xor = function(a, b) return a ~ b end,
  min = math.min, max = math.max,
}

--- The value of an expression; nil when a name has none or the arithmetic has no result.
-- @tparam table node of core.ptx_facts
-- @tparam table values name -> integer
function sizes.evaluate(node, values)
  if node.name then return values[node.name] end
  if node.op == "constant" then return node.constant end
  local operands = {}
  for i, child in ipairs(node.operands) do
    operands[i] = sizes.evaluate(child, values)
    if operands[i] == nil then return nil end
  end
  local value = COMPUTE[node.op](operands[1], operands[2], operands[3], node)
  return value and wrapped(value, node.bits, node.signed)
end

-- ---- in words ----

local function operand_text(node, names)
  local text = sizes.text(node, names)
  return text:find(" ", 1, true) and ("(%s)"):format(text) or text
end

--- An expression as in C.
-- @tparam table node
-- @tparam table names name in the PTX -> name to show
function sizes.text(node, names)
  if node.name then return names[node.name] or node.name end
  if node.op == "constant" then return tostring(node.constant) end
  if node.op == "copy" then return sizes.text(node.operands[1], names) end
  local texts = {}
  for i, child in ipairs(node.operands) do texts[i] = operand_text(child, names) end
  local operator = OPERATORS[node.op]
  if operator then return ("%s %s %s"):format(texts[1], operator, texts[2]) end
  if node.op == "neg" then return "-" .. texts[1] end
  if node.op == "not" then return "~" .. texts[1] end
  if node.op == "mad" then return ("%s * %s + %s"):format(texts[1], texts[2], texts[3]) end
  return ("%s(%s)"):format(node.op, table.concat(texts, ", "))
end

local function comparison_text(test, names)
  local left = test.value and sizes.text(test.value, names)
    or "a value computed from " .. (names[test.of] or test.of)
  local sign = SIGNS[(test.comparison:gsub("u$", ""))]
  if not sign then return ("%s(%s, %d)"):format(test.comparison, left, test.constant) end
  return ("%s %s %d"):format(left, sign, test.constant)
end

-- ---- findings ----

-- Whether the outcome at a value is another one than at those beside it.
local function singles_out(test, values)
  local value = test.value and sizes.evaluate(test.value, values)
  if math.type(value) ~= "integer" then return false end
  local apart = wrapped(value - test.constant, test.value.bits <= 32 and 32 or 64, true)
  local equality = test.comparison == "eq" or test.comparison == "ne"
  return math.abs(apart) <= (equality and 0 or 1)
end

--- Texts about comparisons with a size that is timed, and about those on one side of which nothing
-- is stored.
-- @tparam table tests of perigee.facts
-- @tparam table worlds list of name -> integer: what parameters are when it is timed
-- @tparam table names name in the PTX -> name to show
-- @treturn table list of {text, where}
function sizes.findings(tests, worlds, names)
  local list = {}
  for _, test in ipairs(tests) do
    local timed = false
    for _, values in ipairs(worlds) do timed = timed or singles_out(test, values) end
    if timed or test.skips then
      list[#list + 1] = { where = test.where, text = ("branches on %s%s%s"):format(
        comparison_text(test, names), timed and ", the timed size" or "",
        test.skips and ": one way from there nothing is stored" or "") }
    end
  end
  return list
end

return sizes
