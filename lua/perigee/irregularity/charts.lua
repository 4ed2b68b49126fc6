--- Charts of the suite, by gnuplot: the ratio to CUDA C++ by stage, cost against work at fixed
-- points, and the load of the table with the blocks that were lost.
-- @module perigee.irregularity.charts

local core = require "perigee.core"
local files = require "perigee.files"
local suite = require "perigee.irregularity.suite"

local charts = {}

local SIZE = "set terminal svg size 900,380 font 'sans,11' background '#ffffff'\n"

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

-- Bars of the ratio to CUDA C++, cells along x.
local function ratios(results, folder, stage)
  local function wanted(one)
    return one.stage == stage and not one.variant and suite.ratio(one, results:peer(one)) ~= nil
  end
  local cells, arms = names(results, "cell", wanted), names(results, "arm", wanted)
  if #cells == 0 then return end
  plot(("%s/ratio-%s.svg"):format(folder, stage), ([[
set title '%s: time against CUDA C++ with the same levers'
set style data histograms; set style fill solid; set logscale y 2; set yrange [0.5:]; set grid y
set xtics rotate by -40; set key outside; set ylabel 'times as long'
%splot for [i=2:%d] $data using i:xtic(1) title columnheader(i)
]]):format(stage, block("$data", cells, arms, function(cell, arm)
    local one = results:find(stage, cell, arm)
    return one and (suite.ratio(one, results:peer(one)))
  end), #arms + 1))
end

-- Cells of equally many points whose blocks differ: the cost is not the samples'.
local WORK = { "r-0.25", "base", "r-1.0", "r-2.0" }

local function work(results, folder, stage)
  local function wanted(one) return one.stage == stage and suite.time(one) ~= nil end
  local arms, cells = names(results, "arm", wanted), {}
  for _, cell in ipairs(WORK) do
    if #arms > 0 and results:find(stage, cell, arms[1]) then cells[#cells + 1] = cell end
  end
  if #cells < 2 then return end
  local function blocks(cell)
    local _, record = next(results:find(stage, cell, arms[1]).passes)
    return record.facts.blocks
  end
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
  local text = block("$times", loads, arms, function(load_factor, arm)
    local one = of(load_factor, arm)
    return one and suite.time(one)
  end) .. block("$lost", loads, arms, function(load_factor, arm)
    local one = of(load_factor, arm)
    return one and lost(one)
  end)
  plot(("%s/load-%s.svg"):format(folder, stage), ([[
set title '%s: the load of the table (crosses: blocks lost, right axis)'
set grid; set key outside; set xlabel 'load'; set ylabel 'us'; set y2label 'blocks lost'
set y2tics; set ytics nomirror; set yrange [0:]; set y2range [0:]
%splot for [i=2:%d] $times using 1:i with linespoints title columnheader(i), \
  for [i=2:%d] $lost using 1:i axes x1y2 with points pt 2 lc rgb 'red' notitle
]]):format(stage, text, #arms + 1, #arms + 1))
end

--- Draw everything that there is data for.
-- @param results of suite.results
-- @tparam string folder which is made
-- @raise "environment" without gnuplot
function charts.draw(results, folder)
  files.make_folder(folder)
  for _, stage in ipairs(suite.STAGES) do
    ratios(results, folder, stage)
    work(results, folder, stage)
    load(results, folder, stage)
  end
end

return charts
