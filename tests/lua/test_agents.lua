-- The agents of the examples, each in the settings that it knows, over six tasks.
local lu = require "luaunit"
local core = require "perigee.core"
local files = require "perigee.files"

local BINARY = core.binary()
local folder = files.temporary()

TestAgents = {}

local function example(setting, name, tasks, ...)
  local words = { BINARY, "eval --device sim:check --json --jobs 2 --db", folder .. "/db",
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

function TestAgents:test_knobs_are_searched_in_all_settings_over_six_tasks()
  local tasks = "reduce/sum,reduce/max,reduce/dot,vector/saxpy,vector/relu_f32,"
    .. "vector/leaky_relu_f32"
  local first, text = example("oneshot", "knobs.lua", tasks)
  lu.assertEquals({ first.tasks, first.attempts, first.correct_rate }, { 6, 6, 1.0 }, text)
  local refined = example("refine", "knobs.lua", tasks, "--rounds 3")
  lu.assertEquals({ refined.attempts, refined.correct_rate }, { 18, 1.0 })
  lu.assertEquals(refined.rounds[1].against, first.against) -- counts are exact
  lu.assertTrue(refined.against[1].geomean > 1.2 * first.against[1].geomean)
  local tools = example("tools", "knobs.lua", tasks, "--rounds 3")
  lu.assertEquals({ tools.attempts, tools.correct_rate }, { 24, 1.0 }) -- and what was submitted
  lu.assertEquals(tools.rounds[3].against, refined.rounds[3].against)
  lu.assertEquals(tools.against, refined.against)
end

-- Right and fast, then as slow as naive, then fast again: the second fell back.
function TestAgents:test_attempts_that_fell_back_are_counted()
  local fast = core.read_file "tests/serve/candidates/reduce/sum/2.cu"
  local slow = [[extern "C" __global__ void reduce_sum(const float* x, float* y, int n) {
    float sum = 0;
    for (int i = 0; threadIdx.x == 0 && i < n; i++) sum += x[i];
    if (threadIdx.x == 0) y[0] = sum;
  }]]
  for i, text in ipairs { fast, slow, fast } do
    local place = folder .. "/drift/reduce/sum"
    assert(core.mkdir_all(place) and core.write_file(("%s/%d.cu"):format(place, i), text))
  end
  local result, text = example("refine", ("replay.lua %s/drift"):format(folder), "reduce/sum",
    "--rounds 3 --session drift")
  lu.assertEquals({ result.attempts, result.correct_rate, result.fallbacks }, { 3, 1.0, 1 }, text)
  lu.assertEquals({ result.list[1].fallbacks, result.list[1].verdict }, { 1, "passed" })
end

local status = lu.LuaUnit.run()
files.remove(folder)
os.exit(status, true)
