-- perigee eval: scores against formulas by hand, agents of all settings, what an agent may do
-- wrongly, and that a run goes on where it was killed.
local lu = require "luaunit"
local core = require "perigee.core"
local agent = require "perigee.agent"
local files = require "perigee.files"
local scores = require "perigee.scores"
local store = require "perigee.store"

local BINARY = core.binary()
local folder = core.realpath(files.temporary())
assert(core.mkdir_all(folder .. "/agents") and core.mkdir_all(folder .. "/store"))
local DB = folder .. "/store/db" -- apart from what agents may change

TestScores = {}

local function sample(task, ...)
  local one = { task = task, rounds = {}, bases = { "naive" } }
  for i, round in ipairs { ... } do
    one.rounds[i] = type(round) == "string" and { verdict = round }
      or { verdict = "passed", speedup = { naive = round } }
  end
  return one
end

-- By counting subsets.
local function pass_by_subsets(n, c, k)
  local all, hits = 0, 0
  local function choose(from, left, hit)
    if left == 0 then
      all, hits = all + 1, hits + (hit and 1 or 0)
      return
    end
    for i = from, n - left + 1 do choose(i + 1, left - 1, hit or i <= c) end
  end
  choose(1, k, false)
  return hits / all
end

function TestScores:test_pass_at_k_is_the_share_of_subsets_with_a_right_one()
  for n = 1, 7 do
    for c = 0, n do
      for k = 1, n do
        lu.assertAlmostEquals(scores.pass_at(n, c, k), pass_by_subsets(n, c, k), 1e-12)
      end
    end
  end
  lu.assertNil(scores.pass_at(2, 1, 3))
end

function TestScores:test_rates_count_every_sample()
  local all = scores.of { sample("a", 2.0), sample("a", "wrong_result"), sample("b", 0.9),
    sample("b", "compile_error"), sample("b") }
  lu.assertAlmostEquals(all.compile_rate, 3 / 5, 1e-12)
  lu.assertAlmostEquals(all.correct_rate, 2 / 5, 1e-12)
  lu.assertEquals({ all.samples, all.tasks, all.attempts }, { 5, 2, 4 })
  local by_p = {}
  for _, one in ipairs(all.against[1].fast) do by_p[one.p] = one.share end
  lu.assertEquals(by_p, { [0] = 2 / 5, [0.5] = 2 / 5, [0.8] = 2 / 5, [1] = 1 / 5, [1.5] = 1 / 5,
    [2] = 0, [5] = 0 }) -- more than p, not p itself
  lu.assertAlmostEquals(all.against[1].geomean, math.sqrt(2.0 * 0.9), 1e-12)
  lu.assertAlmostEquals(all.against[1].geomean_all, (2.0 * 0.9 * 0.1 ^ 3) ^ (1 / 5), 1e-12)
  lu.assertEquals(all.against[1].passed, 2)
  lu.assertAlmostEquals(all.pass_at[1].share, (1 / 2 + 1 / 3) / 2, 1e-12)
  lu.assertAlmostEquals(all.pass_at[2].share, (1 + 2 / 3) / 2, 1e-12)
  lu.assertNil(all.pass_at[3])
end

