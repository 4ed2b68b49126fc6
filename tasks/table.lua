--- Prints tables of tasks as Markdown; not a task itself.
--
--     build/perigee tasks/table.lua                      all, each in its first cell: times of the
--         plain and of the best implementation, their ratio, rates, share of the machine's limit
--     build/perigee tasks/table.lua reduce/sum hash/find:linear-0.5,bucket-0.9
--     build/perigee tasks/table.lua --experts [TASK...]  tasks that have an expert, in all cells,
--         beside what libraries and PyTorch do: times, shares, errors
--     ... --experts --torch torch,torch-graph --json rows.jsonl --resume
--
-- The limit is what `perigee doctor --measure` finds: it is measured first where that was not yet
-- done. Elsewhere than on a GPU there is no limit, and times are those of the simulator.

local argparse = require "argparse"
local beside = require "perigee.beside"
local ceilings = require "perigee.ceilings"
local cli = require "perigee.cli"
local common = require "perigee.cli.common"
local core = require "perigee.core"
local doctor = require "perigee.doctor"
local pg = require "perigee"
local suggest = require "perigee.suggest"
local units = require "perigee.units"

local parser = argparse("table.lua", "Tables of tasks, as Markdown.")
parser:argument("task", "TASK or TASK:CELL,..."):args("*")
parser:option("--device", "cuda:N, sim, ..."):argname("D"):default("auto")
parser:flag("--experts", "beside libraries and PyTorch")
parser:option("--torch", "of PyTorch's ways only these; none"):argname("A,B")
parser:option("--budget", "seconds of timing for each implementation"):argname("S")
  :convert(common.positive("--budget"))
parser:option("--json", "with --experts: every row as one line"):argname("FILE")
parser:flag("--verbose", "with --experts: what is being done, and when")
parser:flag("--resume", "go on with what the file of --json has")
local options = cli.options(parser, arg)
if options.resume and not options.json then
  pg.error("invalid", "--resume goes with --json FILE", "it says where the rows are")
end
if options.json and not options.experts then
  pg.error("invalid", "--json goes with --experts", "perigee run --json has records of all tasks")
end

local function measure_ceilings()
  local info = pg.device(options.device):info()
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
  for _, text in ipairs(options.task) do
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
    for i = 1, #entry.cells > 0 and 0 or options.experts and #cells or math.min(1, #cells) do
      entry.cells[i] = cells[i].name
    end
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

local function print_plain(list)
  local failed = false
  measure_ceilings()
  print_row { "task", "naive", "best", "time", "ratio", "rate", "items", "of limit" }
  print_row { "---", "---", "---", "---", "---", "---", "---", "---" }
  for _, entry in ipairs(list) do
    for _, point in ipairs(points_of(pg.run(entry.task, {
      cells = entry.cells[1] and entry.cells, device = options.device, budget = options.budget,
    }))) do
      failed = complain(point) or failed
      print_row(row(point))
      io.stdout:flush()
    end
  end
  return failed
end

-- ---- beside libraries ----

local function ways()
  if not options.torch then return beside.TORCH end
  local list = {}
  for name in options.torch:gmatch "[^,]+" do
    if name ~= "none" and not suggest.has(beside.TORCH, name) then
      pg.error("invalid", ("--torch: there is no '%s'"):format(name), "none, or of "
        .. table.concat(beside.TORCH, ", "))
    end
    if name ~= "none" then list[#list + 1] = name end
  end
  return list
end

local function key_of(task, cell) return task .. (cell and ":" .. cell or "") end

-- What the file of an earlier run has, by task and cell.
local function recalled()
  local known = {}
  local text = options.resume and core.read_file(options.json)
  for line in (text or ""):gmatch "[^\n]+" do
    local one = pg.json.decode(line)
    if beside.is_row(one) then known[key_of(one.task, one.cell)] = one end
  end
  return known
end

local function opened()
  if not options.json then return nil end
  local file, why = io.open(options.json, options.resume and "a" or "w")
  if not file then pg.error("io", ("cannot write '%s': %s"):format(options.json, why)) end
  file:setvbuf "line" -- what a kill leaves can be resumed
  return file
end

local function has_all(kept, impls)
  local found = {}
  for _, arm in ipairs(kept and kept.arms or {}) do found[arm.impl] = true end
  for _, name in ipairs(impls) do
    if not found[name] then return false end
  end
  return true
end

-- A task that was named and has no expert has no row: that is said.
local function say_without(list)
  for _, entry in ipairs(#options.task > 0 and list or {}) do
    if not beside.impls(entry.task, {}) then
      io.stderr:write(("%s has no expert: --experts leaves it out\n"):format(entry.task.name))
    end
  end
end

-- One entry for each row, and those of them that are still to be measured.
local function planned(list, known)
  local all, left, torch = {}, {}, ways()
  for _, entry in ipairs(list) do
    local impls = beside.impls(entry.task, torch)
    for _, cell in ipairs(impls and (entry.cells[1] and entry.cells or { false }) or {}) do
      local one = { task = entry.task, cell = cell or nil, impls = impls }
      all[#all + 1] = one
      if not has_all(known[key_of(one.task.name, one.cell)], impls) then left[#left + 1] = one end
    end
  end
  return all, left
end

-- Seconds and what is being done, once where only a number changes.
local function progress()
  local started, shown = core.now(), nil
  return function(text)
    local what = text:gsub("%d+", "")
    if what ~= shown then io.stderr:write(("%7.2f %s\n"):format(core.now() - started, text)) end
    shown = what
  end
end

local function print_experts(list)
  say_without(list)
  local known = recalled()
  local all, left = planned(list, known)
  if #left > 0 then measure_ceilings() end
  local file <close> = opened()
  beside.run(left, { device = options.device, budget = options.budget,
    progress = options.verbose and progress() or nil }, function(one)
    known[key_of(one.task, one.cell)] = one
    if file then file:write(pg.json.encode(one), "\n") end
    io.stderr:write(("%s: %.1f s\n"):format(key_of(one.task, one.cell), one.seconds))
  end)
  local measured, failed = {}, false
  for i, one in ipairs(all) do
    measured[i] = known[key_of(one.task.name, one.cell)]
    for _, arm in ipairs(measured[i].arms) do
      failed = failed or arm.kind == "ours" and arm.verdict ~= "passed"
    end
  end
  io.write(beside.markdown(measured))
  return failed
end

return (options.experts and print_experts or print_plain)(chosen()) and 1 or 0
