--- Charts of the suite, by gnuplot: the ratio to CUDA C++ by stage, cost against work at fixed
-- points, and the load of the table with the blocks that were lost.
-- @module perigee.irregularity.charts

local core = require "perigee.core"
local files = require "perigee.files"
local suite = require "perigee.irregularity.suite"

local charts = {}

local SIZE = "set terminal svg size 1000,420 font 'sans,11' background '#ffffff'\n"

-- A data block: x labels, which are numbers or words, then a value or NaN for each series.
local function block(name, labels, series, value)
  local lines = { name .. " << EOD", 'x "' .. table.concat(series, '" "') .. '"' }
  for _, label in ipairs(labels) do
    local cells = {}
    for i, one in ipairs(series) do
      local number = value(label, one)
      cells[i] = number and ("%.4g"):format(number) or "NaN"
    end
    lines[#lines + 1] = ("%s %s"):format(label, table.concat(cells, " "))
  end
  lines[#lines + 1] = "EOD\n"
  return table.concat(lines, "\n")
end

local function plot(path, commands)
  local pipe = io.popen("gnuplot 2>&1", "w")
    or core.error("environment", "no gnuplot", "apt install gnuplot-nox")
  pipe:write(SIZE, ("set output '%s'\n"):format(path), commands)
  if not pipe:close() then
    core.error("environment", "gnuplot could not draw " .. path, "apt install gnuplot-nox")
  end
end

-- Names of a field in order of appearance, of those that are wanted.
local function names(results, field, wanted)
  local list, seen = {}, {}
  for _, one in ipairs(results:sorted()) do
    if wanted(one) and not seen[one[field]] then
      seen[one[field]] = true
      list[#list + 1] = one[field]
    end
  end
  return list
end

-- Arms whose ratio to CUDA C++ is about 1, which a chart shows side by side, and what is said of
-- the others: "triton-published 7.3 to 15.0".
local FAR = 1.3

local function near_and_far(arms, cells, ratio)
  local near, far = {}, {}
  for _, arm in ipairs(arms) do
    local list = {}
    for _, cell in ipairs(cells) do list[#list + 1] = ratio(cell, arm) end
    local middle, low, high = suite.spread(list)
    if middle < FAR then near[#near + 1] = arm else
      far[#far + 1] = ("%s %.1f to %.1f"):format(arm, low, high)
    end
  end
  return near, #far > 0 and ("\\n(not drawn: %s)"):format(table.concat(far, ", ")) or ""
end

-- The ratio to CUDA C++, cells along x, arms of a cell beside each other.
local function ratios(results, folder, stage)
  local function wanted(one)
    return one.stage == stage and not one.variant and suite.ratio(one, results:peer(one)) ~= nil
  end
  local function ratio(cell, arm)
    local one = results:find(stage, cell, arm)
    return one and (suite.ratio(one, results:peer(one)))
  end
  local cells = names(results, "cell", wanted)
  local arms, far = near_and_far(names(results, "arm", wanted), cells, ratio)
  if #arms == 0 then return end
  local tics = {}
  for i, cell in ipairs(cells) do tics[i] = ('"%s" %d'):format(cell, i - 1) end
  plot(("%s/ratio-%s.svg"):format(folder, stage), ([[
set title "%s: time against CUDA C++ with the same levers%s"
set yrange [*<0.9:1.1<*]; set grid; set xrange [-0.6:%d - 0.4]
set xtics rotate by -40 (%s)
set key outside; set ylabel 'times as long'
%splot 1 lc rgb 'black' notitle, for [i=2:%d] $data \
  using (column(0) + (i - %g) * %g):i with points pt i + 3 title columnheader(i)
]]):format(stage, far, #cells, table.concat(tics, ", "), block("$data", cells, arms, ratio),
    #arms + 1, #arms / 2 + 1.5, 0.7 / #arms))
end

-- Cells of equally many points whose blocks differ: the cost is not the samples'.
local WORK = { "r-0.25", "base", "r-1.0", "r-2.0" }

local function work(results, folder, stage)
  local function wanted(one) return one.stage == stage and suite.time(one) ~= nil end
  local arms, cells = names(results, "arm", wanted), {}
  local function blocks(cell)
    local one = #arms > 0 and results:find(stage, cell, arms[1])
    local _, record = next(one and one.passes or {})
    return record and record.facts and record.facts.blocks
  end
  for _, cell in ipairs(WORK) do
    if blocks(cell) then cells[#cells + 1] = cell end
  end
  if #cells < 2 then return end
  local labels, of = {}, {}
  for i, cell in ipairs(cells) do
    labels[i] = tostring(blocks(cell))
    of[labels[i]] = cell
  end
  plot(("%s/work-%s.svg"):format(folder, stage), ([[
set title '%s: the same points on larger spheres'
set logscale xy; set grid; set key outside; set xlabel 'blocks'; set ylabel 'us'
%splot for [i=2:%d] $data using 1:i with linespoints title columnheader(i)
]]):format(stage, block("$data", labels, arms, function(label, arm)
    local one = results:find(stage, of[label], arm)
    return one and suite.time(one)
  end), #arms + 1))
end

-- The blocks that the gate says are lost: it names the first and counts the others.
local function lost(one)
  local _, record = next(one.passes)
  local reason = record.reason or ""
  if not reason:find("no lost block", 1, true) then return nil end
  return 1 + (tonumber(reason:match "and (%d+) more") or 0)
end

-- Time and lost blocks against the load of the table.
local function load(results, folder, stage)
  local function wanted(one) return one.stage == stage and one.cell:match "^load%-" ~= nil end
  local cells, arms = names(results, "cell", wanted), names(results, "arm", wanted)
  if #cells < 2 then return end
  local loads = {}
  for i, cell in ipairs(cells) do loads[i] = cell:match "^load%-(.*)" end
  local function of(load_factor, arm) return results:find(stage, "load-" .. load_factor, arm) end
  local axis = ""
  local text = block("$times", loads, arms, function(load_factor, arm)
    local one = of(load_factor, arm)
    return one and suite.time(one)
  end) .. block("$lost", loads, arms, function(load_factor, arm)
    local one = of(load_factor, arm)
    local count = one and lost(one)
    axis = count and "set y2label 'blocks lost'; set y2tics; set y2range [0:]\n" or axis
    return count
  end)
  local crosses = [[, \
  for [i=2:%d] $lost using 1:i axes x1y2 with points pt 2 lc rgb 'red' notitle
]]
  plot(("%s/load-%s.svg"):format(folder, stage), ([[
set title '%s: the load of the table (crosses: blocks lost, right axis)'
set grid; set key outside; set xlabel 'load'; set ylabel 'us'; set ytics nomirror; set yrange [0:]
%s%splot for [i=2:%d] $times using 1:i with linespoints title columnheader(i)%s
]]):format(stage, axis, text, #arms + 1, axis ~= "" and crosses:format(#arms + 1) or ""))
end

--- Make the folder, and see that there is a gnuplot: before a run and not after.
-- @raise "io", "environment"
function charts.prepare(folder)
  files.make_folder(folder)
  if not os.execute "command -v gnuplot >/dev/null" then
    core.error("environment", "no gnuplot", "apt install gnuplot-nox")
  end
end

--- Draw everything that there is data for.
-- @param results of suite.results
-- @tparam string folder which is made
-- @tparam[opt] table stages all without
-- @raise "environment" without gnuplot
function charts.draw(results, folder, stages)
  files.make_folder(folder)
  for _, stage in ipairs(stages or suite.STAGES) do
    ratios(results, folder, stage)
    work(results, folder, stage)
    load(results, folder, stage)
  end
end

return charts
