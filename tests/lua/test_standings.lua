-- Reports from the results store: boards, the best, history; and differences of texts, against the
-- longest common subsequence.
local lu = require "luaunit"
local core = require "perigee.core"
local files = require "perigee.files"
local linediff = require "perigee.linediff"
local standings = require "perigee.standings"
local store = require "perigee.store"

local folder = files.temporary()

TestDiff = {}

local function parts(lines)
  local by_mark = { ["-"] = {}, ["+"] = {}, [" "] = {}, ["@"] = {} }
  for _, line in ipairs(lines) do table.insert(by_mark[line:sub(1, 1)], line:sub(3)) end
  return by_mark
end

function TestDiff:test_what_changed_is_shown_with_two_lines_around_it()
  lu.assertEquals(linediff.lines("a\nb\nc\nd\ne\nf\ng\nh\n", "a\nb\nX\nd\ne\nf\ng\nh\nnew\n"),
    { "@ line 1", "  a", "  b", "- c", "+ X", "  d", "  e", "@ line 7", "  g", "  h", "+ new" })
end

function TestDiff:test_ends_of_all_kinds()
  lu.assertEquals(linediff.lines("", ""), {})
  lu.assertEquals(linediff.lines("a", "a\n"), {})
  lu.assertEquals(linediff.lines("", "x\ny"), { "@ line 1", "+ x", "+ y" })
  lu.assertEquals(linediff.lines("x\ny\n", ""), { "@ line 1", "- x", "- y" })
end

-- By the table of all prefixes.
local function edits(a, b)
  local common = {}
  for i = 0, #a do
    common[i] = {}
    for j = 0, #b do
      common[i][j] = (i == 0 or j == 0) and 0 or a[i] == b[j] and common[i - 1][j - 1] + 1
        or math.max(common[i - 1][j], common[i][j - 1])
    end
  end
  return #a + #b - 2 * common[#a][#b]
end

function TestDiff:test_it_is_the_shortest()
  local state = 7
  local function random(most)
    state = (state * 1103515245 + 12345) & 0x7fffffff
    return state // 65536 % most
  end
  for _ = 1, 500 do
    local a, b = {}, {}
    for i = 1, random(13) do a[i] = string.char(97 + random(3)) end
    for i = 1, random(13) do b[i] = string.char(97 + random(3)) end
    local found = parts(linediff.lines(table.concat(a, "\n"), table.concat(b, "\n")))
    lu.assertEquals(#found["-"] + #found["+"], edits(a, b))
    lu.assertEquals(#found["+"] - #found["-"], #b - #a)
  end
end

function TestDiff:test_texts_with_nothing_in_common_end_soon()
  local a, b = {}, {}
  for i = 1, 3000 do a[i], b[i] = "a" .. i, "b" .. i end
  local started = core.now()
  local found = parts(linediff.lines(table.concat(a, "\n"), table.concat(b, "\n")))
  lu.assertEquals({ #found["-"], #found["+"] }, { 3000, 3000 })
  lu.assertTrue(core.now() - started < 10)
end

TestStandings = {}

local function opened()
  local s = store.open(folder .. "/results.db")
  local session, there = s:session("all", "import")
  if not there then s:import("tests/cli/files/records.jsonl", "all") end
  return s, session
end

function TestStandings:test_boards_keep_sizes_and_machines_apart()
  local s <close> = opened()
  local seen = {}
  for i, board in ipairs(standings.boards(s, { task = "vector/saxpy" })) do
    seen[i] = { board.params.n, board.device, board.unit, board.count, board.rows[1].name }
  end
  lu.assertEquals(seen, { { 10, "GPU A", "us", 1, "other size" },
    { 1000, "GPU A", "us", 4, "fast" }, { 1000, "GPU B", "us", 1, "other gpu" } })
  lu.assertEquals(#standings.boards(s, { set = { n = 10 } }), 1)
  lu.assertEquals(standings.boards(s, { task = "none" }), {})
end

function TestStandings:test_a_kernel_stands_with_its_best_record()
  local s <close> = opened()
  local board = standings.boards(s, { set = { n = 1000 }, device = "GPU A" })[1]
  local costs = {}
  for i, row in ipairs(board.rows) do costs[i] = row.cost end
  lu.assertEquals(costs, { 20.0, 30.0, 39.0, 40.0 }) -- not 21, the second run of the first
  lu.assertAlmostEquals(board.rows[4].over_best, 2, 1e-12)
end

function TestStandings:test_the_best_is_that_of_the_same_size_and_machine()
  local s <close> = opened()
  local p = { a = 2.5, n = 1000 }
  lu.assertEquals(standings.best(s, "vector/saxpy", p, { device = "cuda:3",
    gpu = "GPU A" })[1].name, "fast")
  lu.assertEquals(standings.best(s, "vector/saxpy", p, { device = "sim:profile" }), {})
  lu.assertEquals({ standings.best(s, "vector/saxpy", { a = 2.5, n = 7 }, { device = "cuda:0",
    gpu = "GPU A" }) }, { {}, 0 })
end

function TestStandings:test_what_a_file_told_is_marked()
  local s <close> = store.open(folder .. "/told.db")
  local rec = { task = "t/x", impl = "own", verdict = "passed", device = "cuda:0", gpu = "G",
    params = {}, kind = "check", tool = "submit", time = { median_us = 2.0 } }
  s:add(s:session("here", "serve"), rec)
  rec.impl, rec.tool, rec.time = "told", nil, { median_us = 1.0 }
  s:add(s:session("there", "import"), rec)
  local rows = standings.boards(s, {})[1].rows
  lu.assertEquals({ rows[1].name, rows[1].imported, rows[1].kind }, { "told", true, "check" })
  lu.assertEquals({ rows[2].name, rows[2].imported, rows[2].kind }, { "own", nil, "submit" })
end

function TestStandings:test_without_a_clock_instructions_are_the_cost()
  local s <close> = store.open(folder .. "/sim.db")
  local session = s:session("sim", "check")
  for i, counters in ipairs { { warp_instructions = 90, complete = true },
    { warp_instructions = 80, complete = true }, { warp_instructions = 10 } } do
    s:add(session, { task = "t/x", impl = "k" .. i, verdict = "passed", device = "sim:profile",
      params = {}, kind = "check", counters = counters })
  end
  local board = standings.boards(s, {})[1]
  lu.assertEquals({ board.unit, board.device, board.count, board.rows[1].name },
    { "warp_instructions", "sim:profile", 2, "k2" })
end

function TestStandings:test_history_says_where_one_fell_back()
  local s <close>, session = opened()
  local rows, total = standings.history(s, { session = session, candidates = true })
  lu.assertEquals({ total, #rows }, { 7, 7 }) -- naive is no attempt
  lu.assertEquals({ rows[2].verdict, rows[2].reason },
    { "wrong_result", "z[0]: expected 1, got 2; 1 of 5 elements wrong" })
  lu.assertEquals(rows[3].status, "fallback") -- beside naive, which is none of the rows
  rows = standings.history(s, { session = session })
  lu.assertEquals({ rows[4].name, rows[4].status, rows[4].session }, { "plain", "fallback", "all" })
  rows = standings.history(s, { session = session, limit = 5 })
  lu.assertEquals({ rows[1].name, rows[1].status }, { "plain", "fallback" }) -- of the whole series
  rows, total = standings.history(s, { task = "vector/saxpy", limit = 2 })
  lu.assertEquals({ #rows, total, rows[2].attempt }, { 2, 8, 8 })
end

local status = lu.LuaUnit.run()
files.remove(folder)
os.exit(status, true)
