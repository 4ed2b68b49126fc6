--- Prints a table of tasks as Markdown: times of the plain and of the best implementation, their
-- ratio, rates, and the share of the machine's limit; not a task itself.
--
--     build/perigee tasks/table.lua                         all, each in its first cell
--     build/perigee tasks/table.lua reduce/sum hash/find:linear-0.5,bucket-0.9
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

local function best_of(point)
  local best = point[1]
  for _, record in ipairs(point) do
    if median(record) and (not median(best) or median(record) < median(best)) then best = record end
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

measure_ceilings()
print_row { "task", "naive", "best", "time", "ratio", "rate", "items", "of limit" }
print_row { "---", "---", "---", "---", "---", "---", "---", "---" }
local failed = false
for _, entry in ipairs(chosen()) do
  for _, point in ipairs(points_of(pg.run(entry.task, { cells = entry.cells }))) do
    for _, record in ipairs(point) do
      if record.verdict ~= "passed" then
        failed = true
        io.stderr:write(("%s %s: %s %s\n"):format(point.name, record.impl, record.verdict,
          record.reason or ""))
      end
    end
    print_row(row(point))
    io.stdout:flush()
  end
end
return failed and 1 or 0
