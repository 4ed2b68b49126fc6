--- README.md of this folder and of hash, and a paragraph on the project's first page, from what was
-- measured: every table and figure between marks.
--
--     perigee kernels/tsdf/page.lua FOLDER    what the commands of README left in a folder goes to
--                                             h200/ as CSV, charts are drawn, sections filled in
--     perigee kernels/tsdf/page.lua           sections again from h200/
--     perigee kernels/tsdf/page.lua --check   says whether they are what h200/ gives
--     ... --to FOLDER                         pages, charts and h200/ of another tree
--
-- A folder may have suite*.jsonl, published*.jsonl, levers*.jsonl, hash*.jsonl, causes.jsonl (of
-- --json), data.csv, causes.csv, counts.csv, eight.csv, places.csv (of --csv). What it lacks stays
-- as it is.

local argparse = require "argparse"
local cli = require "perigee.cli"
local core = require "perigee.core"
local causes = require "perigee.irregularity.causes"
local charts = require "perigee.irregularity.charts"
local files = require "perigee.files"
local levers = require "perigee.irregularity.levers"
local page = require "perigee.irregularity.page"
local report = require "perigee.irregularity.report"
local suite = require "perigee.irregularity.suite"

local parser = argparse("page.lua", "README.md from what was measured.")
parser:argument("folder", "with what the commands left"):args "?"
parser:option("--to", "the tree whose pages are written (this one)"):argname("FOLDER")
parser:flag("--check", "only say whether README.md is up to date")
local options = cli.options(parser, arg)

local ROOT = options.to or core.home
local HERE = ROOT .. "/kernels/tsdf"
local DATA = HERE .. "/h200"
local PAGES = { HERE .. "/README.md", ROOT .. "/kernels/hash/README.md", ROOT .. "/README.md" }
local FILES = { "suite", "published", "data", "causes", "counts", "eight", "levers", "hash",
  "places", "agreement" }
local RATIOS = { "median_us", "ratio", "ratio_low", "ratio_high", "of_control" }
local COLUMNS = {
  suite = { by = { "stage", "cell", "arm" }, maybe = RATIOS },
  published = { by = { "stage", "cell", "arm" }, maybe = RATIOS },
  data = { by = { "stage", "cell", "arm", "data" }, maybe = { "median_us" } },
  causes = { by = { "stage", "cell", "cause" }, numbers = { "us", "share" } },
  counts = { by = { "stage", "cell", "arm" }, numbers = { "instructions", "atomics" } },
  eight = { by = { "stage", "cell", "arm" }, maybe = { "median_us" } },
  levers = { by = { "cell", "arm", "lever" }, maybe = { "median_us" } },
  hash = { by = { "stage", "cell", "arm" }, numbers = { "keys" }, maybe = { "median_us" } },
  places = { by = { "stage", "cell", "arm", "process", "place" },
    numbers = { "median_us", "stddev_us" } },
  agreement = { by = { "stage", "what" } },
}

local function is_run(record)
  return type(record.cell) == "string" and type(record.impl) == "string"
end

-- What a record of each kind must have.
local CHECKS = {
  suite = suite.is_record, published = suite.is_record,
  causes = function(record)
    return type(record.variant_of) == "string" and type(record.cell) == "string"
      and type(record.key) == "string"
  end,
  levers = function(record) return is_run(record) and type(record.knobs) == "table" end,
  hash = function(record)
    return is_run(record) and type(record.task) == "string" and type(record.params) == "table"
  end,
}

