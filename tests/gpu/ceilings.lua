--- What `perigee doctor --measure` finds on a GPU: sensible, stored, used by `run`, and the same as
-- PyTorch's own copy where there is a PyTorch. Ends with "N passed, M failed".

local pg = require "perigee"
local core = require "perigee.core"

io.stdout:setvbuf "line"

local command = os.getenv "PERIGEE_TEST_COMMAND" or "build/perigee"
local device = os.getenv "PERIGEE_TEST_DEVICE" or "cuda:0"
local LIMIT_S = 20
local TORCH = [[
import torch
x = torch.zeros(1 << 28, device="cuda"); y = torch.empty_like(x)
t = []
for _ in range(30):
    a, b = torch.cuda.Event(True), torch.cuda.Event(True)
    a.record(); y.copy_(x); b.record(); b.synchronize(); t.append(a.elapsed_time(b))
print(2 * x.nbytes / sorted(t)[15] * 1e-6)
]]

local passed, failed = 0, 0

local function check(what, ok, shown)
  if ok then passed = passed + 1 else failed = failed + 1 end
  print(("%s %s%s"):format(ok and "ok" or "not ok", what, shown and ": " .. tostring(shown) or ""))
end

local folder = os.tmpname()
os.remove(folder)

local function output(arguments)
  local pipe <close> = io.popen(("XDG_DATA_HOME='%s' '%s' %s 2>&1"):format(folder, command,
    arguments))
  return pipe:read "a"
end

local function torch_copy()
  local name = os.tmpname()
  assert(core.write_file(name, TORCH))
  local pipe <close> = io.popen(("python3 '%s' 2>/dev/null"):format(name))
  local rate = tonumber(pipe:read "a")
  os.remove(name)
  return rate
end

local before = output "doctor"
check("doctor says that nothing is measured", before:find("not measured", 1, true) ~= nil)

local started = core.now()
local text = output("doctor --measure --json --device " .. device)
local seconds = core.now() - started
local found = pg.json.decode(text) or {}
local is_real = not tostring(found.gpu):find "simulated"
check(("measuring takes less than %d s on a GPU"):format(LIMIT_S),
  seconds < LIMIT_S or not is_real, ("%.1f s"):format(seconds))
for _, quantity in ipairs(require "perigee.ceilings".QUANTITIES) do
  local value = found[quantity[1]]
  check(quantity[2], type(value) == "number" and value > 0,
    type(value) == "number" and ("%.4g %s"):format(value, quantity[3]) or text)
end
check("doctor shows what was found", output "doctor":find("ok    ceilings ", 1, true) ~= nil)

if is_real then
  check("reading is at most a quarter faster or slower than copying",
    found.read / found.copy > 0.8 and found.read / found.copy < 1.25)
  check("L2 is faster than memory", found.l2 > found.read)
  check("tensor cores are faster than fp32", found.f16 > 2 * found.f32)
  if tostring(found.gpu):find "H[12]00" then
    check("by groups of warps they do more than warps can", found.f16 > 7e5 and found.bf16 > 7e5)
  end
  check("a launch in a graph is shorter", found.graph_us < found.launch_us)
  check("a launch takes 1 to 20 us", found.launch_us > 1 and found.launch_us < 20)
  local rate = torch_copy()
  if rate then
    check("PyTorch copies as fast, within 5 %", math.abs(rate / found.copy - 1) < 0.05,
      ("%.0f GB/s"):format(rate))
  else
    print "skipped: no PyTorch to compare with"
  end
end

text = output(("run vector/saxpy --impl float4 --json --device %s%s"):format(device,
  is_real and " --set n=2^26" or " --set n=10000 --budget 0.1"))
local efficiency = (pg.json.decode(text) or {}).efficiency or {}
-- The limit that it is nearer to: a busy computer slows one measurement of the simulator and not
-- the other.
local shares = efficiency.of_limit and {
  ["memory bandwidth"] = efficiency.bandwidth / math.max(found.copy, found.read),
  ["f32 arithmetic"] = efficiency.compute / found.f32,
}
local nearest = shares and math.max(shares["memory bandwidth"], shares["f32 arithmetic"])
check("run says the share of the limit", shares and shares[efficiency.limit] == nearest
  and math.abs(efficiency.of_limit - nearest) < 1e-9, efficiency.of_limit or text)
if is_real then
  check("which saxpy comes near to", efficiency.limit == "memory bandwidth"
    and efficiency.of_limit > 0.85 and efficiency.of_limit < 1.05)
end

os.execute(("rm -rf '%s'"):format(folder))
print(("%d passed, %d failed"):format(passed, failed))
return failed > 0 and 1 or 0
