-- perigee eval: scores against formulas by hand, agents of all settings, what an agent may do
-- wrongly, and that a run goes on where it was killed.
local lu = require "luaunit"
local core = require "perigee.core"
local agent = require "perigee.agent"
local files = require "perigee.files"
local scores = require "perigee.scores"
local store = require "perigee.store"

local BINARY = core.binary()
local folder = files.temporary()

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
  lu.assertEquals(#all.against, 2) -- nothing was compared with the third
  lu.assertAlmostEquals(all.against[1].geomean, 0.5, 1e-12)
  lu.assertAlmostEquals(all.against[1].fast[1].share, 1 / 3, 1e-12)
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
end

-- ---- whole runs ----

TestRuns = {}

-- An agent in Lua; it counts its calls in a file.
assert(core.write_file(folder .. "/agent.lua", [[
local core = require "perigee.core"
local mode, count = arg[1], arg[2]
local ask = assert(core.json_decode(io.read "a"))
local function source(name)
  return core.read_file("tests/candidates/saxpy/" .. name .. ".cu")
end
local log <close> = io.open(count, "a")
log:write(ask.round or 0, "\n")
log:flush()
if mode == "improves" then
  if ask.round == 1 then print(core.json_encode { source = source "last", tokens = 10 }) end
  if ask.round == 2 then
    assert(ask.verdict == "wrong_result" and ask.feedback:find("elements wrong", 1, true))
    assert(ask.source == source "last" and ask.prompt:find("void saxpy(", 1, true))
    print("```cuda\n" .. source "right" .. "```")
  end
  if ask.round == 3 then print(core.json_encode { stop = true }) end
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
elseif mode == "forges" then
  local store = require "perigee.store"
  local path
  for i, word in ipairs(ask.server) do if word == "--db" then path = ask.server[i + 1] end end
  local into = store.open(path)
  local text = source "last"
  into:add(into:session("agent", "serve"), { task = ask.task, verdict = "passed", kind = "check",
    lang = "cuda", submitted = true, rivals = { { name = "naive", speedup = 100 } },
    sources = { { name = "a.cu", sha = core.sha256(text) } } },
    { sources = { { name = "a.cu", sha = core.sha256(text), text = text } } })
  into:close()
  print(core.json_encode { stop = true })
elseif mode == "tools" then
  assert(ask.setting == "tools" and ask.prompt:find("submit", 1, true))
  local server = core.start(table.unpack(ask.server, 2))
  local peer = require("perigee.serve.peer").new(server)
  local function call(method, params)
    peer:send { jsonrpc = "2.0", id = 1, method = method, params = params }
    while true do
      core.poll({ server }, { peer.waiting > 0 and "rw" or "r" }, -1)
      peer:flush()
      local lines = peer:receive()
      if lines[1] then return core.json_decode(lines[1]).result end
    end
  end
  call("initialize", { protocolVersion = "2025-11-25" })
  local answer
  for _, name in ipairs { "last", "right" } do
    answer = call("tools/call", { name = "check",
      arguments = { task = ask.task, source = source(name) } }).structuredContent
  end
  call("tools/call", { name = "submit",
    arguments = { task = ask.task, attempt = answer.attempt } })
  print(core.json_encode { stop = true, tokens = 3 })
end
]]))

local number = 0
local function run(mode, ...)
  number = number + 1
  local calls = ("%s/calls.%s"):format(folder, mode:gsub(" ", "_"))
  local words = { BINARY, "eval", "--device", "sim:check", "--json", "--db", folder .. "/db",
    "--tasks", "vector/saxpy", "--agent",
    ("'%s %s/agent.lua \"%s\" %s'"):format(BINARY, folder, mode, calls), ... }
  local pipe <close> = io.popen(table.concat(words, " ") .. " 2>&1")
  local text = pipe:read "a"
  local said = core.read_file(calls) or ""
  return core.json_decode(text:match "{.*}" or "null"), text, select(2, said:gsub("\n", ""))
end

function TestRuns:test_refine_improves_by_what_it_is_told()
  os.remove(folder .. "/calls.improves")
  local result, text, calls = run("improves", "--setting", "refine", "--rounds", "5", "--session",
    "improves")
  lu.assertEquals(result.attempts, 2, text)
  lu.assertEquals({ calls, result.tokens, result.correct_rate }, { 3, 10, 1.0 })
  lu.assertEquals({ result.rounds[1].correct, result.rounds[2].correct }, { 0.0, 1.0 })
  lu.assertEquals({ result.against[1].base, result.against[1].geomean }, { "naive", 1.0 })
  local again, _, more = run("improves", "--setting", "refine", "--rounds", "5", "--session",
    "improves")
  lu.assertEquals(more, 3) -- nobody was asked again
  lu.assertEquals(again.rounds, result.rounds)
  local from <close> = store.open(folder .. "/db")
  local about = from:about("improves vector/saxpy #1")
  lu.assertEquals({ about.ended, about.rounds[1].verdict, about.rounds[2].verdict },
    { "stopped", "wrong_result", "passed" })
end

function TestRuns:test_a_run_that_is_killed_goes_on_and_asks_nothing_twice()
  local words = { "--setting", "refine", "--rounds", "3", "--session", "slow" }
  local calls = folder .. "/calls.slow"
  os.execute(("timeout -s KILL 20 sh -c 'while [ ! -e %s.killed ]; do sleep 0.1; done; sleep 0.2;"
    .. " kill -KILL $(cat %s/pid)' & echo"):format(calls, folder))
  os.execute(("sh -c 'echo $$ >%s/pid; exec %s eval --device sim:check --db %s/db --tasks "
    .. "vector/saxpy --agent \"%s %s/agent.lua slow %s\" %s' 2>/dev/null"):format(folder, BINARY,
    folder, BINARY, folder, calls, table.concat(words, " ")))
  local result, text, count = run("slow", table.unpack(words))
  lu.assertEquals(result.attempts, 3, text)
  lu.assertEquals({ count, result.correct_rate }, { 4, 1.0 }) -- the second round was asked again
end

function TestRuns:test_what_an_agent_does_wrong_is_a_sample_that_failed()
  for _, mode in ipairs { "dies", "hangs", "wrong language", "says nothing", "many tokens" } do
    local started = core.now()
    local result, text, count = run(mode, "--seconds", "3")
    lu.assertEquals(count, 1, mode) -- asked, and not another one's samples
    if mode == "hangs" then lu.assertTrue(core.now() - started >= 3) end
    lu.assertEquals({ result.samples, result.correct_rate, result.compile_rate }, { 1, 0.0, 0.0 },
      text)
  end
end

function TestRuns:test_budgets_end_a_sample()
  local result = run("improves", "--setting", "refine", "--tokens", "5", "--session", "tokens")
  lu.assertEquals({ result.attempts, result.tokens }, { 1, 10 })
end

function TestRuns:test_an_agent_with_the_tools_is_scored_by_what_it_submits()
  local result, text = run("tools", "--setting", "tools", "--session", "tools")
  lu.assertEquals({ result.correct_rate, result.tokens }, { 1.0, 3 }, text)
  lu.assertEquals(result.against[1].geomean, 1.0)
  local from <close> = store.open(folder .. "/db")
  local about = from:about("tools vector/saxpy #1")
  lu.assertEquals({ about.attempts, about.rounds[1].verdict }, { 3, "passed" })
  lu.assertEquals(from:record(about.rounds[1].attempt).impl, "tools-1-1") -- judged anew
end

function TestRuns:test_what_an_agent_says_of_itself_is_not_believed()
  local result, text = run("forges", "--setting", "tools", "--session", "forges")
  lu.assertEquals({ result.samples, result.correct_rate, #result.against }, { 1, 0.0, 0 }, text)
end

function TestRuns:test_several_judges_at_a_time()
  local result, text = run("improves", "--jobs", "2", "--samples", "3", "--session", "jobs",
    "--setting", "refine", "--rounds", "2")
  lu.assertEquals({ result.samples, result.attempts, result.correct_rate }, { 3, 6, 1.0 }, text)
  lu.assertEquals({ result.pass_at[1].share, #result.pass_at }, { 1.0, 3 })
end

-- ---- the agents of the examples ----

TestAgents = {}

local function example(setting, name, tasks, ...)
  local words = { BINARY, "eval --device sim:check --json --jobs 2 --db", folder .. "/agents.db",
    "--tasks", tasks, "--setting", setting, "--session", setting .. name:match "%w+", "--agent",
    ("'%s examples/agents/%s'"):format(BINARY, name), ... }
  local pipe <close> = io.popen(table.concat(words, " ") .. " 2>&1")
  local text = pipe:read "a"
  return core.json_decode(text:match "{.*}" or "null"), text
end

local SIX = "vector/saxpy,vector/relu_f32,reduce/sum,reduce/max,reduce/dot,norm/softmax"

function TestAgents:test_a_folder_is_replayed_in_all_settings_over_six_tasks()
  local replay = "replay.lua tests/serve/candidates"
  local first, text = example("oneshot", replay, SIX)
  lu.assertEquals({ first.samples, first.tasks, first.attempts }, { 6, 6, 6 }, text)
  lu.assertAlmostEquals(first.correct_rate, 2 / 6, 1e-12) -- relu and dot are right at once
  local all = example("refine", replay, SIX, "--rounds 3", "--against float4")
  lu.assertEquals({ all.against[1].base, all.against[1].samples, all.against[2].base },
    { "float4", 1, "naive" }) -- saxpy alone has that one
  lu.assertEquals({ all.attempts, all.correct_rate, all.compile_rate }, { 11, 1.0, 1.0 })
  lu.assertAlmostEquals(all.rounds[1].correct, 2 / 6, 1e-12)
  local tools = example("tools", replay, SIX)
  lu.assertEquals({ tools.samples, tools.correct_rate }, { 6, 1.0 })
  lu.assertAlmostEquals(tools.against[1].geomean, all.against[2].geomean, 1e-9) -- counts are exact
end

function TestAgents:test_an_agent_that_searches_knobs_finds_better_ones()
  local result, text = example("refine", "knobs.lua", "reduce/sum", "--rounds 6")
  lu.assertEquals(result.correct_rate, 1.0, text)
  lu.assertTrue(result.rounds[6].against[1].geomean > 1.05 * result.rounds[1].against[1].geomean)
end

function TestRuns:test_bad_usage()
  local _, text = run("dies", "--tasks", "vectr/saxpy")
  lu.assertStrContains(text, "no task and no category 'vectr/saxpy'")
end

local status = lu.LuaUnit.run()
files.remove(folder)
os.exit(status, true)
