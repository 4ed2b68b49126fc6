--- README.md of this folder, and the paragraph on the project's first page, from what was measured:
-- every table and figure between marks.
--
--     perigee kernels/tsdf/page.lua FOLDER    what the commands of README left in a folder goes to
--                                             h200/ as CSV, charts are drawn, sections filled in
--     perigee kernels/tsdf/page.lua           sections again from h200/
--     perigee kernels/tsdf/page.lua --check   says whether they are what h200/ gives
--
-- A folder may have suite*.jsonl, published*.jsonl (of --json), data.csv, causes.csv, eight.csv (of
-- --csv). What it lacks stays as it is.

local argparse = require "argparse"
local core = require "perigee.core"
local charts = require "perigee.irregularity.charts"
local page = require "perigee.irregularity.page"
local report = require "perigee.irregularity.report"
local suite = require "perigee.irregularity.suite"

local parser = argparse("page.lua", "README.md from what was measured.")
parser:argument("folder", "with what the commands left"):args "?"
parser:flag("--check", "only say whether README.md is up to date")
local options = parser:parse(arg)

local HERE = core.home .. "/kernels/tsdf"
local DATA, PAGES = HERE .. "/h200", { HERE .. "/README.md", core.home .. "/README.md" }
local FILES = { "suite", "published", "data", "causes", "eight" }

-- Records -> CSV, and charts.
local function bring_records(name, folder)
  local texts = {}
  for _, file in ipairs(core.list_dir(folder)) do
    if file:match("^" .. name .. ".*%.jsonl$") then
      texts[#texts + 1] = core.read_file(folder .. "/" .. file)
    end
  end
  if #texts == 0 then return false end
  local results = suite.results()
  for line in table.concat(texts, "\n"):gmatch "[^\n]+" do
    local record = core.json_decode(line)
    if record and record.stage then results:add(record) end
  end
  report.times_csv(results, ("%s/%s.csv"):format(DATA, name))
  if name == "suite" then charts.draw(results, HERE .. "/charts") end
  return true
end

local function bring(name, folder)
  if bring_records(name, folder) then return end
  local text = core.read_file(("%s/%s.csv"):format(folder, name))
  if text then core.write_file(("%s/%s.csv"):format(DATA, name), text) end
end

local function read(name)
  local rows = page.read_csv(("%s/%s.csv"):format(DATA, name))
  if not rows then return nil end
  if name == "causes" then return page.indexed(rows, "stage", "cell", "cause") end
  if name == "data" then return page.indexed(rows, "stage", "cell", "arm", "data") end
  return page.indexed(rows, "stage", "cell", "arm")
end

if options.folder then
  for _, name in ipairs(FILES) do bring(name, options.folder) end
end
local data = { figures = report.published() }
for _, name in ipairs(FILES) do data[name] = read(name) end

local status = 0
for _, path in ipairs(PAGES) do
  local before = core.read_file(path)
  local after, filled = page.fill(before, data)
  if not options.check then
    core.write_file(path, after)
    print(("%s: %s"):format(path, table.concat(filled, ", ")))
  elseif after ~= before then
    print(path .. " is not what h200/ gives: perigee kernels/tsdf/page.lua writes it")
    status = 1
  end
end
return status
