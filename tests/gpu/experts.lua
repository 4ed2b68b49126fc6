--- The experts of the tasks on a GPU, each at the size of its task's checks with the most work:
-- what NVIDIA's libraries and PyTorch compute is judged as a kernel's is. What this machine lacks
-- is passed over, and said.
--     perigee tests/gpu/experts.lua [TASK...]
-- PyTorch runs every task that has lines for it, eager and as a CUDA graph; compiled it runs one,
-- since that takes seconds each.

local beside = require "perigee.beside"
local experts = require "perigee.experts"
local pg = require "perigee"

io.stdout:setvbuf "line"

local WITH_COMPILER = "norm/softmax"
local COMPILED = { ["torch-compile"] = true, ["torch-overhead"] = true }

local device = os.getenv "PERIGEE_TEST_DEVICE" or "cuda:0"
local passed, failed, lacking = 0, 0, 0

local function note(row, arm)
  local name = ("%s by %s %s"):format(row.task, arm.library or arm.impl, arm.version or "")
  if arm.kind == "torch" and arm.library then name = ("%s, %s"):format(name, arm.impl) end
  if arm.verdict == "passed" then
    passed = passed + 1
    print(("ok %s: error %s, %s"):format(name, arm.error and ("%.1e"):format(arm.error) or "-",
      arm.median_us and ("%.2f us"):format(arm.median_us) or "no time"))
  elseif arm.verdict == "environment" then
    lacking = lacking + 1
    print(("# %s: %s"):format(name, arm.reason))
  else
    failed = failed + 1
    print(("not ok %s: %s: %s"):format(name, arm.verdict, arm.reason))
  end
end

local function wanted(task)
  if #arg == 0 then return true end
  for _, name in ipairs(arg) do
    if task.name == name then return true end
  end
  return false
end

local function impls_of(task)
  local names = {}
  for _, one in ipairs(task.impls) do
    local torch = experts.is_torch(one)
      and (not COMPILED[one.name] or task.name == WITH_COMPILER)
    if one.name == "expert" or torch then names[#names + 1] = one.name end
  end
  return names
end

local list = {}
for _, task in ipairs((pg.catalogue.all())) do
  local impls = impls_of(task)
  if #impls > 0 and wanted(task) then
    local cell = task.cells[1]
    list[#list + 1] = { task = task, impls = impls, cell = cell and cell.name,
      set = task:hardest_check(cell) }
  end
end
if #list == 0 then -- a misspelt name is no success
  print(("not ok no task with an expert is named %s"):format(table.concat(arg, ", ")))
  failed = 1
end
beside.run(list, { device = device, budget = 0.02 }, function(row)
  for _, arm in ipairs(row.arms) do note(row, arm) end
end)
if lacking > 0 then print(("# %d not run: this machine lacks what they call"):format(lacking)) end
print(("%d passed, %d failed"):format(passed, failed))
os.exit(failed == 0 and 0 or 1)
