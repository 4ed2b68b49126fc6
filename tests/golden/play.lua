-- Runs entries on a device: what each gave, as bytes, or why it did not run.
local core = require "perigee.core"
local inputs = require "inputs"
local kernels = require "kernels"

local M = {}

-- Kernels of a module: ptxas takes them faster together; the simulator loads each in no time.
local MODULE = { cuda = 40, sim = 40 }

local function load_entries(dev, entries, first, last, use, refuse)
  local some = table.move(entries, first, last, 1, {})
  local ok, module = pcall(dev.load, dev, kernels.module(some), "golden.ptx")
  if ok then
    for i, e in ipairs(some) do use(e, module:kernel("k" .. i)) end
  elseif first == last then
    refuse(some[1], module)
  else
    local middle = (first + last) // 2
    load_entries(dev, entries, first, middle, use, refuse)
    load_entries(dev, entries, middle + 1, last, use, refuse)
  end
end

-- The lane that shfl reads (PTX ISA, "shfl.sync", semantics); itself when out of its segment.
local function shuffle_source(key, lane, b, c)
  local segment, clamp = c >> 8 & 31, c & 31
  local low = lane & segment
  local high, shift = low | clamp & ~segment, b & 31
  local from, inside
  if key:find "%.up%." then
    from = lane - shift
    inside = from >= high
  else
    from = key:find "%.down%." and lane + shift or key:find "%.bfly%." and lane ~ shift
      or low | shift & ~segment
    inside = from <= high
  end
  return inside and from or lane
end

-- Reading a lane that does not take part gives anything: such results become zeros.
local function forget_undefined(e, made, bytes)
  if e.opcode ~= "shfl" then return bytes end
  local out, v = {}, made.values
  for i = 0, #bytes // 8 - 1 do
    local word = bytes:sub(i * 8 + 1, i * 8 + 8)
    local from = shuffle_source(e.key, i & 31, v[2][i], v[3][i])
    if v[4][i] >> (from & 31) & 1 == 0 then word = ("\0"):rep(4) .. word:sub(5) end
    out[i + 1] = word
  end
  return table.concat(out)
end

local function upload(dev, cache, bytes)
  local buffer = cache[bytes]
  if not buffer then
    buffer = dev:upload(core.from_bytes("u8", #bytes, bytes))
    cache[bytes] = buffer
  end
  return buffer
end

local function run_one(dev, cache, e, kernel, change)
  local made = inputs.make(e)
  local n = inputs.rows(e)
  local out = dev:alloc(n * e.bytes)
  out:fill(0)
  local args = { out }
  for k in ipairs(e.sources) do
    local bytes = change and change(e, k, made[k]) or made[k]
    args[k + 1] = upload(dev, cache, bytes)
  end
  kernel:launch { grid = n // kernels.BLOCK, block = kernels.BLOCK, args = args }
  dev:sync()
  local bytes = out:download(core.array("u8", n * e.bytes)):tostring()
  return forget_undefined(e, made, bytes)
end

--- Run entries on an open device. done(entry, bytes) for each that ran, refused(entry, error) for
--- each that did not. `change(entry, k, bytes)`, optional, gives other operands.
function M.run(dev, entries, done, refused, change)
  local cache = {}
  local step = MODULE[dev:info().kind]
  for first = 1, #entries, step do
    load_entries(dev, entries, first, math.min(first + step - 1, #entries), function(e, kernel)
      local ok, result = pcall(run_one, dev, cache, e, kernel, change)
      if ok then done(e, result) else refused(e, result) end
    end, refused)
  end
end

return M
