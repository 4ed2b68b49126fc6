-- The page from the data: what stands between the marks is what the files of a run give.
local lu = require "luaunit"
local core = require "perigee.core"
local files = require "perigee.files"
local levers = require "perigee.irregularity.levers"
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

-- The whole is known from any cause; from one that costs nothing it is not. Stages do not mix.
function TestPage.test_causes_by_stage_with_the_whole()
  local rows = {}
  for _, one in ipairs { { "update", "probing", 0, 0 }, { "update", "launch", 5, 0.1 },
    { "allocate", "claims", 3, 0.3 }, { "allocate", "launch", 7, 0.7 } } do
    rows[#rows + 1] = { stage = one[1], cell = "base", cause = one[2], us = one[3],
      share = one[4] }
  end
  local text = page.fill("<!-- data: causes -->\n<!-- end -->",
    { causes = page.indexed(rows, "stage", "cell", "cause") })
  lu.assertStrContains(text, [[
| stage, cell | all | claims | probing | launch |
|---|---|---|---|---|
| allocate, base | 10.0 | 3.0 (30%) |  | 7.0 (70%) |
| update, base | 50.0 |  | 0.0 (0%) | 5.0 (10%) |
]])
end

-- Two places of one arm 2% apart, and four places of the other, of which pairs are up to 10% apart.
function TestPage.test_what_the_place_of_arrays_does()
  local rows = {}
  for i, us in ipairs { 100, 102, 100, 101, 109, 110 } do
    rows[i] = { stage = "update", cell = "base", arm = i < 3 and "cuda" or "rust", process = 1,
      place = i, median_us = us, stddev_us = us * (i < 3 and 0.03 or 0.01) }
  end
  local _, one, other = page.fill("<!-- data: places -->\n<!-- end -->",
    { places = { rows = rows } }):match "(%-%-%-|\n)([^\n]*)\n([^\n]*)\n\n<!"
  lu.assertEquals(one, "| update, base | `cuda` | 2 | 101 | 100 .. 102 | 1.4% | 3.0% |  |  |")
  lu.assertEquals(other, "|  | `rust` | 4 | 105 | 100 .. 110 | 5.0% | 1.0% | 1.040 "
    .. "| 0.98 .. 1.10 |")
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
  lu.assertStrContains(text, "Of 1 arms with a goal, 0 meet it in every cell; not `triton-late` of "
    .. "allocate.")
  data.suite.rows[3].ratio_low, data.suite.rows[3].ratio_high = 1.14, 1.18
  text = page.fill("<!-- data: goals -->\n<!-- end -->", data)
  lu.assertStrContains(text, "| r-1.0 1.18 (1.14 .. 1.18) |")
  data.suite.rows[3].ratio = 1.15
  text = page.fill("<!-- data: goals -->\n<!-- end -->", data)
  lu.assertStrContains(text, "All 1 arms with a goal meet it in every cell.")
end

-- The ratios of three passes: least to most, of their median.
function TestPage.test_how_far_passes_lie_apart()
  local rows = {}
  for i = 1, 10 do
    rows[i] = row("update", "cell-" .. i, "rust", 20, { ratio = 1, ratio_low = 1 - 0.01 * i,
      ratio_high = 1 })
  end
  rows[11] = row("allocate_regular", "base", "rust", 20, { ratio = 1, ratio_low = 0.5,
    ratio_high = 1 })
  lu.assertStrContains(page.fill("<!-- data: passes -->\n<!-- end -->",
    { suite = suite_of(table.unpack(rows)) }), [[
| stage | ratios | median | nine of ten within | at most |
|---|---|---|---|---|
| update | 10 | 5.0% | 9.0% | 10.0% (`rust`, cell-10) |

<!-- end -->]])
end

-- Goals of the best fuse: 3 near the camera, 2 elsewhere.
function TestPage.test_goals_of_the_best_fuse()
  local function best(us)
    return (page.fill("<!-- data: best -->\n<!-- end -->", { suite = suite_of(
      row("fuse", "base", "cuda", 300), row("fuse", "base", "cuda-own", us),
      row("fuse", "r-2.0", "cuda", 200), row("fuse", "r-2.0", "cuda-own", us)) }))
  end
  lu.assertStrContains(best(100), "Every goal is met.")
  lu.assertStrContains(best(100.1), "Missed: base, r-2.0.")
