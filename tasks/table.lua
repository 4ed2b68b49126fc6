--- Prints a table of tasks as Markdown: times of the plain and of the best implementation, their
-- ratio, rates, and the share of the machine's limit; not a task itself.
--
--     build/perigee tasks/table.lua                         all, each in its first cell
--     build/perigee tasks/table.lua reduce/sum hash/find:linear-0.5,bucket-0.9
--     build/perigee tasks/table.lua --experts [TASK...]     beside what libraries and PyTorch do
--     build/perigee tasks/table.lua --experts=torch         of PyTorch's ways only these; =none
--
-- The limit is what `perigee doctor --measure` finds: it is measured first where that was not yet
-- done. Elsewhere than on a GPU there is no limit, and times are those of the simulator.

local pg = require "perigee"
local ceilings = require "perigee.ceilings"
local doctor = require "perigee.doctor"
local units = require "perigee.units"

local function measure_ceilings()
  local info = pg.device("auto"):info()
  if not info.gpu_clock then return end
  local known = ceilings.load(info.name) or doctor.measure(info.spec)
  print(("%s, driver %s: copy %s GB/s, fp32 %s Gflop/s.\n"):format(info.name, info.driver,
    units.rate(known.copy), units.rate(known.f32)))
end

-- Records of one cell and point, in the order of the implementations: the plain one comes first.
local function points_of(records)
  local points, by_key = {}, {}
  for _, record in ipairs(records) do
    local key = record.cell or ""
    if not by_key[key] then
      by_key[key] = { name = record.task .. (record.cell and " " .. record.cell or "") }
      table.insert(points, by_key[key])
    end
    table.insert(by_key[key], record)
  end
  return points
end

local function median(record) return record.time and record.time.median_us end

-- Of our own: experts have a table of their own.
local function best_of(point)
  local best = point[1]
  for _, record in ipairs(point) do
    local us = record.lang ~= "lua" and median(record)
    if us and (not median(best) or us < median(best)) then best = record end
  end
  return best
end

-- Bytes or operations, whichever the limit is about.
local function rate_of(efficiency)
  if efficiency.limit and efficiency.limit:find "arithmetic" and efficiency.compute then
    return units.rate(efficiency.compute) .. " Gflop/s"
  end
  return efficiency.bandwidth and units.rate(efficiency.bandwidth) .. " GB/s" or "-"
end

local function row(point)
  local plain, best = point[1], best_of(point)
  local us, efficiency = median(best), best.efficiency or {}
  if not us then return { point.name, best.verdict, "-", "-", "-", "-", "-", "-" } end
  local items = (best.work or {}).items
  return {
    point.name, median(plain) and units.time(median(plain)) or "-", best.impl, units.time(us),
    median(plain) and units.ratio(median(plain) / us) or "-", rate_of(efficiency),
    items and ("%.3g G/s"):format(items / us / 1e3) or "-",
    efficiency.of_limit and units.percent(efficiency.of_limit) or "-",
  }
end

local function print_row(cells) print("| " .. table.concat(cells, " | ") .. " |") end

