-- Replays golden vectors on the simulator: for each instruction whether it gives what the GPU gave.
local bounds = require "bounds"
local inputs = require "inputs"
local play = require "play"
local store = require "store"

local M = {}

-- Signs of all numbers cleared: what sums of products cannot exceed.
local function magnitudes(e, k, bytes)
  local name = e.sources[k].name
  local bits = e.sources[k].type.bytes * 8
  local half = name:find "x2$" or name == "f16"
  local format, mask = "<I4", half and 0x7fff7fff or 0x7fffffff
  if bits == 64 then format, mask = "<i8", math.maxinteger end
  local out, size = {}, bits == 64 and 8 or 4
  for at = 1, #bytes, size do
    out[#out + 1] = string.pack(format, string.unpack(format, bytes, at) & mask)
  end
  return table.concat(out)
end

local function hex(bytes, at, size)
  return (bytes:sub(at, at + size - 1):reverse():gsub(".", function(c)
    return ("%02x"):format(c:byte())
  end))
end

-- "thread 7: a=00000001 b=7f800000: GPU 7fffffff, sim 7f800000"
local function describe(e, row, want, got)
  local made, words = inputs.make(e), {}
  for k, o in ipairs(e.sources) do
    local size = o.type.bytes * o.count
    words[k] = ("%s=%s"):format(("abcef"):sub(k, k), hex(made[k], row * size + 1, size))
  end
  return ("thread %d: %s: GPU %s, sim %s"):format(row, table.concat(words, " "),
    hex(want, row * e.bytes + 1, e.bytes), hex(got, row * e.bytes + 1, e.bytes))
end

local function differing(e, want, got)
  local bad, first = 0, nil
  for row = 0, #want // e.bytes - 1 do
    local at = row * e.bytes + 1
    if want:sub(at, at + e.bytes - 1) ~= got:sub(at, at + e.bytes - 1) then
      bad, first = bad + 1, first or row
    end
  end
  return bad, first
end

local function judge(e, want, got, scale)
  if want == got then return { status = "ok" } end
  local bound = bounds.of(e)
  local bad, first = differing(e, want, got)
  if bound then
    local at = bounds.first_outside(e, bound, want, got, scale)
    if not at then return { status = "ok", within = bound } end
    first = at * (e.dest.type.kind == "pair" and 2 or e.dest.type.bytes) // e.bytes
  end
  return { status = "wrong", bad = bad, detail = describe(e, first, want, got) }
end

--- One result for each entry of a group, in its order: { entry =, vectors =, status = "ok" |
--- "wrong" | "unsupported" | "refused" (by the GPU's assembler) | "unrecorded", bad =, detail =,
--- within = bound }.
function M.group(dev, recorded, group)
  local by_key, scales, summed = {}, {}, {}
  for _, e in ipairs(group.entries) do
    local bound = bounds.of(e)
    if bound and bound.sum then summed[#summed + 1] = e end
  end
  play.run(dev, summed, function(e, bytes) scales[e.key] = bytes end, function() end, magnitudes)
  play.run(dev, group.entries, function(e, got)
    local want = store.read(recorded, e)
    local r = want and judge(e, want, got, scales[e.key])
      or { status = recorded.refused[e.key] and "refused" or "unrecorded" }
    by_key[e.key] = r
  end, function(e, why)
    by_key[e.key] = { status = "unsupported", detail = why.message or tostring(why) }
  end)
  local results = {}
  for i, e in ipairs(group.entries) do
    local r = by_key[e.key]
    r.entry, r.vectors = e, inputs.rows(e)
    results[i] = r
  end
  return results
end

return M
