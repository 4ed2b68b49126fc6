--- The experts of the tasks on a GPU, each at the size of its task's checks with the most work:
-- what NVIDIA's libraries and PyTorch compute is judged as a kernel's is. What this machine lacks
-- is passed over, and said.
--     perigee tests/gpu/experts.lua [TASK...]

local pg = require "perigee"

io.stdout:setvbuf "line"

local WITH_TORCH = "norm/softmax" -- which takes seconds to start

local device = os.getenv "PERIGEE_TEST_DEVICE" or "cuda:0"
local passed, failed, lacking = 0, 0, 0

local function note(task, record)
  local library = record.library or {}
  local name = ("%s by %s %s"):format(task.name, library.library or record.impl,
    library.version or "")
  if record.verdict == "passed" then
    passed = passed + 1
    print(("ok %s: error %s, %s"):format(name, record.checks[1] and record.checks[1].error or "-",
      record.time and ("%.2f us"):format(record.time.median_us) or "no time"))
  elseif record.verdict == "environment" then
    lacking = lacking + 1
    print(("# %s: %s"):format(name, record.reason))
  else
    failed = failed + 1
    print(("not ok %s: %s: %s"):format(name, record.verdict, record.reason))
  end
end

local function names_of(task)
  local names = {}
  for _, name in ipairs(task:impl_names()) do
    local torch = name == "torch" and task.name == WITH_TORCH
    if name == "expert" or torch then names[#names + 1] = name end
  end
  return names
end

local function wanted(task)
  if #arg == 0 then return true end
  for _, name in ipairs(arg) do
    if task.name == name then return true end
  end
  return false
end

for _, task in ipairs((pg.catalogue.all())) do
  local names = names_of(task)
  if #names > 0 and wanted(task) then
    local cell = task.cells[1]
    for _, record in ipairs(pg.run(task, { device = device, impls = names, budget = 0.02,
      set = task:hardest_check(cell), cells = cell and { cell.name } })) do
      note(task, record)
    end
  end
end
if lacking > 0 then print(("# %d not run: this machine lacks what they call"):format(lacking)) end
print(("%d passed, %d failed"):format(passed, failed))
os.exit(failed == 0 and 0 or 1)
