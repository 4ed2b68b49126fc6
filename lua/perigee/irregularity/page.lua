--- The page from the data: sections of README.md, between marks, made of the CSV files of a run, so
-- that no figure is written by hand.
-- @module perigee.irregularity.page

local core = require "perigee.core"
local suite = require "perigee.irregularity.suite"

local page = {}

-- ---- data ----

local function fields_of(line)
  local fields = {}
  for field in (line .. ","):gmatch "([^,]*)," do fields[#fields + 1] = field end
  return fields
end

--- The rows of a CSV file. @treturn table|nil list of {column = text or number}; nil: no file
function page.read_csv(path)
  local text = core.read_file(path)
  if not text then return nil end
  local head, rows = nil, {}
  for line in text:gmatch "[^\r\n]+" do
    local fields = fields_of(line)
    if not head then head = fields else
      local row = {}
      for i, name in ipairs(head) do
        if fields[i] ~= "" then row[name] = tonumber(fields[i]) or fields[i] end
      end
      rows[#rows + 1] = row
    end
  end
  return rows
end

--- Rows by what identifies them.
-- @tparam table rows
-- @param ... names of columns
-- @treturn table rows, with `find(values...)` -> row or nil
function page.indexed(rows, ...)
  local columns, by_key = { ... }, {}
  local function key_of(values) return table.concat(values, " ") end
  for _, row in ipairs(rows) do
    local values = {}
    for i, name in ipairs(columns) do values[i] = tostring(row[name]) end
    by_key[key_of(values)] = row
  end
  return { rows = rows, find = function(...) return by_key[key_of { ... }] end }
end

-- ---- text ----

--- Microseconds, three digits.
function page.us(value)
  if not value then return "" end
  return (value >= 100 and "%.0f" or value >= 10 and "%.1f" or "%.2f"):format(value)
end

--- A table in Markdown. @tparam table rows lists of texts, the first one the heads
function page.table(rows)
  local lines = {}
  for i, row in ipairs(rows) do
    lines[#lines + 1] = "| " .. table.concat(row, " | ") .. " |"
    if i == 1 then lines[2] = "|" .. ("---|"):rep(#row) end
  end
  return table.concat(lines, "\n")
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
  return page.us(row.median_us) .. (row.ratio and (" (%.2f)"):format(row.ratio) or "")
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
  return #rows > 1 and #cells > 0 and page.table(rows) or nil
end

-- ---- the sections ----

local sections = {}

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

local function is_large(cell)
  return not SMALL[cell] and not cell:match "building" and not cell:match "lidar"
    and not cell:match "radar"
end

local GOALS = { rust = 1.03, triton = 1.15 }

-- The ratios of an arm over the cells of 320,000 points and more.
local function ratios_of(data, stage, arm)
  local list, worst, against, lost = {}, nil, nil, 0
  for _, row in ipairs(data.rows) do
    if row.stage == stage and row.arm == arm and is_large(row.cell) then
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
    local over = row.stage == stage and row.arm == arm and is_large(row.cell) and row.ratio
      and row.ratio > goal + 0.005
    if over then list[#list + 1] = row end
  end
  table.sort(list, function(a, b) return a.ratio > b.ratio end)
  for i, row in ipairs(list) do list[i] = ("%s %.2f"):format(row.cell, row.ratio) end
  return #list > 0 and table.concat(list, ", ") or "none"
end

--- Each arm against CUDA C++ with the same levers over all large cells, beside the goal.
function sections.goals(data)
  if not data.suite then return nil end
  local rows = { { "stage", "arm", "against", "cells", "median", "least .. most", "goal",
    "cells above it" } }
  for _, stage in ipairs { "allocate", "update", "fuse" } do
    for _, arm in ipairs(arms_of(data.suite, stage)) do
      local of = ratios_of(data.suite, stage, arm)
      local goal = stage ~= "fuse" and not arm:match "published" and GOALS[arm:match "^%a+"]
      if of.middle then
        rows[#rows + 1] = { stage, "`" .. arm .. "`", "`" .. of.against .. "`",
          ("%d"):format(of.cells), ("%.2f"):format(of.middle),
          ("%.2f .. %.2f"):format(of.low, of.high), goal and ("%.2f"):format(goal) or "",
          goal and above(data.suite, stage, arm, goal) or of.lost > 0
            and ("loses blocks in %d"):format(of.lost) or "" }
      end
    end
  end
  return #rows > 1 and page.table(rows) or nil
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
  return #rows > 1 and page.table(rows) or nil
end

local OWN = { "cuda-own", "cuda-own-warp", "cuda-own-run" }

-- The fastest of a list of arms.
local function best_of(data, stage, cell, arms)
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
  local rows = { { "cell", "`cuda`", "`cuda-own`", "`cuda-own-warp`", "`cuda-own-run`",
    "`cuda` / best", "goal" } }
  for _, cell in ipairs(cells_with(data.suite, "fuse", "cuda-own", FUSED)) do
    local plain = data.suite.find("fuse", cell, "cuda")
    local best = best_of(data.suite, "fuse", cell, OWN)
    local row = { cell, figure(plain) }
    for i, arm in ipairs(OWN) do row[2 + i] = figure(data.suite.find("fuse", cell, arm)) end
    row[6] = best and ("%.2f (`%s`)"):format(plain.median_us / best.median_us, best.arm) or ""
    row[7] = (cell == "base" or cell == "pts-1280k") and "3" or "2"
    rows[#rows + 1] = row
  end
  return #rows > 1 and page.table(rows) or nil
end

-- One stage of the published cells.
local function published_of(data, stage, arms, plain)
  local figures = data.figures
  local heads = { "cell", "A3-cuda" }
  for _, arm in ipairs(arms) do heads[#heads + 1] = "`" .. arm .. "`" end
  heads[#heads + 1], heads[#heads + 2] = "plain / A3", "best / A3"
  local rows = { heads }
  for _, cell in ipairs(cells_with(data.published, stage, "cuda", figures.cells)) do
    local theirs = figures[("%s cuda %s"):format(cell, stage)]
    local row = { cell, page.us(theirs) }
    for i, arm in ipairs(arms) do
      local one = data.published.find(stage, cell, arm)
      row[2 + i] = one and page.us(one.median_us) or ""
    end
    local our = data.published.find(stage, cell, plain)
    row[#row + 1] = our and ("%.2f"):format(our.median_us / theirs) or ""
    local best = best_of(data.published, stage, cell, arms)
    row[#row + 1] = ("%.2f"):format(best.median_us / theirs)
    rows[#rows + 1] = row
  end
  return #rows > 1 and page.table(rows) or nil
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
      row[#row + 1] = our and ("%s (%.2f)"):format(page.us(our.median_us),
        our.median_us / theirs) or ""
    end
    rows[#rows + 1] = row
  end
  return page.table(rows)
end

-- Titles of causes, in the order of both chains.
local CAUSES = { "waiting", "claims", "probing", "collisions", "sectors", "atomics", "reads",
  "walk", "launch" }
local TITLES = { sectors = "scattered", reads = "reads, writes" }

local function cause_of(data, stage, cell, cause)
  return data.causes.find(stage, cell, cause)
    or cause == "reads" and data.causes.find(stage, cell, "reads and writes") or nil
end

--- The split into causes.
function sections.causes(data)
  if not data.causes then return nil end
  local heads, rows, seen = { "stage, cell", "all" }, {}, {}
  for i, cause in ipairs(CAUSES) do heads[2 + i] = TITLES[cause] or cause end
  for _, one in ipairs(data.causes.rows) do
    local name = one.stage .. ", " .. one.cell
    if not seen[name] then
      seen[name] = true
      local row = { name, page.us(one.us / one.share) }
      for i, cause in ipairs(CAUSES) do
        local part = cause_of(data, one.stage, one.cell, cause)
        row[2 + i] = part and ("%.1f (%.0f%%)"):format(part.us, 100 * part.share) or ""
      end
      rows[#rows + 1] = row
    end
  end
  return page.table { heads, table.unpack(rows) }
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
        row[2 + i] = other and page.us(other.median_us) or ""
      end
      rows[#rows + 1] = row
    end
  end
  return page.table(rows)
end

-- ---- what the page says in short ----

local WIDTH = 140

-- A paragraph in lines, those after the first indented.
local function wrapped(text, indent)
  local lines, line = {}, nil
  for word in text:gmatch "%S+" do
    if line and #line + 1 + #word > WIDTH then
      lines[#lines + 1] = line
      line = indent .. word
    else
      line = line and line .. " " .. word or word
    end
  end
  lines[#lines + 1] = line
  return table.concat(lines, "\n")
end

-- Least and most ratio of some arms over the large cells, as "0.95 to 1.04"; nil without any.
local function range_of(data, ...)
  local least, most = math.huge, -math.huge
  for _, one in ipairs { ... } do
    local of = ratios_of(data, one[1], one[2])
    if not of.middle then return nil end
    least, most = math.min(least, of.low), math.max(most, of.high)
  end
  local digits = most >= 2 and "%.1f to %.1f" or "%.2f to %.2f"
  return digits:format(least, most), most
end

local RUST = { { "allocate", "rust" }, { "allocate", "rust-ray" }, { "allocate", "rust-late" },
  { "update", "rust" }, { "update", "rust-ray" }, { "update", "rust-warp" } }

-- What sentences are made of: everything that they may name.
local function figures_of(data)
  local s, c = data.suite, data.causes
  local function us(stage, cell, arm) return page.us((s.find(stage, cell, arm) or {}).median_us) end
  local function part(stage, cell, cause) return cause_of(data, stage, cell, cause) or {} end
  local function factor(cell)
    local one = s.find("allocate", cell, "cuda")
    return ("%.1f"):format(one and one.of_control or 0)
  end
  local function share(...) return ("%.0f%%"):format(100 * (part(...).share or 0)) end
  local _, triton_most = range_of(s, { "allocate", "triton" })
  local lanes = range_of(s, { "allocate", "triton-lanes" })
  return {
    plain = us("allocate", "base", "cuda"), control = us("allocate_regular", "base", "cuda"),
    factor = factor "base", dense = factor "pts-1280k", far = factor "r-2.0",
    waiting = page.us(part("allocate", "base", "waiting").us),
    claims = page.us(part("allocate", "base", "claims").us),
    probing = page.us(part("allocate", "base", "probing").us),
    split = page.us(c.rows[1].us / c.rows[1].share),
    update = us("update", "base", "cuda"), collide = share("update", "base", "collisions"),
    scattered = share("update", "base", "sectors"), large = share("update", "r-2.0", "sectors"),
    rust = range_of(s, table.unpack(RUST)), late = range_of(s, { "allocate", "triton-late" }),
    triton_most = ("%.2f"):format(triton_most or 0),
    lanes = lanes and (", line by line as CUDA C++ (`triton-lanes`) %s"):format(lanes) or " ",
    summed = range_of(s, { "update", "triton" }, { "update", "triton-warp" }),
    published = range_of(s, { "allocate", "triton-published" }),
    looks = us("allocate", "base", "cuda-late"), warp = us("update", "base", "cuda-warp"),
    fused = us("fuse", "base", "cuda"),
    own = page.us((best_of(s, "fuse", "base", OWN) or {}).median_us),
  }
end

-- A template's $names from figures; $% is no name. Nothing where a figure is missing.
local function said(template, figures)
  local missing
  local text = template:gsub("%$(%l[%l_]*)", function(name)
    missing = missing or not figures[name] or figures[name] == ""
    return figures[name] or ""
  end)
  return not missing and text:gsub(" %)", ")") or nil
end

local SHORT = {
  [[- Plain CUDA C++ needs $plain us for `allocate`. Its regular control, the same walk that marks a
  dense grid, needs $control us, so irregularity costs a factor of $factor (pts-1280k: $dense,
  r-2.0: $far). It is **waiting** for a block that another thread is just making ($waiting us),
  **claims** of empty entries ($claims us) and **probing** ($probing us). Divergence and uncoalesced
  loads, the usual suspects, cost nothing that can be measured: neighbouring rays want the same
  blocks.]],
  [[- `update` is called regular, and irregularity is dearest there: of $update us **$collide are
  collisions**, lanes of a warp that add to the same voxel, and $scattered that the additions are
  scattered. Finding the block costs nothing. On a volume larger than the L2 cache (`r-2.0`) it is
  scattered additions: $large of the time.]],
  [[- **The language's share is small** ([figures](#which-share-is-the-languages)). With the same
  levers, in the cells of 320,000 points and more, Rust takes $rust times as long as CUDA C++;
  Triton $late times in `allocate`, where it cannot branch by lane (`triton-late`; without PTX of
  its own up to $triton_most$lanes), and $summed times in `update`.
  The published Triton program takes $published
  times as long as plain CUDA C++ here too, and loses blocks where the table is half full: it makes
  an atomic where a load would do. That is the program.]],
  [[- **Levers are worth more than languages**: to look before asking, skip what the ray has just
  asked for, and send one insert for each block of a warp, takes `allocate` from $plain to $looks
  us; to add up within the warp first takes `update` from $update to $warp us; both, and sums in a
  layout of their own, take `fuse` from $fused to $own us.]],
}

--- The page in short.
function sections.short(data)
  if not (data.suite and data.causes) then return nil end
  local figures, list = figures_of(data), {}
  for _, template in ipairs(SHORT) do
    local text = said(template, figures)
    if text then list[#list + 1] = wrapped(text, "  ") end
  end
  return #list == #SHORT and table.concat(list, "\n") or nil
end

local FRONT = [[The main benchmark's question, for CUDA C++, Rust and Triton.
[The answer](kernels/tsdf/README.md), measured on an H200, judged, and reproducible by one command
(`perigee kernels/tsdf/irregularity.lua`): filling a hash table from 320,000 rays takes $plain us
where a program without a table takes $control. Waiting for blocks that other threads are making,
claiming them, and probing cost $waiting, $claims and $probing us; divergence and uncoalesced loads
nothing measurable. The sums that follow, called regular, take $update us, $collide of it because
lanes of a warp add to one address. The language's share is small: with the same levers Rust takes
$rust times as long as CUDA C++, Triton $late times in the irregular stage and $summed in the other.
The factor of 11 to 32 that is published for Triton is its program's, which asks an atomic where a
load would do. Levers are worth more than languages: $looks us in place of $plain, and $warp in
place of $update.]]

--- The paragraph on the first page of the project.
function sections.front(data)
  if not (data.suite and data.causes) then return nil end
  local text = said(FRONT, figures_of(data))
  return text and wrapped(text, "")
end

-- ---- filling in ----

--- Fill the sections of a text in: what stands between `<!-- data: NAME -->` and `<!-- end -->`. A
-- section of which there is no data stays as it is.
-- @tparam string text
-- @tparam table data {suite, published, eight, causes, data = of `indexed`, or nil; figures}
-- @treturn string text
-- @treturn table names of sections that were filled in
-- @raise "not_found" for a section that nothing makes
function page.fill(text, data)
  local filled = {}
  local new = text:gsub("(<!%-%- data: ([%w_]+) %-%->\n)(.-)(<!%-%- end %-%->)",
    function(open, name, old, close)
      local make = sections[name] or core.error("not_found", ("no section '%s'"):format(name))
      local made = make(data)
      if made then filled[#filled + 1] = name end
      return open .. (made and "\n" .. made .. "\n\n" or old) .. close
    end)
  return new, filled
end

--- The names of all sections.
function page.names()
  local names = {}
  for name in pairs(sections) do names[#names + 1] = name end
  table.sort(names)
  return names
end

return page
