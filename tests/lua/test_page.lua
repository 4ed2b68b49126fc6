-- The page from the data: what stands between the marks is what the files of a run give.
local lu = require "luaunit"
local core = require "perigee.core"
local page = require "perigee.irregularity.page"

local BINARY = (os.getenv("BUILD") or "build") .. "/perigee"

local function run(options)
  local pipe = assert(io.popen(("'%s' '%s/kernels/tsdf/page.lua' %s 2>&1"):format(BINARY, core.home,
    options)))
  local text = pipe:read "a"
  local _, _, status = pipe:close()
  return text, status
end

local function row(stage, cell, arm, us, more)
  local one = { stage = stage, cell = cell, arm = arm, verdict = "passed", median_us = us }
  for name, value in pairs(more or {}) do one[name] = value end
  return one
end

local function suite_of(...)
  return page.indexed({ ... }, "stage", "cell", "arm")
end

TestPage = {}

function TestPage.test_the_pages_are_what_the_files_give()
  lu.assertEquals({ run "--check" }, { "", 0 })
end

function TestPage.test_times_and_ratios_by_cell()
  local data = { suite = suite_of(row("allocate", "base", "cuda", 30.84),
    row("allocate", "base", "rust", 30.2, { ratio = 0.985, compared_with = "cuda" }),
    row("allocate", "r-2.0", "cuda", 273.4),
    row("allocate", "r-2.0", "triton-published", nil, { verdict = "wrong_result" }),
    row("allocate", "base", "cuda-no-wait", 22)) }
  local text = page.fill("a\n<!-- data: share -->\nold\n<!-- end -->\nb", data)
  lu.assertEquals(text, [[
a
<!-- data: share -->

| stage | arm | base | r-2.0 |
|---|---|---|---|
| allocate | `cuda` | 30.8 | 273 |
|  | `rust` | 30.2 (0.98) |  |
|  | `triton-published` |  | loses blocks |

<!-- end -->
b]])
end

-- The goals are for cells of 320,000 points and more: others do not count; what is above is named.
function TestPage.test_ratios_beside_the_goals()
  local function triton(cell, ratio)
    return row("allocate", cell, "triton-late", 20, { ratio = ratio, compared_with = "cuda-late" })
  end
  local data = { suite = suite_of(triton("base", 1.1), triton("pts-20k", 3), triton("r-1.0", 1.18),
    triton("scan-radar-cold", 2), triton("plane-320k", 1.154)) }
  local text = page.fill("<!-- data: goals -->\n<!-- end -->", data)
  lu.assertStrContains(text, "| allocate | `triton-late` | `cuda-late` | 3 | 1.15 | 1.10 .. 1.18 | "
    .. "1.15 | r-1.0 1.18 |")
end

function TestPage.test_figures_beside_published_ones()
  local figures = { cells = { "base", "r-2.0" }, ["base cuda allocate"] = 20,
    ["r-2.0 cuda allocate"] = 40 }
  local data = { figures = figures, published = suite_of(row("allocate", "base", "cuda", 25),
    row("allocate", "base", "cuda-no-wait", 19), row("allocate", "base", "cuda-ray", 10)) }
  local text = page.fill("<!-- data: published_allocate -->\n<!-- end -->", data)
  lu.assertStrContains(text, "| base | 20.0 | 25.0 | 19.0 | 10.0 |  |  | 0.95 | 0.50 |")
  lu.assertNotStrContains(text, "r-2.0")
end

function TestPage.test_levers_and_hash_tables()
  local tables = require "perigee.irregularity.tables"
  lu.assertEquals(tables.lever { RUN = 2, BLOCK = 128, AHEAD = 0, PER_SM = 0 },
    "AHEAD=0:BLOCK=128:BRICK=1:FLOATS=8:PAIR=1:ROWS=1:RUN=2")
  local levers = page.indexed({ { cell = "base", arm = "cuda-own", median_us = 49,
    lever = tables.lever { RUN = 2, BLOCK = 128, AHEAD = 0 } } }, "cell", "arm", "lever")
  local text = page.fill("<!-- data: levers -->\n<!-- end -->", { levers = levers })
  lu.assertStrContains(text, "|  | base, `cuda-own` |")
  lu.assertStrContains(text, "| two points a thread (`RUN=2 BLOCK=128`) | 49.0 |")
  lu.assertStrContains(text, "| and four |  |")
  local hash = suite_of({ stage = "find", cell = "linear-0.5", arm = "naive", keys = 1 << 20,
    median_us = 100 })
  text = page.fill("<!-- data: hash_find -->\n<!-- end -->", { hash = hash })
  lu.assertStrContains(text, "| find | keys | `naive` |")
  lu.assertStrContains(text, "| linear-0.5 | 2^20 | 0.10 (10.5) |")
end

-- Records of a simulator have no times: they would empty the page.
function TestPage.test_only_times_of_a_gpu_go_to_the_page()
  local folder = os.tmpname()
  os.remove(folder)
  core.mkdir_all(folder)
  core.write_file(folder .. "/suite.jsonl", core.json_encode { stage = "allocate", cell = "base",
    impl = "cuda", pass = 1, verdict = "passed" } .. "\n")
  local text, status = run("'" .. folder .. "'")
  lu.assertEquals(status, 2)
  lu.assertStrContains(text, "no record of 'suite' has a time")
  os.remove(folder .. "/suite.jsonl")
  os.remove(folder)
  lu.assertEquals({ run "--check" }, { "", 0 })
end

-- Without data a section stays; a name that nothing makes is a mistake of the page.
function TestPage.test_sections_without_data()
  local old = "<!-- data: causes -->\nold\n<!-- end -->"
  local text, filled = page.fill(old, {})
  lu.assertEquals({ text, filled }, { old, {} })
  local ok, e = pcall(page.fill, "<!-- data: nothing -->\n<!-- end -->", {})
  lu.assertFalse(ok)
  lu.assertEquals(e.code, "not_found")
end

function TestPage.test_a_csv_file_and_missing_fields()
  local path = os.tmpname()
  core.write_file(path, "stage,cell,us\nallocate,base,1.5\nupdate,,\n")
  local rows = page.read_csv(path)
  os.remove(path)
  lu.assertEquals(rows, { { stage = "allocate", cell = "base", us = 1.5 }, { stage = "update" } })
  lu.assertNil(page.read_csv(path))
end

-- A file that was cut, or is of another kind, is named with its line; no page is made of it.
function TestPage.test_a_csv_file_that_is_broken()
  local path = os.tmpname()
  local columns = { by = { "cell" }, numbers = { "us" }, maybe = { "ratio" } }
  local good = "cell,us,ratio\nbase,1.5,\n"
  for text, reason in pairs { [""] = ": there are no rows",
    ["cell,us,ratio\n"] = ": there are no rows",
    [good .. "\nbase,,1\n"] = ":4: there is no number in column 'us'",
    [good .. "base,x,1\n"] = ":3: there is no number in column 'us'",
    [good .. ",2,1\n"] = ":3: there is nothing in column 'cell'",
    [good .. "base,2,x\r\n"] = ":3: 'x' is no number (ratio)" } do
    core.write_file(path, text)
    local ok, e = pcall(page.read_csv, path, columns)
    lu.assertEquals({ ok, e.code, e.where .. ": " .. e.message },
      { false, "invalid", path .. reason })
  end
  core.write_file(path, good)
  lu.assertEquals(page.read_csv(path, columns), { { cell = "base", us = 1.5 } })
  os.remove(path)
end

os.exit(lu.LuaUnit.run())
