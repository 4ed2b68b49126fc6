-- Tuning on sim:profile, where the objective is exact: each configuration once, failures are
-- records, a kill loses nothing, pipelines of one's own. The task is in tests/tune.
local lu = require "luaunit"
local core = require "perigee.core"
local store = require "perigee.store"

local BINARY = core.realpath((os.getenv("BUILD") or "build") .. "/perigee")
local TASK = core.realpath("tests/tune/scale.lua")

local function shell(command)
  local pipe <close> = io.popen(("bash -c '%s' 2>&1"):format(command:gsub("'", "'\\''")))
  local text = pipe:read("a")
  local _, _, status = pipe:close()
  return text, status
end

local folder = shell("mktemp -d"):match("%S+")
local count = 0

-- A store of its own for each test.
local function fresh_store()
  count = count + 1
  return ("%s/%d.db"):format(folder, count)
end

local function tune(arguments, db)
  if not core.compiler_info() then lu.skip("no NVRTC on this machine") end
  local text, status = shell(("'%s' tune %s --device sim:profile --db %s"):format(BINARY, arguments,
    db))
  return text, status
end

-- The records that --json printed.
local function records(text)
  local list = {}
  for line in text:gmatch("[^\n]+") do
    if line:sub(1, 1) == "{" then list[#list + 1] = core.json_decode(line) end
  end
  return list
end

local function key(rec) return rec.knobs.BLOCK * 100 + rec.knobs.UNROLL end

TestTune = {}

function TestTune:test_grid_tries_each_configuration_once_and_failures_are_records()
  local db = fresh_store()
  local text, status = tune(("grid %s --json"):format(TASK), db)
  local list, seen, verdicts = records(text), {}, {}
  lu.assertEquals(status, 0)
  lu.assertEquals(#list, 15)
  for i, rec in ipairs(list) do
    lu.assertNil(seen[key(rec)])
    lu.assertTrue(rec.knobs.BLOCK * rec.knobs.UNROLL <= 2048)
    lu.assertEquals(rec.tune.number, i)
    seen[key(rec)] = rec
    verdicts[rec.verdict] = (verdicts[rec.verdict] or 0) + 1
  end
  lu.assertEquals(verdicts, { passed = 12, compile_error = 1, wrong_result = 1, launch_error = 1 })
  lu.assertStrContains(seen[9602].compile_log, "no blocks of 96")
  lu.assertNil(seen[9604].tune.value)
  lu.assertEquals(seen[25608].tune.value, seen[25608].counters.warp_instructions)
  local s <close> = store.open(db, { readonly = true })
  lu.assertEquals({ s:sessions()[1].records, s:sessions()[1].passed }, { 15, 12 })
end

function TestTune:test_the_table_names_the_best_and_how_to_run_it()
  local text = tune("grid " .. TASK, fresh_store())
  lu.assertStrContains(text, "15 configurations of BLOCK, UNROLL (16 without the constraints)")
  lu.assertStrContains(text, "15 evaluations: 12 passed, 1 compile_error, 1 launch_error, "
    .. "1 wrong_result")
  lu.assertStrMatches(text, ".*\n *2,432 +1 %(default%) +BLOCK=256 UNROLL=1\n.*")
  local command = text:match("\n  (perigee run [^\n]*)\n$")
  lu.assertStrMatches(command, "perigee run .* %-%-impl naive %-%-knob BLOCK=%d+ %-%-knob UNROLL=8")
  local again = shell(command:gsub("^perigee", BINARY) .. " --device sim:profile --json")
  local first = text:match("against the default +configuration\n *([%d,]+) ")
  lu.assertEquals(records(again)[1].counters.warp_instructions, tonumber((first:gsub(",", ""))))
end

function TestTune:test_the_same_command_again_evaluates_nothing()
  local db = fresh_store()
  tune("random " .. TASK .. " --budget 6", db)
  local text = tune("random " .. TASK .. " --budget 6 --json", db)
  lu.assertEquals(#records(text), 0)
  text = tune("random " .. TASK .. " --budget 9 --json", db)
  lu.assertEquals(#records(text), 3) -- a larger budget goes on
  text = tune("random " .. TASK .. " --budget 6 --json --fresh", db)
  lu.assertEquals(#records(text), 6)
end

-- kill -9 as soon as some records are out, then the same command again.
function TestTune:test_a_kill_half_way_loses_nothing_and_repeats_nothing()
  if not core.compiler_info() then lu.skip("no NVRTC on this machine") end
  for _, pipeline in ipairs { "grid", "guided", "anneal", "random" } do
    local db = fresh_store()
    local command = ("'%s' tune %s %s --budget 15 --json --set n=20000"):format(BINARY, pipeline,
      TASK) .. " --device sim:profile --db " .. db
    local before = records((shell(([[%s > %s.out & for i in {1..3000}; do
      (($(wc -l < %s.out) >= 5)) && break; sleep 0.01; done; kill -9 $!; wait 2>/dev/null
      cat %s.out]]):format(command, db, db, db))))
    local after, seen, total = records((shell(command))), {}, 0
    lu.assertTrue(#before >= 5 and #before < 15, #before)
    for _, list in ipairs { before, after } do
      for _, rec in ipairs(list) do
        lu.assertNil(seen[key(rec)], pipeline)
        seen[key(rec)] = true
        total = total + 1
      end
    end
    local s <close> = store.open(db, { readonly = true })
    local session = s:sessions()[1]
    lu.assertEquals(#s:sessions(), 1)
    lu.assertEquals(session.records, 15)
    lu.assertTrue(total == 15 or total == 14, total) -- stored, but killed before it was printed
  end
end

function TestTune:test_ctrl_c_ends_cleanly_with_what_is_known()
  if not core.compiler_info() then lu.skip("no NVRTC on this machine") end
  local text = shell(([['%s' tune grid %s --set n=40000 --device sim:profile --db %s > %s/int.out &
    for i in {1..3000}; do grep -q "^     1" %s/int.out && break; sleep 0.01; done
    kill -INT $!; wait $!; echo "status $?"; cat %s/int.out]]):format(BINARY, TASK, fresh_store(),
    folder, folder, folder))
  lu.assertStrContains(text, "(interrupted)")
  lu.assertStrContains(text, "1 (default)")
  lu.assertStrContains(text, "status 0\n")
end

function TestTune:test_another_source_is_another_evaluation()
  local db, copy = fresh_store(), folder .. "/copy"
  shell(("mkdir -p %s && cp tests/tune/scale.* %s"):format(copy, copy))
  local command = ("random %s/scale.lua --budget 3 --json --session mine"):format(copy)
  lu.assertEquals(#records((tune(command, db))), 3)
  lu.assertEquals(#records((tune(command, db))), 0)
  shell(("echo '// changed' >> %s/scale.cu"):format(copy))
  lu.assertEquals(#records((tune(command, db))), 3)
end

function TestTune:test_a_pipeline_of_ones_own()
  local path = folder .. "/mine.lua"
  core.write_file(path, [[
local seen = {}
return {
  propose = function(history)
    local round = #history
    if round >= 3 then return {} end
    assert(#seen == round, "observe is called for every record")
    assert(round == 0 or history.best.value)
    return { { BLOCK = 64, UNROLL = ({ 1, 2, 4 })[round + 1] } }
  end,
  observe = function(record) seen[#seen + 1] = record.knobs.UNROLL end,
}]])
  local db = fresh_store()
  local list = records((tune(("%s %s --json"):format(path, TASK), db)))
  lu.assertEquals(#list, 3)
  for i, rec in ipairs(list) do lu.assertEquals(key(rec), ({ 6401, 6402, 6404 })[i]) end
  lu.assertEquals(#records((tune(("%s %s --json"):format(path, TASK), db))), 0)
end

function TestTune:test_the_pipeline_of_the_readme()
  local text = core.read_file("lua/README.md")
  core.write_file(folder .. "/readme.lua", text:match("```lua\n(%-%- the neighbours.-)```"))
  local said, status = tune(("%s/readme.lua %s"):format(folder, TASK), fresh_store())
  lu.assertEquals(status, 0)
  lu.assertStrMatches(said, ".*\n +992 +2.452x +BLOCK=256 UNROLL=8\n.*")
end

function TestTune:test_a_pipeline_may_bring_sources()
  local path = folder .. "/sources.lua"
  shell(("sed 's/a \\* x\\[i + k\\]/x[i + k] * a/' tests/tune/scale.cu > %s/other.cu"):format(
    folder))
  core.write_file(path, [[return { propose = function(history)
    if #history > 0 then return nil end
    return { { file = "other.cu", note = "swapped" }, { knobs = { BLOCK = 64 } } }
  end }]])
  local db = fresh_store()
  local list = records((tune(("%s %s --json"):format(path, TASK), db)))
  lu.assertEquals(#list, 2)
  lu.assertEquals({ list[1].verdict, list[1].tune.note, list[1].impl },
    { "passed", "swapped", "other.cu" })
  lu.assertEquals(list[2].knobs, { BLOCK = 64, UNROLL = 1 })
  lu.assertEquals(#records((tune(("%s %s --json"):format(path, TASK), db))), 0)
end

local function refused(arguments, ...)
  local text, status = tune(arguments, fresh_store())
  for _, part in ipairs { ... } do lu.assertStrContains(text, part) end
  lu.assertEquals(status, 2, text)
end

function TestTune:test_bad_pipelines_are_refused_with_their_place()
  local function with(text, ...)
    core.write_file(folder .. "/bad.lua", text)
    refused(("%s/bad.lua %s"):format(folder, TASK), ...)
  end
  with("return 5", "a pipeline returns a table with a function propose", "bad.lua")
  with("return {", "bad.lua:1", "Lua could not read this file")
  with("return { propose = function() return 5 end }", "expected a list of candidates, got number")
  with("return { propose = function() return { 5 } end }", "candidate #1 is a number")
  with("return { propose = function() return { { knobs = {}, x = 1 } } end }", "unknown field 'x'")
  with("return { propose = function() return { { BLOK = 64 } } end }", "unknown knob 'BLOK'",
    "did you mean 'BLOCK'?")
  with("return { propose = function() return { { BLOCK = 65 } } end }", "no value 65")
  with("return { propose = function() error 'mine' end }", "propose: mine", "bad.lua:1")
  with("return { propose = function() return {} end, observe = 5 }", "observe: expected a function")
  with("return { propose = function() return { { file = 'none.cu' } } end }", "no file 'none.cu'")
end

function TestTune:test_a_pipeline_that_repeats_itself_ends()
  core.write_file(folder .. "/same.lua",
    "return { propose = function() return { { BLOCK = 64 }, { BLOCK = 512, UNROLL = 8 } } end }")
  local text, status = tune(("%s/same.lua %s"):format(folder, TASK), fresh_store())
  lu.assertStrContains(text, "1 evaluation: 1 passed (the pipeline has nothing more to propose)")
  lu.assertStrContains(text, "broke a constraint")
  lu.assertEquals(status, 0)
end

function TestTune:test_bad_usage_says_what_would_be_right()
  refused("gird " .. TASK, "unknown pipeline 'gird'", "did you mean 'grid'?")
  refused("grid " .. TASK .. " --impl nave", "no implementation 'nave'", "did you mean 'naive'?")
  refused("grid vector/saxpy", "no implementation of vector/saxpy has knobs")
  refused("grid " .. TASK .. " --objective warp_instr", "no counter 'warp_instr'",
    "did you mean 'warp_instructions'?")
  refused("grid " .. TASK .. " --objective time", "says nothing about a GPU")
  refused("grid " .. TASK .. " --budget 0", "expected a positive integer, got '0'")
end

function TestTune:test_an_objective_of_choice()
  local list = records((tune("grid " .. TASK .. " --json --objective global_load_sectors",
    fresh_store())))
  for _, rec in ipairs(list) do
    if rec.verdict == "passed" then
      lu.assertEquals(rec.tune.value, rec.counters.global_load_sectors)
    end
  end
end

function TestTune:test_a_store_that_cannot_be_written_is_said_before_anything_runs()
  local text, status = tune("grid " .. TASK, folder)
  lu.assertStrContains(text, "results store")
  lu.assertEquals(status, 3)
end

function TestTune:test_two_processes_share_a_session()
  if not core.compiler_info() then lu.skip("no NVRTC on this machine") end
  local db = fresh_store()
  local command = ("'%s' tune %%s %s --session both --set n=20000"):format(BINARY, TASK)
    .. " --json --device sim:profile --db " .. db
  local text = shell(command:format("grid") .. " & " .. command:format("random") .. "; wait")
  local times_of, list = {}, records(text)
  for _, rec in ipairs(list) do times_of[key(rec)] = (times_of[key(rec)] or 0) + 1 end
  local s <close> = store.open(db, { readonly = true })
  lu.assertEquals({ s:sessions()[1].records, s:sessions()[1].passed }, { 15, 12 })
  for _, times in pairs(times_of) do lu.assertTrue(times <= 2) end
  lu.assertTrue(#list < 25, #list) -- what one has done the other takes from the store
end

-- A limit of the size of files is what a full disk is to SQLite.
function TestTune:test_a_full_disk_ends_with_what_is_known_and_the_search_goes_on_later()
  if not core.compiler_info() then lu.skip("no NVRTC on this machine") end
  local db = fresh_store()
  local command = ("'%s' tune grid %s --device sim:profile --db %s"):format(BINARY, TASK, db)
  local text, status = shell(("trap '' XFSZ; ulimit -f 90; %s"):format(command))
  lu.assertEquals(status, 3, text)
  lu.assertStrContains(text, "results store: SQLite")
  lu.assertStrContains(text, "(stopped by an error)")
  lu.assertStrContains(text, "1 (default)")
  local known = tonumber(text:match("(%d+) evaluations?: "))
  lu.assertTrue(known >= 1 and known < 15)
  lu.assertEquals(#records((shell(command .. " --json"))), 15 - known)
end

function TestTune:test_a_folder_with_a_plan_is_tuned()
  local place = folder .. "/candidate"
  shell(("mkdir -p %s && cp tests/tune/scale.cu %s"):format(place, place))
  core.write_file(place .. "/plan.lua", [[return {
    launch = { grid = "ceil_div(n, BLOCK * UNROLL)", block = "BLOCK" },
    knobs = { BLOCK = { 256, 64 }, UNROLL = { 1, 4 } } }]])
  local text = tune(("grid %s --candidate %s"):format(TASK, place), fresh_store())
  lu.assertStrContains(text, "4 evaluations: 4 passed")
  local command = text:match("\n  (perigee check [^\n]*)\n$")
  lu.assertStrContains(command, place .. " --knob BLOCK=")
  lu.assertEquals(select(2, shell(command:gsub("^perigee", BINARY) .. " --device sim")), 0)
end

local status = lu.LuaUnit.run()
shell("rm -rf " .. folder)
os.exit(status)