-- {task, cells = names} for each argument, else for each task.
local function chosen()
  local list = {}
  for _, text in ipairs(arg) do
    local name, cells = text:match "^([^:]*):?(.*)$"
    local entry = { task = pg.catalogue.find(name)[1], cells = {} }
    for cell in cells:gmatch "[^,]+" do table.insert(entry.cells, cell) end
    list[#list + 1] = entry
  end
  if #list == 0 then
    for i, task in ipairs((pg.catalogue.all())) do list[i] = { task = task, cells = {} } end
  end
  for _, entry in ipairs(list) do
    local cells = entry.task.cells or {}
    if #entry.cells == 0 and cells[1] then entry.cells[1] = cells[1].name end
    if #entry.cells == 0 then entry.cells = nil end
  end
  return list
end

local function complain(records)
  local failed = false
  for _, record in ipairs(records) do
    if record.verdict ~= "passed" then
      failed = true
      io.stderr:write(("%s %s: %s %s\n"):format(record.task, record.impl, record.verdict,
        record.reason or ""))
    end
  end
  return failed
end

-- ---- beside libraries ----

local TORCH = { "torch", "torch-compile", "torch-overhead", "torch-graph" }

local function by_name(records)
  local found = {}
  for _, record in ipairs(records) do found[record.impl] = record end
  return found
end

local function time_text(record)
  return record and median(record) and units.time(median(record)) or "-"
end

local function share(record)
  local efficiency = record and record.efficiency
  return efficiency and efficiency.of_limit and units.percent(efficiency.of_limit) or "-"
end

-- The error against the reference in float64: the norm of what is off over that of what was
-- expected.
local function error_of(record)
  local worst
  for _, check in ipairs(record and record.checks or {}) do
    worst = check.error and math.max(worst or 0, check.error) or worst
  end
  return worst and ("%.1e"):format(worst) or "-"
end

-- The same implementations where the reference is computed.
local function errors_of(entry, names)
  local cell = entry.task:select_cells(entry.cells)[1] or nil
  return by_name(pg.run(entry.task, { cells = entry.cells, impls = names, budget = 0.01,
    set = entry.task:hardest_check(cell) }))
end

-- Implementations that run by themselves, and those with PyTorch where the task has lines for it.
local function names_of(task, torch)
  local names = {}
  for _, impl in ipairs(task:select_impls()) do names[#names + 1] = impl.name end
  for _, name in ipairs(TORCH) do
    local wanted = task.torch and (torch == "" or ("," .. torch .. ","):find("," .. name .. ",", 1,
      true))
    if wanted then names[#names + 1] = name end
  end
  return names
end

local function torch_cells(found)
  local cells = {}
  for i, name in ipairs(TORCH) do
    local record = found[name]
    cells[i] = record and record.verdict ~= "passed" and record.verdict ~= "environment"
      and record.verdict or time_text(record)
  end
  return cells
end

local function library_text(record)
  local library = record.library
  return library and ("%s %s"):format(library.library, library.version) or record.verdict
end

local function expert_row(entry, torch)
  local names = names_of(entry.task, torch)
  local records = pg.run(entry.task, { cells = entry.cells, impls = names })
  local found, own = by_name(records), {}
  for _, record in ipairs(records) do
    if record.lang ~= "lua" then own[#own + 1] = record end
  end
  local good, expert = best_of(own), found.expert
  local errors = errors_of(entry, { good.impl, "expert" })
  local ratio = median(good) and median(expert) and units.ratio(median(expert) / median(good))
  local cells = {
    points_of(records)[1].name, time_text(found.naive), good.impl, time_text(good),
    library_text(expert), time_text(expert), ratio or "-", share(good), share(expert),
    error_of(errors[good.impl]), error_of(errors.expert),
  }
  table.move(torch_cells(found), 1, #TORCH, #cells + 1, cells)
  print_row(cells)
  return complain(own)
end

local EXPERT_TITLES = { "task", "naive", "best of ours", "time", "library", "time",
  "ours against it", "of limit, ours", "of limit, library", "error, ours", "error, library",
  "PyTorch", "compile", "reduce-overhead", "CUDA graph" }

local function print_experts(list, torch)
  local failed = false
  print_row(EXPERT_TITLES)
  print_row { table.unpack({ "---", "---", "---", "---", "---", "---", "---", "---", "---", "---",
    "---", "---", "---", "---", "---" }) }
  for _, entry in ipairs(list) do
    local has = false
    for _, name in ipairs(entry.task:impl_names()) do has = has or name == "expert" end
    if has then failed = expert_row(entry, torch) or failed end
    io.stdout:flush()
  end
  return failed
end

local function print_plain(list)
  local failed = false
  print_row { "task", "naive", "best", "time", "ratio", "rate", "items", "of limit" }
  print_row { "---", "---", "---", "---", "---", "---", "---", "---" }
  for _, entry in ipairs(list) do
    for _, point in ipairs(points_of(pg.run(entry.task, { cells = entry.cells }))) do
      failed = complain(point) or failed
      print_row(row(point))
      io.stdout:flush()
    end
  end
  return failed
end

local beside = (arg[1] or ""):match "^%-%-experts=?(.*)$"
if beside then table.remove(arg, 1) end
measure_ceilings()
return (beside and print_experts or print_plain)(chosen(), beside) and 1 or 0
