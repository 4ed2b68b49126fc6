--- Tables of README.md from the data of a run: the sections of perigee.irregularity.page that are.
-- @module perigee.irregularity.tables

local suite = require "perigee.irregularity.suite"

local tables = {}

-- ---- text ----

--- Microseconds, three digits.
function tables.us(value)
  if not value then return "" end
  return (value >= 100 and "%.0f" or value >= 10 and "%.1f" or "%.2f"):format(value)
end

--- A table in Markdown. @tparam table rows lists of texts, the first one the heads
function tables.markdown(rows)
  local lines = {}
  for i, row in ipairs(rows) do
    lines[#lines + 1] = "| " .. table.concat(row, " | ") .. " |"
    if i == 1 then lines[2] = "|" .. ("---|"):rep(#row) end
  end
  return table.concat(lines, "\n")
end

-- "1.24"; nothing where one of them is not known.
local function quotient(above, below)
  return above and below and ("%.2f"):format(above / below) or ""
end

-- Cells of a list of which a stage has an arm.
local function cells_with(data, stage, arm, cells)
  local list = {}
  for _, cell in ipairs(cells) do
    if data.find(stage, cell, arm) then list[#list + 1] = cell end
  end
  return list
end

-- Arms of a stage in the order of the file.
local function arms_of(data, stage)
  local list, seen = {}, {}
  for _, row in ipairs(data.rows) do
    if row.stage == stage and not seen[row.arm] then
      seen[row.arm] = true
      list[#list + 1] = row.arm
    end
  end
  return list
end

-- "20.7 (1.14)": microseconds, and the ratio to the arm of the same levers.
local function figure(row)
  if not row then return "" end
  if row.verdict and row.verdict ~= "passed" then return "loses blocks" end
  return tables.us(row.median_us) .. (row.ratio and (" (%.2f)"):format(row.ratio) or "")
end

-- A row for each arm of some stages, a column for each cell.
local function by_cell(data, stages, wanted, keeps)
  local cells = cells_with(data, stages[1], "cuda", wanted)
  local rows = { { "stage", "arm", table.unpack(cells) } }
  for _, stage in ipairs(stages) do
    local first = true
    for _, arm in ipairs(arms_of(data, stage)) do
      if not keeps or keeps(arm) then
        local row = { first and stage or "", "`" .. arm .. "`" }
        for i, cell in ipairs(cells) do row[2 + i] = figure(data.find(stage, cell, arm)) end
        rows[#rows + 1], first = row, false
      end
    end
  end
  return #rows > 1 and #cells > 0 and tables.markdown(rows) or nil
end

-- ---- the sections ----

--- By name, functions of the data (see perigee.irregularity.page): text, nil where there is none.
tables.sections = {}

local sections = tables.sections

local MAIN = { "base", "pts-1280k", "r-1.0", "r-2.0", "load-0.95", "plane-320k",
  "scan-armadillo-cold" }
local FUSED = { "base", "pts-1280k", "r-2.0", "scan-armadillo-cold", "scan-armadillo-warm" }

local function is_shared(arm) return not arm:match "no%-wait" end

--- Every language, the two stages of the comparison.
function sections.share(data)
  return data.suite and by_cell(data.suite, { "allocate", "update" }, MAIN, is_shared)
end

function sections.fuse(data)
  return data.suite and by_cell(data.suite, { "fuse" }, FUSED, function(arm)
    return not arm:match "own"
  end)
end

function sections.later(data)
  return data.suite and by_cell(data.suite, { "compact", "dense_update", "stencil7", "stencil27" },
    { "base", "pts-1280k", "r-2.0", "scan-armadillo-cold" })
end

-- Fewer points than the goals are for.
local SMALL = { ["pts-20k"] = true, ["pts-80k"] = true }

--- Whether a cell has 320,000 points, or more.
function tables.is_large(cell)
  return not SMALL[cell] and not cell:match "building" and not cell:match "lidar"
    and not cell:match "radar"
end

local GOALS = { rust = 1.03, triton = 1.15 }

--- The ratios of an arm over the cells of 320,000 points and more.
-- @treturn table {against, middle, low, high, worst, lost, cells}
function tables.ratios_of(data, stage, arm)
  local list, worst, against, lost = {}, nil, nil, 0
  for _, row in ipairs(data.rows) do
    if row.stage == stage and row.arm == arm and tables.is_large(row.cell) then
      if row.verdict ~= "passed" then lost = lost + 1 end
      against = row.compared_with or against
      if row.ratio then list[#list + 1] = row.ratio end
      if row.ratio and (not worst or row.ratio > worst.ratio) then worst = row end
    end
  end
  local middle, low, high = suite.spread(list)
  return { against = against, middle = middle, low = low, high = high, worst = worst, lost = lost,
    cells = #list }
end

-- Cells above the goal, worst first.
local function above(data, stage, arm, goal)
  local list = {}
  for _, row in ipairs(data.rows) do
    local over = row.stage == stage and row.arm == arm and tables.is_large(row.cell) and row.ratio
      and row.ratio > goal + 0.005
    if over then list[#list + 1] = row end
  end
  table.sort(list, function(a, b) return a.ratio > b.ratio end)
  for i, row in ipairs(list) do
    list[i] = ("%s %.2f"):format(row.cell, row.ratio)
      .. (row.ratio_low and (" (%.2f .. %.2f)"):format(row.ratio_low, row.ratio_high) or "")
  end
  return #list > 0 and table.concat(list, ", ") or "none"
end

-- How far the ratios of the passes of a stage lie apart, the nearest first.
local function of_passes(data, stage)
  local list = {}
  for _, row in ipairs(data.rows) do
    if row.stage == stage and row.ratio and row.ratio_low and row.ratio_high then
      list[#list + 1] = { (row.ratio_high - row.ratio_low) / row.ratio, row }
    end
  end
  table.sort(list, function(a, b) return a[1] < b[1] end)
  return list
end

--- How far the ratios of the passes lie apart, over all cells.
function sections.passes(data)
  if not data.suite then return nil end
  local rows = { { "stage", "ratios", "median", "nine of ten within", "at most" } }
  for _, stage in ipairs { "allocate", "update", "fuse" } do
    local list = of_passes(data.suite, stage)
    local function at(share) return ("%.1f%%"):format(100 * list[math.ceil(share * #list)][1]) end
    if #list > 0 then
      local worst = list[#list][2]
      rows[#rows + 1] = { stage, ("%d"):format(#list), at(0.5), at(0.9),
        ("%s (`%s`, %s)"):format(at(1), worst.arm, worst.cell) }
    end
  end
  return #rows > 1 and tables.markdown(rows) or nil
end

-- "All 12 arms with a goal meet it in every cell", or which do not.
local function of_goals(count, missed)
  if count == 0 then return "" end
  local said = #missed == 0 and "All %d arms with a goal meet it in every cell.\n"
    or "Of %d arms with a goal, %d meet it in every cell; not %s.\n"
  return "\n\n" .. (said:format(count, count - #missed, table.concat(missed, ", "))
    .. "(Ratio and goal are compared as they stand here, with two digits.)")
end

--- Each arm against CUDA C++ with the same levers over all large cells, beside the goal.
function sections.goals(data)
  if not data.suite then return nil end
  local count, missed = 0, {}
  local rows = { { "stage", "arm", "against", "cells", "median", "least .. most", "goal",
    "cells above it" } }
  for _, stage in ipairs { "allocate", "update", "fuse" } do
    for _, arm in ipairs(arms_of(data.suite, stage)) do
      local of = tables.ratios_of(data.suite, stage, arm)
      local goal = stage ~= "fuse" and not arm:match "published" and GOALS[arm:match "^%a+"]
      if of.middle then
        local over = goal and above(data.suite, stage, arm, goal)
        if goal then count = count + 1 end
        if over and over ~= "none" then missed[#missed + 1] = ("`%s` of %s"):format(arm, stage) end
        rows[#rows + 1] = { stage, "`" .. arm .. "`", "`" .. of.against .. "`",
          ("%d"):format(of.cells), ("%.2f"):format(of.middle),
          ("%.2f .. %.2f"):format(of.low, of.high), goal and ("%.2f"):format(goal) or "",
          over or of.lost > 0 and ("loses blocks in %d"):format(of.lost) or "" }
      end
    end
  end
  return #rows > 1 and tables.markdown(rows) .. of_goals(count, missed) or nil
end

--- Plain CUDA C++ against its regular control.
function sections.controls(data)
  if not data.suite then return nil end
  local cells = cells_with(data.suite, "allocate", "cuda", MAIN)
  local rows = { { "stage", table.unpack(cells) } }
  for _, stage in ipairs(suite.STAGES) do
    local row, any = { stage }, false
    for i, cell in ipairs(cells) do
      local one = data.suite.find(stage, cell, "cuda")
      local ratio = one and one.of_control
      row[1 + i], any = ratio and ("%.2f"):format(ratio) or "", any or ratio ~= nil
    end
    if any then rows[#rows + 1] = row end
  end
  return #rows > 1 and tables.markdown(rows) or nil
end

--- Arms of fuse with sums in a layout of their own.
tables.OWN = { "cuda-own", "cuda-own-warp", "cuda-own-run" }

--- The fastest of a list of arms.
function tables.best_of(data, stage, cell, arms)
  local best
  for _, arm in ipairs(arms) do
    local row = data.find(stage, cell, arm)
    if row and row.median_us and (not best or row.median_us < best.median_us) then best = row end
  end
  return best
end

--- Sums in a layout of their own against plain CUDA C++.
function sections.best(data)
  if not data.suite then return nil end
  local missed = {}
  local rows = { { "cell", "`cuda`", "`cuda-own`", "`cuda-own-warp`", "`cuda-own-run`",
    "`cuda` / best", "goal" } }
  for _, cell in ipairs(cells_with(data.suite, "fuse", "cuda-own", FUSED)) do
    local plain = data.suite.find("fuse", cell, "cuda")
    local best = tables.best_of(data.suite, "fuse", cell, tables.OWN)
    local row = { cell, figure(plain) }
    for i, arm in ipairs(tables.OWN) do row[2 + i] = figure(data.suite.find("fuse", cell, arm)) end
    row[6] = best and plain.median_us
      and ("%.2f (`%s`)"):format(plain.median_us / best.median_us, best.arm) or ""
    local goal = (cell == "base" or cell == "pts-1280k") and 3 or 2
    row[7] = ("%d"):format(goal)
    if best and plain.median_us and plain.median_us / best.median_us < goal then
      missed[#missed + 1] = cell
    end
    rows[#rows + 1] = row
  end
  if #rows == 1 then return nil end
  return tables.markdown(rows) .. "\n\n" .. (#missed == 0 and "Every goal is met."
    or "Missed: " .. table.concat(missed, ", ") .. ".")
end

local PUBLISHED_GOAL = 1.05

-- Plain CUDA C++ and the published goal: where it is met, and where not. Ratios by cell.
local function of_published_goal(list)
  local missed = {}
  for _, one in ipairs(list) do
    if one.ratio > PUBLISHED_GOAL + 0.005 then
      missed[#missed + 1] = ("%s %.2f"):format(one.cell, one.ratio)
    end
  end
  if #list == 0 then return "" end
  return ("\n\nThe goal for plain / A3 is %.2f: met in %d of %d cells%s."):format(PUBLISHED_GOAL,
    #list - #missed, #list, #missed > 0 and "; not in " .. table.concat(missed, ", ") or "")
end

-- One stage of the published cells.
local function published_of(data, stage, arms, plain)
  local figures = data.figures
  local heads = { "cell", "A3-cuda" }
  for _, arm in ipairs(arms) do heads[#heads + 1] = "`" .. arm .. "`" end
  heads[#heads + 1], heads[#heads + 2] = "plain / A3", "best / A3"
  local rows, ratios = { heads }, {}
  for _, cell in ipairs(cells_with(data.published, stage, "cuda", figures.cells)) do
    local theirs = figures[("%s cuda %s"):format(cell, stage)]
    local row = { cell, tables.us(theirs) }
    for i, arm in ipairs(arms) do
      local one = data.published.find(stage, cell, arm)
      row[2 + i] = one and tables.us(one.median_us) or ""
    end
    local our = data.published.find(stage, cell, plain)
    row[#row + 1] = quotient(our and our.median_us, theirs)
    if our and our.median_us and theirs then
      ratios[#ratios + 1] = { cell = cell, ratio = our.median_us / theirs }
    end
    local best = tables.best_of(data.published, stage, cell, arms)
    row[#row + 1] = quotient(best and best.median_us, theirs)
    rows[#rows + 1] = row
  end
  return #rows > 1 and tables.markdown(rows) .. of_published_goal(ratios) or nil
end

-- The published Triton program here and there.
function sections.published_triton(data)
  local rows = { { "stage", "cell", "A3-triton", "`triton-published`", "ratio" } }
  for _, stage in ipairs { "allocate", "update" } do
    for _, cell in ipairs(data.figures and data.figures.cells or {}) do
      local one = data.published and data.published.find(stage, cell, "triton-published")
      local theirs = data.figures[("%s triton %s"):format(cell, stage)]
      if one and one.median_us and theirs then
        rows[#rows + 1] = { stage, cell, tables.us(theirs), tables.us(one.median_us),
          ("%.2f"):format(one.median_us / theirs) }
      end
    end
  end
  return #rows > 1 and tables.markdown(rows) or nil
end

--- Beside what is published: each stage.
function sections.published_allocate(data)
  return data.published and published_of(data, "allocate",
    { "cuda", "cuda-no-wait", "cuda-ray", "cuda-split", "rust" }, "cuda-no-wait")
end

function sections.published_update(data)
  return data.published and published_of(data, "update",
    { "cuda", "cuda-ray", "cuda-warp", "cuda-split", "rust" }, "cuda")
end

-- Eight volumes at once against one after the other, over the cells of many points.
local function of_one_by_one(data)
  local parts = {}
  for _, one in ipairs { { "allocate", "cuda" }, { "allocate", "cuda-no-wait" },
    { "update", "cuda" } } do
    local large = {}
    for _, row in ipairs(data.eight.rows) do
      local apart = data.published and data.published.find(row.stage, row.cell, row.arm)
      if row.stage == one[1] and row.arm == one[2] and tables.is_large(row.cell) and apart
        and apart.median_us then
        large[#large + 1] = row.median_us / apart.median_us
      end
    end
    local middle, least, most = suite.spread(large)
    if middle then
      parts[#parts + 1] = ("%.2f to %.2f (`%s` of %s)"):format(least, most, one[2], one[1])
    end
  end
  if #parts == 0 then return "" end
  return "\n\nAgainst one after the other, in the cells of 320,000 points and more, times as "
    .. "long:\n" .. table.concat(parts, ", ") .. "."
end

--- Eight volumes in one launch.
function sections.eight(data)
  if not data.eight then return nil end
  local rows = { { "cell", "allocate: `cuda` (of A3-cuda)", "`cuda-no-wait`", "update: `cuda`" } }
  for _, cell in ipairs(cells_with(data.eight, "allocate", "cuda", data.figures.cells)) do
    local row = { cell }
    for _, one in ipairs { { "allocate", "cuda" }, { "allocate", "cuda-no-wait" },
      { "update", "cuda" } } do
      local our = data.eight.find(one[1], cell, one[2])
      local theirs = data.figures[("%s cuda %s"):format(cell, one[1])]
      row[#row + 1] = our and ("%s (%.2f)"):format(tables.us(our.median_us),
        our.median_us / theirs) or ""
    end
    rows[#rows + 1] = row
  end
  return tables.markdown(rows) .. of_one_by_one(data)
end

-- Titles of causes, in the order of both chains.
local CAUSES = { "waiting", "claims", "probing", "divergence", "collisions", "sectors", "atomics",
  "reads", "walk", "launch" }
local TITLES = { divergence = "(divergence)", sectors = "scattered", reads = "reads, writes" }

--- What leaving a cause out saves.
function tables.cause_of(data, stage, cell, cause)
  return data.causes.find(stage, cell, cause)
    or cause == "reads" and data.causes.find(stage, cell, "reads and writes") or nil
end

-- The causes of which there is a figure, in order.
local function known_causes(data)
  local list = {}
  for _, cause in ipairs(CAUSES) do
    for _, one in ipairs(data.causes.rows) do
      if tables.cause_of(data, one.stage, one.cell, cause) then
        list[#list + 1] = cause
        break
      end
    end
  end
  return list
end

-- The stages and cells of which causes are known, by stage.
local function split_cells(data)
  local list, seen = {}, {}
  for _, stage in ipairs(suite.STAGES) do
    for _, one in ipairs(data.causes.rows) do
      local name = one.stage .. ", " .. one.cell
      if one.stage == stage and not seen[name] then list[#list + 1] = { stage, one.cell, name } end
      seen[name] = seen[name] or one.stage == stage
    end
  end
  return list
end

--- The split into causes. The whole follows from the launch, whose share is never 0.
function sections.causes(data)
  if not data.causes then return nil end
  local heads, rows = { "stage, cell", "all" }, {}
  local known = known_causes(data)
  for i, cause in ipairs(known) do heads[2 + i] = TITLES[cause] or cause end
  for k, one in ipairs(split_cells(data)) do
    local launch = data.causes.find(one[1], one[2], "launch")
    rows[k] = { one[3], launch and tables.us(launch.us / launch.share) or "" }
    for i, cause in ipairs(known) do
      local part = tables.cause_of(data, one[1], one[2], cause)
      rows[k][2 + i] = part and ("%.1f (%.0f%%)"):format(part.us, 100 * part.share) or ""
    end
  end
  return tables.markdown { heads, table.unpack(rows) }
end

local COUNTS = { "instructions", "lanes", "load sectors", "sectors/request", "L1 hit %", "atomics",
  "collisions" }

--- What the simulator counts of each arm, for each sample of a ray. Points are few there: arms that
-- then share a ray out are left out.
function sections.counts(data)
  if not data.counts then return nil end
  local rows, before = { { "stage", "arm", table.unpack(COUNTS) } }, nil
  for _, one in ipairs(data.counts.rows) do
    if not one.arm:match "split$" then
      local row = { one.stage ~= before and one.stage or "", "`" .. one.arm .. "`" }
      for i, name in ipairs(COUNTS) do row[2 + i] = tables.us(one[name]) end
      rows[#rows + 1], before = row, one.stage
    end
  end
  return tables.markdown(rows)
end

local DATA = { "as it is", "control", "all there", "shuffled", "morton" }

--- Every language on data that leaves causes out.
function sections.data(data)
  if not data.data then return nil end
  local rows = { { "cell", "arm", table.unpack(DATA) } }
  for _, one in ipairs(data.data.rows) do
    if one.stage == "allocate" and one.data == DATA[1] then
      local row = { one.cell, "`" .. one.arm .. "`" }
      for i, name in ipairs(DATA) do
        local control = name == "control"
        local other = data.data.find(control and "allocate_regular" or "allocate", one.cell,
          control and one.arm:match "^%a+" or one.arm, name)
        row[2 + i] = other and tables.us(other.median_us) or ""
      end
      rows[#rows + 1] = row
    end
  end
  return tables.markdown(rows)
end

local EXPLAINED = { "median error", "largest error", "largest of" }
local WEIGHTS = { "warp instructions", "load sectors", "atomic sectors", "collisions",
  "store sectors", "L2 misses" }
local HARDWARE = { "load sectors", "atomic sectors", "store sectors", "warp instructions" }

local function agreement_row(data, stage, names, as_share)
  local row = { stage }
  for i, name in ipairs(names) do
    local one = data.agreement.find(stage, name)
    local value = one and one.value or ""
    row[1 + i] = as_share and tonumber(value) and ("%.0f%%"):format(100 * value) or tostring(value)
  end
  return row
end

--- How well counts explain times: errors, and what a million of each costs.
function sections.agreement(data)
  if not (data.agreement and data.agreement.find("allocate", EXPLAINED[1])) then return nil end
  local errors = { { "", table.unpack(EXPLAINED) } }
  local weights = { { "us for a million", table.unpack(WEIGHTS) } }
  for i, stage in ipairs { "allocate", "update" } do
    errors[1 + i] = agreement_row(data, stage, EXPLAINED, true)
    weights[1 + i] = agreement_row(data, stage, WEIGHTS)
  end
  return tables.markdown(errors) .. "\n\n" .. tables.markdown(weights)
end

--- The simulator's counters over those of `ncu`.
function sections.hardware(data)
  if not (data.agreement and data.agreement.find("hardware", HARDWARE[1])) then return nil end
  local row = agreement_row(data, "hardware", HARDWARE)
  row[1] = "simulator / `ncu`"
  return tables.markdown { { "", table.unpack(HARDWARE) }, row }
end

-- Rows of one of the tasks of hash tables: milliseconds, and 10^9 keys a second.
local function hash_of(data, stage)
  if not data.hash then return nil end
  local arms, cells, seen = arms_of(data.hash, stage), {}, {}
  for _, row in ipairs(data.hash.rows) do
    if row.stage == stage and not seen[row.cell] then cells[#cells + 1] = row.cell end
    seen[row.cell] = seen[row.cell] or row.stage == stage
  end
  local heads, rows = { stage, "keys" }, {}
  for i, arm in ipairs(arms) do heads[2 + i] = "`" .. arm .. "`" end
  for k, cell in ipairs(cells) do
    rows[k] = { cell, "" }
    for i, arm in ipairs(arms) do
      local row = data.hash.find(stage, cell, arm)
      rows[k][2] = row and ("2^%.0f"):format(math.log(row.keys, 2)) or rows[k][2]
      rows[k][2 + i] = row and row.median_us and ("%.2f (%.1f)"):format(row.median_us / 1e3,
        row.keys / row.median_us / 1e3) or row and "lost" or ""
    end
  end
  return #rows > 0 and tables.markdown { heads, table.unpack(rows) } or nil
end

function sections.hash_insert(data) return hash_of(data, "insert") end
function sections.hash_find(data) return hash_of(data, "find") end
function sections.hash_count(data) return hash_of(data, "count") end

return tables