function TestScores:test_a_round_counts_the_best_so_far()
  local all = scores.of { sample("a", "compile_error", 3.0, 1.0), sample("a", "race", "race") }
  local seen = {}
  for i, row in ipairs(all.rounds) do
    seen[i] = { row.compiled, row.correct, row.against[1].geomean }
  end
  lu.assertEquals(#seen, 3)
  lu.assertEquals({ seen[1][1], seen[1][2] }, { 0.5, 0.0 })
  lu.assertEquals({ seen[2][1], seen[2][2] }, { 1.0, 0.5 })
  lu.assertAlmostEquals(seen[3][3], 3.0, 1e-12)
end

function TestScores:test_a_baseline_counts_the_tasks_that_have_it()
  local with, failed = sample("a", 2.0), sample("c", "race")
  with.rounds[1].speedup.expert = 0.5
  with.bases, failed.bases = { "expert", "naive", "other" }, { "expert", "naive" }
  local all = scores.of { with, sample("a", "race"), sample("b", 4.0), failed }
  lu.assertEquals({ all.against[1].base, all.against[1].samples, all.against[2].samples },
    { "expert", 3, 4 }) -- a task counts where nothing was right, too
  lu.assertEquals({ #all.against, all.no_base }, { 2, { "other" } }) -- nothing ran beside that
  lu.assertAlmostEquals(all.against[1].geomean, 0.5, 1e-12)
  lu.assertAlmostEquals(all.against[1].fast[1].share, 1 / 3, 1e-12)
end

function TestScores:test_where_none_passed_every_share_is_zero()
  local all = scores.of { sample("a", "race"), sample("b", "compile_error") }
  lu.assertEquals({ all.against[1].base, all.against[1].samples, all.against[1].geomean },
    { "naive", 2, nil })
  lu.assertEquals(#all.against[1].fast, 7)
  for _, at in ipairs(all.against[1].fast) do lu.assertEquals(at.share, 0) end
  lu.assertAlmostEquals(all.against[1].geomean_all, 0.1, 1e-12)
  lu.assertEquals(scores.of({ sample("a", "environment") }).compile_rate, 0)
end

function TestScores:test_with_tools_what_was_submitted_counts_in_the_end()
  local tried, none = sample("a", 3.0, 0.5, "race"), sample("b", 2.0)
  tried.setting, tried.final, none.setting = "tools", tried.rounds[2], "tools"
  local all = scores.of { tried, none }
  lu.assertEquals({ all.correct_rate, all.against[1].geomean }, { 0.5, 0.5 })
  lu.assertEquals({ all.rounds[1].correct, all.attempts }, { 1.0, 4 })
  lu.assertAlmostEquals(all.rounds[3].against[1].geomean, math.sqrt(6), 1e-12)
end

function TestScores:test_no_samples()
  local all = scores.of {}
  lu.assertEquals({ all.samples, all.correct_rate, #all.pass_at, #all.rounds }, { 0, 0, 0, 1 })
end

-- ---- what an agent answers ----

TestAnswers = {}

function TestAnswers:test_json_a_fenced_block_or_a_source()
  lu.assertEquals(agent.parse '{"source":"x","language":"rust","tokens":7}',
    { source = "x", language = "rust", tokens = 7 })
  lu.assertEquals(agent.parse '{"stop":true}', { stop = true })
  lu.assertEquals(agent.parse "Here:\n```cuda\nint a;\nint b;\n```\nand\n```\nc\n```\n",
    { source = "int a;\nint b;", language = "cuda" })
  lu.assertEquals(agent.parse "```python\nx\n```", { source = "x", language = "triton" })
  lu.assertEquals(agent.parse "int a;", { source = "int a;" })
  for _, text in ipairs { "", " \n", '{"tokens":1}', '{"source":5}', '{"source":"x","tokens":-1}',
    '{"source":"x","tokens":1e308}', '{"source":"x","tokens":"9"}' } do
    lu.assertNil((agent.parse(text)))
  end
  local _, why = agent.parse '{"source":"x\ny"}' -- a line end as it is: no JSON, and no CUDA
  lu.assertStrContains(why, "cannot be read")
  lu.assertStrContains(why, "line 1")
end

-- ---- whole runs ----

TestRuns = {}

-- An agent in Lua; it counts its calls in a file.
assert(core.write_file(folder .. "/agents/agent.lua", [[
local core = require "perigee.core"
local mode, count = arg[1], arg[2]
local ask = assert(core.json_decode(io.read "a"))
local function source(name)
  return core.read_file("tests/candidates/saxpy/" .. name .. ".cu")
end
local log <close> = io.open(count, "a")
log:write(ask.round or 0, "\n")
log:flush()

-- A function that calls a tool of the server that the request names.
local function connect()
  local server = require("perigee.client").connect(ask.server)
  return function(name, given)
    given.task = ask.task
    return server:call(name, given)
  end
end

if mode == "improves" then
  if ask.round == 1 then print(core.json_encode { source = source "last", tokens = 10 }) end
  if ask.round == 2 then
    assert(ask.verdict == "wrong_result" and ask.feedback:find("elements wrong", 1, true))
    assert(ask.source == source "last" and ask.prompt:find("void saxpy(", 1, true))
    print("```cuda\n" .. source "right" .. "```")
  end
  if ask.round == 3 then print(core.json_encode { stop = true }) end
elseif mode == "right" then
  print(source "right")
elseif mode == "two files" then
  if ask.round == 2 then
    assert(ask.files["saxpy.cu"] == source "right" and ask.files["plan.lua"]:find "BLOCK = 64")
    assert(ask.prompt:find("BLOCK = 64", 1, true))
  end
  print(core.json_encode { files = { ["saxpy.cu"] = source "right", ["plan.lua"] =
    "return { launch = { grid = 'ceil(n / 256)', block = 256 }, define = { BLOCK = 64 } }" } })
elseif mode == "slow" then
  if ask.round == 2 and not core.file_info(count .. ".killed") then
    core.write_file(count .. ".killed", "")
    os.execute "sleep 100"
  end
  print(source "right")
elseif mode == "dies" then
  return 3
elseif mode == "hangs" then
  os.execute "sleep 100"
elseif mode == "many tokens" then
  print('{"source": "x", "tokens": 1e308}')
elseif mode == "wrong language" then
  print(core.json_encode { source = "x", language = "fortran" })
elseif mode == "long line" then -- in the second round a byte further
  print(('extern "C" __global__ void saxpy() {\n%sint q = nothing; /* %s */ }'):format(
    (" "):rep(ask.round), ("\u{e9}"):rep(200)))
elseif mode == "long log" then -- the second round answers what the first one was told
  print(ask.round == 2 and core.json_encode { source = ask.feedback } or
    'extern "C" __global__ void saxpy() {' .. ("\n  int a = b;"):rep(90) .. "\n}")
elseif mode == "python" then
  print(core.json_encode { source = "x", language = "triton" })
elseif mode == "leaves" then
  os.execute(("exec >/dev/null 2>&1; sleep N & setsid sleep N & (setsid setsid sleep N &)")
    :gsub("N", arg[3]))
  if ask.round == 1 then print(source "right") else os.execute "sleep 100" end
elseif mode == "next sample" then -- says that the next one has passed
  local store = require "perigee.store"
  local into = store.open(arg[3])
  into:session("forged vector/saxpy #2", "eval")
  into:note((into:session("forged vector/saxpy #2", "eval")), { rounds = { { attempt = 1,
    verdict = "passed", speedup = { naive = 1000 } } }, ended = "stopped" })
  print(source "last")
elseif mode == "reaches out" then
  local db = arg[3]
  local wrote = core.write_file(db, "") or core.write_file(db .. "-wal", "")
    or core.write_file(arg[4], "")
  local knows = core.read_file(db) or core.read_file(db .. "-wal")
  local killed = os.execute("kill -KILL " .. arg[5] .. " 2>/dev/null")
  local own = core.write_file(os.getenv "TMPDIR" .. "/mine", "x")
  print(not (wrote or knows or killed) and own and source "right" or source "last")
elseif mode == "tools" then
  assert(ask.setting == "tools" and ask.prompt:find("submit", 1, true))
  local tool, answer = connect(), nil
  for _, name in ipairs { "last", "right" } do answer = tool("check", { source = source(name) }) end
  tool("submit", { attempt = answer.attempt })
  print(core.json_encode { stop = true, tokens = 3 })
elseif mode == "too often" then
  for _ = 1, 40 do core.connect(ask.server[3]):close() end -- each has a server, for a moment
  local tool = connect()
  local first = tool("check", { source = source "right" })
  tool("time", { source = source "last" })
  local third, why = tool("check", { source = source "right" })
  assert(not third and why:find("the 2 attempts of this session are spent", 1, true), why)
  assert(not tool("submit", { source = source "right" }))
  assert(connect()("submit", { attempt = first.attempt }).passed) -- by a second server
end
]]))

local number = 0

local function command(mode, calls, ...)
  return table.concat({ ("%s %s/agents/agent.lua \"%s\" %s"):format(BINARY, folder, mode, calls),
    ... }, " ")
end

-- Runs an evaluation of that agent: the scores, all that was said, how often it was asked, status.
local function run_with(how, mode, ...)
  number = number + 1
  local calls = ("%s/agents/calls.%s"):format(folder, how.calls or number)
  local words = { how.before or "", BINARY, "eval --device sim:check", how.table and "" or "--json",
    "--db", how.db or DB, "--tasks vector/saxpy --writes", folder .. "/agents", "--agent",
    ("'%s'"):format(command(mode, calls, table.unpack(how.given or {}))), ... }
  local pipe = io.popen(table.concat(words, " ") .. " 2>&1")
  local text = pipe:read "a"
  local _, _, status = pipe:close()
  local said = core.read_file(calls) or ""
  return core.json_decode(text:match "{.*}" or "null"), text, select(2, said:gsub("\n", "")), status
end

local function run(mode, ...) return run_with({}, mode, ...) end

-- How many of the sleeps of "leaves" there are; waits for it to become none. Nobody else sleeps for
-- so long.
local SLEEP = 100000 + core.getpid()
local function left_over()
  local count
  for _ = 1, 50 do
    local pipe <close> = io.popen(("pgrep -fc '^sleep %d$'"):format(SLEEP))
    count = tonumber(pipe:read "n")
    if count == 0 then return 0 end
    core.poll({}, {}, 0.1)
  end
  return count
end

local CONFINED = core.attend_binds()

function TestRuns:test_refine_improves_by_what_it_is_told()
  local how, words = { calls = "improves" }, "--setting refine --rounds 5 --session improves"
  local result, text, calls = run_with(how, "improves", words)
  lu.assertEquals(result.attempts, 2, text)
  lu.assertEquals({ calls, result.tokens, result.correct_rate }, { 3, 10, 1.0 })
  lu.assertEquals({ result.rounds[1].correct, result.rounds[2].correct }, { 0.0, 1.0 })
  lu.assertEquals({ result.against[1].base, result.against[1].geomean }, { "naive", 1.0 })
  local row = result.list[1]
  lu.assertEquals({ row.task, row.sample, row.rounds, row.verdict, row.speedup.naive, row.tokens },
    { "vector/saxpy", 1, 2, "passed", 1.0, 10 })
  local again, _, more = run_with(how, "improves", words)
  lu.assertEquals(more, 3) -- nobody was asked again
  lu.assertEquals({ again.rounds, again.list[1].record }, { result.rounds, row.record })
  how.table = true
  local _, said = run_with(how, "improves", words)
  lu.assertStrMatches(said, (".*vector/saxpy +1 +2 +passed +1%.00x +" .. row.record .. "\n.*"))
  lu.assertStrContains(said, "warp instructions, counted on the simulator, no time of a GPU")
  local from <close> = store.open(DB)
  local about = from:about("improves vector/saxpy #1")
  lu.assertEquals({ about.ended, about.rounds[1].verdict, about.rounds[2].verdict },
    { "stopped", "wrong_result", "passed" })
  lu.assertEquals({ from:record(row.record).verdict, from:about("improves").setting },
    { "passed", "refine" })
  for _, one in ipairs(from:sessions()) do lu.assertEquals(one.kind, "eval") end
end

function TestRuns:test_another_setting_or_agent_is_refused_and_more_rounds_go_on()
  local function go(mode, rounds)
    return run_with({ calls = "same" }, mode, "--setting refine --session same --rounds", rounds)
  end
  lu.assertEquals(go("right", 1).attempts, 1)
  for text, given in pairs {
    ["has --setting refine, not --setting oneshot"] = { "right", "--setting oneshot" },
    ["has --agent"] = { "improves", "--setting refine --rounds 1" },
    ["has no --seconds, not --seconds 9"] = { "right", "--setting refine --seconds 9" } } do
    local result, said, calls, status = run_with({ calls = "same" }, given[1], given[2],
      "--session same")
    lu.assertEquals({ result == core.null, calls, status }, { true, 1, 2 }, said)
    lu.assertStrContains(said, text)
  end
  local more, _, calls = go("right", 3)
  lu.assertEquals({ more.attempts, calls }, { 3, 3 }) -- two were asked for
  local _, said, _, status = go("right", 2)
  lu.assertEquals(status, 2)
  lu.assertStrContains(said, "has --rounds 3, not --rounds 2")
end

-- Starts an evaluation, and kills it when a file is there.
local function kill_when(file, mode, calls, ...)
  os.execute(("timeout -s KILL 20 sh -c 'while [ ! -e %s ]; do sleep 0.1; done; sleep 0.2;"
    .. " kill -KILL $(cat %s/pid)' & echo"):format(file, folder))
  os.execute(("sh -c 'echo $$ >%s/pid; exec \"$@\"' sh %s eval --device sim:check --db %s "
    .. "--writes %s/agents --tasks vector/saxpy --agent '%s' %s 2>/dev/null"):format(folder, BINARY,
    DB, folder, command(mode, calls), table.concat({ ... }, " ")))
end

function TestRuns:test_a_run_that_is_killed_goes_on_and_asks_nothing_twice()
  local words = { "--setting", "refine", "--rounds", "3", "--session", "slow" }
  local calls = folder .. "/agents/calls.slow"
  kill_when(calls .. ".killed", "slow", calls, table.unpack(words))
  local result, text, count = run_with({ calls = "slow" }, "slow", table.unpack(words))
  lu.assertEquals(result.attempts, 3, text)
  lu.assertEquals({ count, result.correct_rate }, { 4, 1.0 }) -- the second round was asked again
end

function TestRuns:test_nothing_that_an_agent_has_started_outlives_its_answer()
  local calls = folder .. "/agents/calls.leaves"
  local how = { given = { SLEEP } }
  local result, text = run_with(how, "leaves", "--session", "leaves")
  lu.assertEquals({ result.correct_rate, left_over() }, { 1.0, 0 }, text)
  local timed = run_with(how, "leaves", "--setting refine --rounds 2 --seconds 3 --session leaves2")
  lu.assertEquals({ timed.list[1].rounds, left_over() }, { 2, 0 })
  os.remove(calls)
  kill_when(calls, "leaves", calls .. " " .. SLEEP, "--session leaves3 --setting refine --rounds 2")
  lu.assertEquals(left_over(), 0) -- nor an evaluation that is killed
end

function TestRuns:test_what_an_agent_does_wrong_is_a_sample_that_failed()
  for mode, reason in pairs { dies = "ended with status 3", hangs = "no answer within 3 s",
    ["wrong language"] = "language", ["says nothing"] = "answered nothing",
    ["many tokens"] = "no number of tokens" } do
    local started = core.now()
    local result, text, count = run(mode, "--seconds", "3")
    lu.assertEquals(count, 1, mode) -- asked, and not another one's samples
    if mode == "hangs" then lu.assertTrue(core.now() - started >= 3) end
    lu.assertEquals({ result.samples, result.correct_rate, result.compile_rate }, { 1, 0.0, 0.0 },
      text)
    lu.assertStrContains(result.list[1].reason, reason)
    lu.assertEquals({ result.against[1].base, result.against[1].fast[1].share }, { "naive", 0.0 })
  end
end

-- What is said of an attempt is cut, and kept as JSON.
function TestRuns:test_a_text_is_cut_between_characters()
  local result, text = run("long line", "--setting refine --rounds 2")
  lu.assertEquals({ result.attempts, result.ended, result.list[1].verdict },
    { 2, nil, "compile_error" }, text)
  for shift = 0, 1 do
    local failed = require("perigee.samples").failed("refused",
      ("x"):rep(shift) .. ("\u{e9}"):rep(4000))
    lu.assertEquals({ #failed.text, utf8.len(failed.text) }, { 6000 - shift, 3000 })
  end
end

function TestRuns:test_what_is_said_names_nothing_that_an_agent_cannot_read()
  run("long log", "--setting refine --rounds 2", "--session", "log")
  local from <close> = store.open(DB, { readonly = true })
  local told
  for rec in from:records(from:find_session("log vector/saxpy #1")) do
    told = from:source(rec.sources[1].sha)
  end
  lu.assertStrContains(told, "lines more")
  lu.assertNotStrContains(told, "perigee://")
end

function TestRuns:test_what_the_machine_lacks_is_no_failure_of_the_agent()
  local result, text, _, status = run_with({ before = "PERIGEE_PYTHON=/nonexistent" }, "python",
    "--session", "python")
  lu.assertEquals({ result.samples, result.unscored, status }, { 0, 1, 3 }, text)
  lu.assertEquals(result.list[1].verdict, "environment")
  lu.assertStrContains(text, "--session 'python' goes on with it")
  local full = folder .. "/store/full"
  local into = store.open(full) -- takes sessions, but no more records
  into.db:exec("CREATE TRIGGER full BEFORE INSERT ON records "
    .. "BEGIN SELECT RAISE(FAIL, 'database or disk is full'); END")
  into:close()
  local how = { db = full, calls = "full" } -- the agent is the same
  result, text, _, status = run_with(how, "right", "--session full --samples 3")
  lu.assertEquals({ result.samples, result.correct_rate, status }, { 0, 0, 3 }, text)
  lu.assertStrContains(result.ended, "database or disk is full")
  into = store.open(full)
  into.db:exec "DROP TRIGGER full"
  into:close()
  result = run_with(how, "right", "--session full --samples 3")
  lu.assertEquals({ result.samples, result.correct_rate }, { 3, 1.0 })
end

function TestRuns:test_budgets_end_a_sample_or_are_refused()
  local result = run("improves", "--setting", "refine", "--tokens", "5", "--session", "tokens")
  lu.assertEquals({ result.attempts, result.tokens }, { 1, 10 })
  for given, reason in pairs { ["--rounds 3"] = "--rounds: oneshot has one answer",
    ["--tokens 3"] = "--tokens: in oneshot", ["--setting tools --tokens 3"] = "--tokens: in tools" }
  do
    local _, text, _, status = run("right", given)
    lu.assertEquals(status, 2)
    lu.assertStrContains(text, reason)
  end
end

function TestRuns:test_all_files_of_an_attempt_come_back()
  local result, text = run("two files", "--setting", "refine", "--rounds", "2")
  lu.assertEquals({ result.attempts, result.correct_rate, result.list[1].verdict },
    { 2, 1.0, "passed" }, text)
end

-- ---- tools ----

function TestRuns:test_an_agent_with_the_tools_is_scored_by_what_it_submits()
  local result, text = run("tools", "--setting", "tools", "--session", "tools")
  lu.assertEquals({ result.correct_rate, result.tokens, result.attempts }, { 1.0, 3, 3 }, text)
  lu.assertEquals(result.against[1].geomean, 1.0)
  local correct = {}
  for i, row in ipairs(result.rounds) do correct[i] = row.correct end
  lu.assertEquals(correct, { 0.0, 1.0, 1.0 }) -- a curve over its attempts
  local from <close> = store.open(DB)
  local final = from:record(result.list[1].record)
  lu.assertEquals({ final.submitted, final.verdict, final.tool }, { true, "passed", "submit" })
end

function TestRuns:test_attempts_with_the_tools_may_be_counted()
  local result, text = run("too often", "--setting", "tools", "--rounds", "2")
  lu.assertEquals({ result.correct_rate, result.attempts }, { 1.0, 3 }, text) -- and a submission
end

-- ---- what an agent may do with its score ----

function TestRuns:test_what_is_written_to_the_store_meanwhile_is_not_believed()
  local how = { before = "PERIGEE_SANDBOX=off", given = { DB } } -- nothing hinders it
  local result, text, calls = run_with(how, "next sample", "--samples 2 --session forged")
  lu.assertEquals({ result.correct_rate, calls }, { 0.0, 2 }, text)
  lu.assertEquals({ result.confined, text:find("not confined", 1, true) ~= nil }, { false, true })
end

function TestRuns:test_a_score_is_what_its_record_says()
  local how = { calls = "noted" }
  local result = run_with(how, "improves", "--session", "noted")
  lu.assertEquals(result.list[1].verdict, "wrong_result")
  local into = store.open(DB)
  local id = into:session "noted vector/saxpy #1"
  local about = into:about "noted vector/saxpy #1"
  about.rounds[1].verdict, about.rounds[1].speedup = "passed", { naive = 1000 }
  about.tokens = "many"
  into:note(id, about)
  into:close()
  local again, _, calls = run_with(how, "improves", "--session", "noted")
  lu.assertEquals({ again.list[1].verdict, again.tokens }, { "wrong_result", 0 })
  into = store.open(DB)
  about.rounds[1].attempt = nil -- judged by nobody
  into:note(id, about)
  into:close()
  local asked, _, more = run_with(how, "improves", "--session", "noted")
  lu.assertEquals({ asked.list[1].verdict, more }, { "wrong_result", calls + 1 })
end

function TestRuns:test_an_agent_reaches_neither_the_store_nor_the_judge()
  if not CONFINED then lu.skip "no Landlock here" end
  assert(core.write_file(folder .. "/outside", "x"))
  local how = { given = { DB, folder .. "/outside", core.getpid() } }
  local result, text = run_with(how, "reaches out")
  lu.assertEquals({ result.correct_rate, result.confined }, { 1.0, true }, text)
  lu.assertEquals(core.read_file(folder .. "/outside"), "x")
end

function TestRuns:test_two_at_one_session_are_refused()
  local samples = require "perigee.samples"
  do
    local _ <close> = samples.claim(DB, "taken")
    local _, text, calls, status = run_with({ calls = "taken" }, "right", "--session", "taken")
    lu.assertEquals({ calls, status }, { 0, 3 }, text)
    lu.assertStrContains(text, "another perigee eval works at session 'taken'")
  end
  lu.assertEquals(run_with({ calls = "taken" }, "right", "--session", "taken").correct_rate, 1.0)
  local claim = samples.claim(DB, "taken")
  if claim then
    do local _ <close> = claim end
    lu.assertNil((core.file_info(claim.path))) -- it leaves nothing
  end
end

function TestRuns:test_several_judges_at_a_time()
  local result, text = run("improves", "--jobs", "2", "--samples", "3", "--session", "jobs",
    "--setting", "refine", "--rounds", "2")
  lu.assertEquals({ result.samples, result.attempts, result.correct_rate }, { 3, 6, 1.0 }, text)
  lu.assertEquals({ result.pass_at[1].share, #result.pass_at }, { 1.0, 3 })
end

function TestRuns:test_bad_usage()
  local _, text = run("dies", "--tasks", "vectr/saxpy")
  lu.assertStrContains(text, "no task and no category 'vectr/saxpy'")
  local _, said, calls, status = run("dies", "--writes", folder .. "/none")
  lu.assertStrContains(said, "--writes: there is no '" .. folder .. "/none'")
  lu.assertEquals({ calls, status }, { 0, 2 })
end

local status = lu.LuaUnit.run()
files.remove(folder)
os.exit(status, true)