end

-- Of the simulator's few points, arms that share rays out where points are few say nothing.
function TestPage.test_counts_of_the_simulator()
  local function counts(arm, atomics)
    return { stage = "allocate", cell = "base", arm = arm, instructions = 84.04, lanes = 32,
      ["load sectors"] = 0.35, ["sectors/request"] = 3.6, ["L1 hit %"] = 51, atomics = atomics,
      collisions = 0 }
  end
  local text = page.fill("<!-- data: counts -->\n<!-- end -->", { counts = suite_of(
    counts("cuda", 0.13), counts("cuda-split", 1), counts("triton-published", 8.58)) })
  lu.assertStrContains(text, "|\n| allocate | `cuda` | 84.0 | 32.0 | 0.35 | 3.60 | 51.0 | 0.13 | "
    .. "0.00 |\n|  | `triton-published` | 84.0 |")
end

function TestPage.test_figures_beside_published_ones()
  local figures = { cells = { "base", "r-2.0" }, ["base cuda allocate"] = 20,
    ["r-2.0 cuda allocate"] = 40 }
  local data = { figures = figures, published = suite_of(row("allocate", "base", "cuda", 25),
    row("allocate", "base", "cuda-no-wait", 19), row("allocate", "base", "cuda-ray", 10)) }
  local text = page.fill("<!-- data: published_allocate -->\n<!-- end -->", data)
  lu.assertStrContains(text, "| base | 20.0 | 25.0 | 19.0 | 10.0 |  |  | 0.95 | 0.50 |")
  lu.assertStrContains(text, "The goal for plain / A3 is 1.05: met in 1 of 1 cells.")
  lu.assertNotStrContains(text, "r-2.0")
  data.published.rows[2].median_us = 21.2
  text = page.fill("<!-- data: published_allocate -->\n<!-- end -->", data)
  lu.assertStrContains(text, "met in 0 of 1 cells; not in base 1.06.")
end

-- Few points count for the table, and not for the sentence.
function TestPage.test_eight_volumes_against_one_after_the_other()
  local function both(one, two, few)
    return suite_of(row("allocate", "base", "cuda", one), row("allocate", "r-2.0", "cuda", two),
      row("allocate", "pts-20k", "cuda", few))
  end
  local figures = { cells = { "base", "r-2.0" }, ["base cuda allocate"] = 20,
    ["r-2.0 cuda allocate"] = 40 }
  local text = page.fill("<!-- data: eight -->\n<!-- end -->", { figures = figures,
    eight = both(10, 30, 1), published = both(20, 40, 10) })
  lu.assertStrContains(text, "| base | 10.0 (0.50) |  |  |")
  lu.assertStrContains(text, "0.50 to 0.75 (`cuda` of allocate).")
end

-- The sentences: nothing is said of which there is no figure.
function TestPage.test_how_strong_the_opponent_is()
  local function arm(cell, us) return row("allocate", cell, "cuda-no-wait", us) end
  local data = { suite = suite_of(), causes = page.indexed({}, "stage", "cell", "cause"),
    figures = { ["base cuda allocate"] = 20, ["r-2.0 cuda allocate"] = 40,
      ["pts-20k cuda allocate"] = 10 },
    published = suite_of(arm("base", 17), arm("r-2.0", 32), arm("pts-20k", 15)) }
  lu.assertEquals(page.figures(data).opponent, "0.80 to 0.85")
  data.published = nil
  lu.assertNil(page.figures(data).opponent)
  local old = "<!-- data: short -->\nold\n<!-- end -->"
  lu.assertEquals(page.fill(old, data), old)
end

function TestPage.test_levers_and_hash_tables()
  lu.assertEquals(levers.word { RUN = 2, BLOCK = 128, AHEAD = 0, PER_SM = 6 },
    "AHEAD=0:BLOCK=128:BRICK=1:FLOATS=8:PAIR=1:PER_SM=6:ROWS=1:RUN=2")
  local rows = page.indexed({ { cell = "base", arm = "cuda-own", median_us = 49,
    lever = levers.word { RUN = 2, BLOCK = 128, AHEAD = 0 } } }, "cell", "arm", "lever")
  local text = page.fill("<!-- data: levers -->\n<!-- end -->", { levers = rows })
  lu.assertStrContains(text, "|  | base, `cuda-own` |")
  lu.assertStrContains(text, "| two points a thread (`RUN=2 BLOCK=128`) | 49.0 |")
  lu.assertStrContains(text, "| and four |  |")
  local hash = suite_of({ stage = "find", cell = "linear-0.5", arm = "naive", keys = 1 << 20,
    median_us = 100 })
  text = page.fill("<!-- data: hash_find -->\n<!-- end -->", { hash = hash })
  lu.assertStrContains(text, "| find | keys | `naive` |")
  lu.assertStrContains(text, "| linear-0.5 | 2^20 | 0.10 (10.5) |")
