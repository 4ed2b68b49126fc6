-- From the list of instructions to entries: what each is called, takes, gives, and how its vectors
-- are made.
local M = {}

--- Types of operands: bytes in memory, register, and what kind of values it takes.
M.types = {
  pred = { bytes = 1, reg = "pred", kind = "int", bits = 1 },
  u8 = { bytes = 4, reg = "b32", kind = "int", bits = 32 },
  s8 = { bytes = 4, reg = "b32", kind = "int", bits = 32 },
  e4m3x2 = { bytes = 2, reg = "b16", kind = "int", bits = 16 },
  e5m2x2 = { bytes = 2, reg = "b16", kind = "int", bits = 16 },
  f16 = { bytes = 2, reg = "b16", kind = "float", mantissa = 10, exponent = 5 },
  bf16 = { bytes = 2, reg = "b16", kind = "float", mantissa = 7, exponent = 8 },
  f32 = { bytes = 4, reg = "b32", kind = "float", mantissa = 23, exponent = 8 },
  tf32 = { bytes = 4, reg = "b32", kind = "float", mantissa = 23, exponent = 8 },
  f64 = { bytes = 8, reg = "b64", kind = "float", mantissa = 52, exponent = 11 },
  f16x2 = { bytes = 4, reg = "b32", kind = "pair", half = "f16" },
  bf16x2 = { bytes = 4, reg = "b32", kind = "pair", half = "bf16" },
  u16x2 = { bytes = 4, reg = "b32", kind = "pair", half = "u16" },
  s16x2 = { bytes = 4, reg = "b32", kind = "pair", half = "s16" },
  mask = { bytes = 4, reg = "b32", kind = "mask", bits = 32 },
}
for _, letter in ipairs { "b", "u", "s" } do
  for _, bits in ipairs { 16, 32, 64 } do
    M.types[letter .. bits] = { bytes = bits // 8, reg = "b" .. bits, kind = "int", bits = bits }
  end
end

--- Destinations that are not a type: `pred2` both predicates of a setp; `b32p` a value and a
--- predicate; `memN` an atomic's old value and what is then in memory; `cellN` only the latter.
local results = {
  pred2 = { bytes = 1, form = "pred2" },
  b32p = { bytes = 8, form = "b32p" },
  mem16 = { bytes = 4, form = "mem", cell = 2 },
  mem32 = { bytes = 8, form = "mem", cell = 4 },
  mem64 = { bytes = 16, form = "mem", cell = 8 },
  cell32 = { bytes = 4, form = "cell", cell = 4 },
  cell64 = { bytes = 8, form = "cell", cell = 8 },
}

local function expand(text, out, choices)
  local before, inner, after = text:match "^(.-)<([^<>]*)>(.*)$"
  if not before then
    out[#out + 1] = { text, table.move(choices, 1, #choices, 1, {}) }
    return
  end
  for choice in (inner .. "|"):gmatch "(.-)|" do
    choices[#choices + 1] = choice
    expand(before .. choice .. after, out, choices)
    choices[#choices] = nil
  end
end

-- Types that the words `same`, `first` and `last` stand for: those in the spelling.
local function types_in(key)
  local found = {}
  for part in key:gsub("/.*", ""):gmatch "[^.]+" do
    if M.types[part] then found[#found + 1] = part end
  end
  return found
end

local function operand(word, found)
  local count, rest = word:match "^(%d+)%*(.*)$"
  local name, domain = (rest or word):match "^([^:]+):?(.*)$"
  if name == "same" or name == "last" then name = found[#found] end
  if name == "first" then name = found[1] end
  return { name = name, domain = domain ~= "" and domain or nil, count = math.tointeger(count) or 1,
    vector = count ~= nil, type = M.types[name], result = results[name] }
end

local function entry(group, key, choices, dest, sources, body)
  local found = types_in(key)
  local e = { group = group, key = key, sources = {}, dest = operand(dest, found) }
  e.opcode = key:match "^[^./]+"
  for word in sources:gmatch "%S+" do e.sources[#e.sources + 1] = operand(word, found) end
  for _, o in ipairs(e.sources) do
    assert(o.type, key .. ": unknown type " .. tostring(o.name))
    if o.name == "mask" then e.warp = true end
  end
  e.matrix = e.opcode:find "^mma" ~= nil or e.opcode:find "matrix$" ~= nil
  e.warp = e.warp or e.matrix
  local bytes = assert(e.dest.type or e.dest.result, key .. ": unknown destination").bytes
  e.bytes = bytes * e.dest.count
  e.form = e.dest.result and e.dest.result.form or "plain"
  e.body = body and body:gsub("@(%d)", function(n) return choices[tonumber(n)] end)
  local only = e.sources[1]
  e.exhaustive = #e.sources == 1 and not e.warp and (only.name == "f16" or only.name == "bf16")
  return e
end

--- All entries of the list, in its order, by group: { { name =, entries = } ... }.
function M.load(text)
  local groups, seen = {}, {}
  for line in text:gmatch "[^\n]+" do
    local name = line:match "^([%w_]+):$"
    if name then
      groups[#groups + 1] = { name = name, entries = {} }
    else
      local spelling, dest, rest = line:match "^(%S+)%s+(%S+)%s+=%s*(.*)$"
      assert(spelling, "not an instruction: " .. line)
      local sources, body = rest:match "^(.-)%s+:%s+(.*)$"
      local all = {}
      expand(spelling, all, {})
      for _, one in ipairs(all) do
        if not seen[one[1]] then
          local group = groups[#groups]
          group.entries[#group.entries + 1] =
            entry(group.name, one[1], one[2], dest, sources or rest, body)
        end
        seen[one[1]] = true
      end
    end
  end
  return groups
end

return M
