-- End-to-end time of candidates in a process that has already judged one, each with a source of its
-- own: compiled, checked and timed. As between two attempts of an author, the next processes have
-- started meanwhile. perigee tests/gpu/bench_warm.lua DEVICE CANDIDATE.cu
local core = require "perigee.core"
local catalogue = require "perigee.catalogue"
local impl = require "perigee.impl"
local judge = require "perigee.judge"

local device, path = arg[1], arg[2]
local COUNT, LIMIT = 9, 0.5

local source = assert(core.read_file(path))
local folder = os.tmpname()
os.remove(folder)
core.mkdir_all(folder)
local task = catalogue.find("vector/saxpy")[1]
local session <close> = judge.session { device = device, budget = 0.2 }

local seconds = {}
for i = 0, COUNT do
  local file = ("%s/candidate%d.cu"):format(folder, i)
  session:stand_by(1)
  session.pool:settle()
  core.write_file(file, ("%s\n// candidate %d of process %d\n"):format(source, i, core.getpid()))
  local started = core.now()
  local record = session:check(task, impl.candidate(file), {})
  assert(record.verdict == "passed", record.reason)
  if i > 0 then seconds[i] = core.now() - started end
  os.remove(file)
end
os.remove(folder)

table.sort(seconds)
local median = seconds[(COUNT + 1) // 2]
print(("a candidate in a warm process       %7.3f s (median of %d, slowest %.3f s)"):format(
  median, COUNT, seconds[COUNT]))
os.exit(median < LIMIT and 0 or 1)