end

-- Bring a folder of records to pages of its own. -> output, status, function(path) -> text there
local function brought(records, check)
  files.in_temporary(function(tree)
    core.mkdir_all(tree .. "/kernels/tsdf/h200")
    core.mkdir_all(tree .. "/kernels/hash")
    core.mkdir_all(tree .. "/left")
    core.write_file(tree .. "/README.md", "front\n")
    core.write_file(tree .. "/kernels/tsdf/README.md", "<!-- data: levers -->\n<!-- end -->\n")
    core.write_file(tree .. "/kernels/hash/README.md", "<!-- data: hash_find -->\n<!-- end -->\n")
    for name, list in pairs(records) do
      for i, record in ipairs(list) do list[i] = core.json_encode(record) .. "\n" end
      core.write_file(("%s/left/%s.jsonl"):format(tree, name), table.concat(list))
    end
    local text, status = run(("'%s/left' --to '%s'"):format(tree, tree))
    check(text, status, function(path) return core.read_file(tree .. "/kernels/" .. path) end)
  end)
end

function TestPage.test_what_a_run_left_goes_to_the_pages()
  local find = { task = "hash/find", cell = "linear-0.5", impl = "naive", params = { n = 1 << 20 },
    verdict = "passed", time = { median_us = 100 } }
  local lever = { cell = "base", impl = "cuda-own", knobs = { PAIR = 0, BRICK = 0, AHEAD = 0 },
    verdict = "passed", time = { median_us = 92.4 } }
  brought({ hash1 = { find, { summary = true } }, levers1 = { lever } },
    function(text, status, read)
      lu.assertEquals({ status, text }, { 0, text })
      lu.assertStrContains(read "hash/README.md", "| linear-0.5 | 2^20 | 0.10 (10.5) |")
      lu.assertStrContains(read "tsdf/README.md", "| one addition of four sums, one of the fifth | "
        .. "92.4 |")
      lu.assertStrContains(read "tsdf/h200/hash.csv", "find,linear-0.5,naive,1048576,100\n")
    end)
end

-- Records of a simulator have no times: they would empty the page.
function TestPage.test_only_times_of_a_gpu_go_to_the_page()
  brought({ suite = { { stage = "allocate", cell = "base", impl = "cuda", pass = 1,
    verdict = "passed" } } }, function(text, status, read)
    lu.assertEquals(status, 2)
    lu.assertStrContains(text, "no record of 'suite' has a time")
    lu.assertNil(read "tsdf/h200/suite.csv")
  end)
end

-- What has nothing of a run is no folder of a run, and what is a file is none.
function TestPage.test_a_folder_without_records()
  brought({}, function(text, status)
    lu.assertEquals(status, 2)
    lu.assertStrContains(text, "nothing of a run in")
    lu.assertStrContains(text, "looked for suite*, published*, ")
  end)
  files.in_temporary(function(folder)
    core.mkdir_all(folder .. "/suite.jsonl")
    local text, status = run(folder)
    lu.assertEquals(status, 2)
    lu.assertStrMatches(text, "perigee: cannot read .*/suite.jsonl.*")
  end)
end

-- A file of another kind under a name that is ours.
function TestPage.test_a_record_of_another_kind_is_named_with_its_line()
  local record = { stage = "allocate", cell = "base", impl = "cuda", pass = 1, verdict = "passed",
    time = { median_us = 30 } }
  for _, name in ipairs { "levers", "hash", "causes" } do
    brought({ [name] = { { summary = true }, record } }, function(text, status)
      lu.assertEquals(status, 2)
      lu.assertStrMatches(text, (".*no record of '%s'.*left/%s%%.jsonl:2.*"):format(name, name))
    end)
  end
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
