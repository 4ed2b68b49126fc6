--- reduce/sum, dot, max, argmax: a family of reductions of f32 vectors to one number.

local pg = require "perigee"

-- A sum of whole numbers this small is exact in f32 in any order, so that one element too few or
-- too many shows; products of 16 by 16 likewise.
local SUM_MOST, DOT_MOST = 100, 16

local LARGE = 1 << 20 -- few different numbers, so many elements are equal

-- The largest of many elements would nearly always be `high`, which nobody need read. So some at
-- random places are raised above it: who leaves out a part may miss the largest, and who stops at
-- the first that is above does.
local PEAKS = 64

-- Where the largest is decides alone, so it is worth more than one look at the size that is timed.
local ALSO = { { peaks = PEAKS // 2 }, { peaks = 2 * PEAKS } }

local function size()
  return {
    default = 1 << 26, check = { 1, 3, 255, 4096, 65537, 300001 }, sim = 20003, min = 1,
    max = 1 << 30, doc = "number of elements",
  }
end

local function range()
  return {
    n = size(),
    low = {
      default = -LARGE, check = { -5, -LARGE, -1000, 7, -LARGE, 0 }, sim = -LARGE, min = -LARGE,
      max = LARGE, doc = "smallest element",
    },
    high = {
      default = LARGE, check = { -5, LARGE, -1, 7, LARGE, 1 }, sim = LARGE, min = -LARGE,
      max = LARGE, doc = "largest element that is drawn",
    },
    peaks = {
      default = PEAKS, check = { 0, 0, 0, 0, PEAKS, 0 }, sim = PEAKS, min = 0, max = 1 << 16,
      doc = "how many elements, at random places, are raised above high",
    },
  }
end

local function whole(p, rng, low, high)
  if low > high then pg.error("range", ("low = %d is above high = %d"):format(low, high)) end
  return rng:array("f32", p.n, { dist = "integer", first = low, last = high })
end

local function between(p, rng)
  local x = whole(p, rng, p.low, p.high)
  local places = rng:array("i64", p.peaks, { dist = "integer", first = 0, last = p.n - 1 })
  local raised = rng:array("i64", p.peaks, { dist = "integer", first = 1, last = LARGE })
  for i = 0, p.peaks - 1 do x[places[i]] = p.high + raised[i] end
  return { x = x }
end

local FAMILY = {
  sum = {
    doc = ([[
Sum of n single-precision numbers.

y[0] = x[0] + ... + x[n - 1]. The elements are whole numbers from -%d to %d, so that a sum in
single precision is exact in any order, and one element too many or too few is seen.]]):format(
      SUM_MOST, SUM_MOST),
    params = { n = size() },
    inputs = function(p, rng) return { x = whole(p, rng, -SUM_MOST, SUM_MOST) } end,
    output = "y", dtype = "f32", partial_bytes = 4, arrays = 1, flops = 1,
    kernel = "void reduce_sum(const float* x, float* y, int n)",
    ticket = "void reduce_sum(const float* x, float* y, void* partial, unsigned* ticket, int n)",
    reference = function(_, io) return { y = io.x:sum() } end,
    naive = function(p)
      return { { memset = "y" }, { grid = (p.n + 255) // 256, block = 256 } }
    end,
    expert = { "lua", "kernels/reduce/expert.lua", doc = "CUB" }, torch = "return x.sum()",
  },
  dot = {
    doc = ([[
Inner product of two vectors of n single-precision numbers.

r[0] = x[0] y[0] + ... + x[n - 1] y[n - 1]. The elements are whole numbers from -%d to %d, so that
the result in single precision is exact in any order of the sum.]]):format(DOT_MOST, DOT_MOST),
    params = { n = size() },
    inputs = function(p, rng)
      return { x = whole(p, rng, -DOT_MOST, DOT_MOST), y = whole(p, rng, -DOT_MOST, DOT_MOST) }
    end,
    output = "r", dtype = "f32", partial_bytes = 4, arrays = 2, flops = 2,
    kernel = "void reduce_dot(const float* x, const float* y, float* r, int n)",
    ticket = "void reduce_dot(const float* x, const float* y, float* r, void* partial, "
      .. "unsigned* ticket, int n)",
    reference = function(_, io) return { r = (io.x * io.y):sum() } end,
    naive = function(p)
      return { { memset = "r" }, { grid = (p.n + 255) // 256, block = 256 } }
    end,
  },
  max = {
    doc = [[
Largest of n single-precision numbers.

y[0] = the largest of x[0] ... x[n - 1]. The elements are whole numbers from low to high; all may be
negative. peaks of them, at random places, are above high, by 1 to 2^20.]],
    params = range(), inputs = between, also = ALSO,
    output = "y", dtype = "f32", partial_bytes = 4, arrays = 1, flops = 1,
    kernel = "void reduce_max(const float* x, float* y, int n)",
    ticket = "void reduce_max(const float* x, float* y, void* partial, unsigned* ticket, int n)",
    reference = function(_, io) return { y = (io.x:max()) } end,
    torch = "return x.max()",
    naive = function(p)
      return { { memset = "y", byte = 255 }, { grid = (p.n + 255) // 256, block = 256 } }
    end,
  },
  argmax = {
    doc = [[
Place of the largest of n single-precision numbers.

index[0] = the smallest i for which x[i] is the largest of all. The elements are whole numbers from
low to high; the largest may occur many times. peaks of them, at random places, are above high, by 1
to 2^20.]],
    params = range(), inputs = between, also = ALSO,
    output = "index", dtype = "i32", partial_bytes = 8, arrays = 1, flops = 1,
    kernel = "void reduce_argmax(const float* x, int* index, int n)",
    ticket = "void reduce_argmax(const float* x, int* index, void* partial, "
      .. "unsigned* ticket, int n)",
    reference = function(_, io)
      local _, index = io.x:max()
      return { index = index }
    end,
    scratch = { best = { dtype = "u64", n = 1 } },
    naive = function(p)
      return {
        { memset = "best" },
        {
          kernel = "reduce_argmax", grid = (p.n + 255) // 256, block = 256,
          args = { "x", "best", "n" },
        },
        { kernel = "reduce_argmax_index", grid = 1, block = 1, args = { "best", "index" } },
      }
    end,
  },
}

-- Blocks of the one-pass kernels: 8 for each of 132 multiprocessors, fewer for less work.
local function blocks(p) return math.min(1056, (p.n + 4095) // 4096) end

local function reduction(name, one)
  return pg.task {
    name = "reduce/" .. name,
    doc = one.doc,
    params = one.params,
    inputs = one.inputs,
    also = one.also,
    outputs = function() return { [one.output] = pg.spec(one.dtype, 1) } end,
    kernel = one.kernel,
    launch = function() return { grid = 1, block = 256 } end,
    reference = one.reference,
    validate = "exact",
    work = function(p)
      return { bytes = 4 * one.arrays * p.n, flops = one.flops * p.n, items = p.n }
    end,
    torch = one.torch,
    impls = {
      expert = one.expert,
      naive = {
        "cuda", "kernels/reduce/tree.cu", doc = "one element a thread, one atomic a block",
        launch = one.naive, scratch = one.scratch,
      },
      ticket = {
        "cuda", "kernels/reduce/ticket.cu", kernel = one.ticket,
        doc = "16-byte loads, shuffles; the block with the last ticket finishes",
        launch = function(p) return { grid = blocks(p), block = 256 } end,
        scratch = function(p)
          return {
            partial = { dtype = "u8", n = one.partial_bytes * blocks(p) },
            ticket = { dtype = "u32", n = 1, init = 0 },
          }
        end,
      },
    },
  }
end

local family = {}
for _, name in ipairs { "sum", "dot", "max", "argmax" } do
  family[#family + 1] = reduction(name, FAMILY[name])
end
return family