-- All records in files of a name; nil without such a file. Lines about no cell are no records.
local function records(name, folder)
  local list
  for _, file in ipairs(core.list_dir(folder)) do
    if file:match("^" .. name .. ".*%.jsonl[%.%d]*$") then
      list = list or {}
      local number = 0
      for line in files.read(folder .. "/" .. file):gmatch "([^\n]*)\n?" do
        number = number + 1
        local record = core.json_decode(line)
        if type(record) == "table" and record.cell then
          if not CHECKS[name](record) then
            core.error("invalid", ("no record of '%s'"):format(name),
              "README.md has the command whose --json it is", ("%s/%s:%d"):format(folder, file,
              number))
          end
          list[#list + 1] = record
        end
      end
    end
  end
  return list
end

local function time_of(record)
  return record.verdict == "passed" and record.time and ("%.5g"):format(record.time.median_us) or ""
end

local function write_suite(list, path)
  local results = suite.results()
  for _, record in ipairs(list) do results:add(record) end
  report.times_csv(results, path)
  return results
end

-- Records -> CSV, and charts, by the name of the file.
local WRITE = {
  published = write_suite,
  suite = function(list, path)
    charts.draw(write_suite(list, path), HERE .. "/charts", { "allocate", "update", "fuse" })
  end,
  levers = function(list, path)
    local rows = {}
    for i, record in ipairs(list) do
      rows[i] = { record.cell, record.impl, levers.word(record.knobs), time_of(record) }
    end
    report.csv(path, { "cell", "arm", "lever", "median_us" }, rows)
  end,
  hash = function(list, path)
    local rows = {}
    for i, record in ipairs(list) do
      rows[i] = { record.task:match "[^/]*$", record.cell, record.impl, record.params.n,
        time_of(record) }
    end
    report.csv(path, { "stage", "cell", "arm", "keys", "median_us" }, rows)
  end,
}

-- How well counts explain times, from the variants in causes*.jsonl.
local function bring_agreement(folder)
  local variants, by_key = {}, {}
  for _, record in ipairs(records("causes", folder) or {}) do
    local key = ("%s %s %s"):format(record.variant_of, record.cell, record.key)
    if not by_key[key] then
      by_key[key] = { stage = record.variant_of, cell = record.cell, kernel = record.key,
        samples = record.samples }
      variants[#variants + 1] = by_key[key]
    end
    for _, name in ipairs { "us", "counters", "ncu" } do
      by_key[key][name] = record[name] or by_key[key][name]
    end
  end
  local rows = causes.agreement_rows(variants)
  if #rows == 0 then return false end
  report.csv(DATA .. "/agreement.csv", { "stage", "what", "value" }, rows)
  return true
end

-- -> whether there was anything
local function bring(name, folder)
  if name == "agreement" then return bring_agreement(folder) end
  local path, list = ("%s/%s.csv"):format(DATA, name), WRITE[name] and records(name, folder)
  local timed = 0
  for _, record in ipairs(list or {}) do timed = timed + (record.time and 1 or 0) end
  if list and timed == 0 then
    core.error("invalid", ("%s: no record of '%s' has a time"):format(folder, name),
      "they are of a simulator: the page has figures of a GPU")
  end
  if list then
    WRITE[name](list, path)
    return true
  end
  local given = ("%s/%s.csv"):format(folder, name)
  if not page.read_csv(given, COLUMNS[name]) then return false end
  files.write(path, core.read_file(given))
  return true
end

local function read(name)
  local rows = page.read_csv(("%s/%s.csv"):format(DATA, name), COLUMNS[name])
  return rows and page.indexed(rows, table.unpack(COLUMNS[name].by))
end

if options.folder then
  if options.check then
    core.error("invalid", "--check looks at the pages and brings nothing", "leave the folder out")
  end
  if not files.is_folder(options.folder) then
    core.error("not_found", ("there is no folder '%s'"):format(options.folder),
      "it has what the commands of README.md leave")
  end
  local any = false
  for _, name in ipairs(FILES) do any = bring(name, options.folder) or any end
  if not any then
    core.error("not_found", ("nothing of a run in '%s'"):format(options.folder),
      "looked for suite*, published*, levers*, hash* and causes*.jsonl, data, causes, counts, "
        .. "eight and places.csv")
  end
end
local data = { figures = report.published() }
for _, name in ipairs(FILES) do data[name] = read(name) end

local status = 0
for _, path in ipairs(PAGES) do
  local before = files.read(path)
  local after, filled = page.fill(before, data)
  if not options.check then
    files.write(path, after)
    print(("%s: %s"):format(path, table.concat(filled, ", ")))
  elseif after ~= before then
    print(path .. " is not what h200/ gives: perigee kernels/tsdf/page.lua writes it")
    status = 1
  end
end
return status
