--- What the tests of this folder share: inputs, comparisons, and running the kernels of a file on
-- sim:check under several schedules, or, with PERIGEE_TEST_DEVICE=cuda:0, on a GPU.
local lu = require "luaunit"
local core = require "perigee.core"
local files = require "perigee.files"

local bench = {}

io.stdout:setvbuf "line" -- whoever stops it sees how far it came
local GPU = os.getenv "PERIGEE_TEST_DEVICE"
local SPECS = GPU and { GPU } or { "sim:check", "sim:check,seed=11", "sim:check,seed=12",
  "sim:check,workers=2,seed=5" }

--- So many on the simulator, so many on a GPU.
function bench.size(sim, gpu)
  return GPU and gpu or sim
end

--- n / each, rounded up.
function bench.blocks(n, each)
  return (n + each - 1) // each
end

-- ---- inputs ----

--- Random integers from first to last.
function bench.integers(dtype, n, stream, first, last)
  return core.array(dtype, n):random { seed = 7, stream = stream, dist = "integer", first = first,
    last = last }
end

--- Random f32 from -1 to 1.
function bench.reals(n, stream)
  return core.array("f32", n):random { seed = 7, stream = stream, dist = "uniform", low = -1,
    high = 1 }
end

function bench.zeros(dtype, n)
  return core.array(dtype, n):fill(0)
end

-- ---- a device with the kernels of one file ----

local Bench = {}
Bench.__index = Bench

local function open(spec, path)
  local self = setmetatable({ dev = core.device(spec) }, Bench)
  self.module = self.dev:load(files.read(files.join(core.home, path)), path)
  return self
end

Bench.__close = function(self) self.dev:close() end

function Bench:put(name, array)
  return self.dev:upload(array, name)
end

function Bench:launch(name, how)
  self.module:kernel(name):launch(how)
end

-- What was found, e.g. "weak_read of level", sorted and each once.
local function found(dev)
  local list, seen = {}, {}
  dev:sync()
  for _, finding in ipairs(dev:findings(true)) do
    local text = ("%s of %s"):format(finding.kind, finding.allocation or finding.text)
    if not seen[text] then list[#list + 1] = text end
    seen[text] = true
  end
  table.sort(list)
  return list
end

--- Run `body(one)` on every device: `one:put(name, array)`, `one:launch(kernel, how)`, `one.dev`.
-- @tparam string path of the PTX, below the home
-- @tparam table weak what sim:check must find, and nothing else: {"weak_read of NAME", ...}
function bench.on_each(path, weak, body)
  for _, spec in ipairs(SPECS) do
    local one <close> = open(spec, path)
    body(one)
    lu.assertEquals(found(one.dev), spec:match "^sim" and weak or {}, spec)
  end
end

-- ---- comparisons ----

--- An array against a list, exactly.
function bench.equal(got, want, what)
  for i = 1, #want do
    if got[i - 1] ~= want[i] then
      lu.fail(("%s[%d] is %s, expected %s"):format(what, i - 1, got[i - 1], want[i]))
    end
  end
  lu.assertEquals(got.count, #want)
end

--- The same within bound(i).
function bench.near(got, want, bound, what)
  lu.assertEquals(got.count, #want)
  for i = 1, #want do
    local off = math.abs(got[i - 1] - want[i])
    if off > bound(i) or off ~= off then
      lu.fail(("%s[%d] is %.9g, expected %.9g within %g"):format(what, i - 1, got[i - 1], want[i],
        bound(i)))
    end
  end
end

return bench
