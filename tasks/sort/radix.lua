--- sort/radix: 32-bit keys in ascending order; plans of many launches with scratch between them.

local pg = require "perigee"

local DIGITS, PASSES = 256, 4

-- Every step of a bitonic sort: sequences of `size`, compared over a distance of `stride`.
local function bitonic_steps(p)
  local steps = { { copy = { "sorted", "keys" } } }
  local size = 2
  while size // 2 < p.n do
    local stride = size // 2
    while stride >= 1 do
      local pairs_of = (p.n + 2 * stride - 1) // (2 * stride) * stride
      steps[#steps + 1] = {
        kernel = "bitonic", grid = (pairs_of + 255) // 256, block = 256,
        args = { "sorted", "n", size, stride },
      }
      stride = stride // 2
    end
    size = 2 * size
  end
  return steps
end

local function tiles(p) return (p.n + p.THREADS * p.ITEMS - 1) // (p.THREADS * p.ITEMS) end

-- Where the keys are before the first pass and after each.
local KEYS_AT = { "keys", "other", "sorted", "other", "sorted" }

local function onesweep_steps(p)
  local steps = {
    { memset = "count" }, { memset = "status" }, { memset = "ticket" },
    {
      kernel = "sort_histogram", grid = math.min(264, (p.n + 16383) // 16384), block = 1024,
      args = { "keys", "count", "n" },
    },
    { kernel = "sort_offsets", grid = PASSES, block = DIGITS, args = { "count" } },
  }
  for pass = 0, PASSES - 1 do
    steps[#steps + 1] = {
      kernel = "sort_pass", grid = tiles(p), block = p.THREADS,
      args = {
        KEYS_AT[pass + 1], KEYS_AT[pass + 2], { "count", offset = 4 * DIGITS * pass },
        { "status", offset = 4 * DIGITS * tiles(p) * pass }, { "ticket", offset = 4 * pass }, "n",
        8 * pass,
      },
    }
  end
  return steps
end

return pg.task {
  name = "sort/radix",
  doc = [[
Sort n 32-bit keys.

sorted[0 .. n - 1] holds the keys in ascending order. They are unsigned and uniform from 0 to
2^bits - 1; with few bits many are equal. To read and write each key once takes 8 bytes a key; a
radix sort of four passes and a count moves 36.]],
  params = {
    n = {
      default = 1 << 26, check = { 1, 2, 3, 1000, 8192, 8193, 70001, 70001, 70001 }, sim = 20011,
      min = 1, max = 1 << 28, doc = "number of keys",
    },
    bits = {
      default = 32, check = { 32, 32, 32, 32, 32, 32, 0, 3, 32 }, min = 0, max = 32,
      doc = "random bits of a key",
    },
  },
  inputs = function(p, rng)
    local last = (1 << p.bits) - 1
    return { keys = rng:array("u32", p.n, { dist = "integer", first = 0, last = last }) }
  end,
  families = { "equal", "sorted", "reversed" },
  outputs = function(p) return { sorted = pg.spec("u32", p.n) } end,
  kernel = "void sort(const unsigned* keys, unsigned* sorted, int n)",
  launch = function(p) return { grid = (p.n + 255) // 256, block = 256 } end,
  reference = function() return {} end, -- order and elements are judged against the input
  validate = { "sorted_by", of = "sorted", from = "keys" },
  work = function(p) return { bytes = 8 * p.n, items = p.n } end,
  torch = [[ # signed keys in the order of unsigned ones
    flip = -2**31
    return torch.sort(keys ^ flip)[0] ^ flip
  ]],
  impls = {
    expert = { "lua", "kernels/sort/expert.lua", doc = "CUB" },
    naive = {
      "cuda", "kernels/sort/bitonic.cu", doc = "bitonic, a launch for each of its steps",
      kernel = "void bitonic(unsigned* keys, int n, int size, int stride)",
      launch = bitonic_steps,
    },
    onesweep = {
      "cuda", "kernels/sort/onesweep.cu", doc = "8 bits a pass, one read and one write of each key",
      knobs = { THREADS = { 512, 384, 256 }, ITEMS = { 20, 12, 16, 24 }, PER_SM = { 2, 1, 3, 4 } },
      where = {
        "THREADS * ITEMS <= 11776", -- fits into 48 KiB beside the offsets
        "THREADS * PER_SM * (2 * ITEMS + 16) <= 65536", -- registers
      },
      launch = onesweep_steps,
      scratch = function(p)
        return {
          other = { dtype = "u32", n = p.n }, count = { dtype = "u32", n = PASSES * DIGITS },
          status = { dtype = "u32", n = PASSES * DIGITS * tiles(p) },
          ticket = { dtype = "u32", n = PASSES },
        }
      end,
    },
  },
}
