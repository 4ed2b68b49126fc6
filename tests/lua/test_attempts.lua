-- Attempts through the tools of perigee serve: at which parameters one is right, what it is called,
-- the best so far that cannot be run again, what others may see of it, and how much is said.
package.path = "tests/lua/?.lua;" .. package.path
local lu = require "luaunit"
local core = require "perigee.core"
local files = require "perigee.files"
local serve_client = require "serve_client"
local store = require "perigee.store"

local folder = files.temporary()

local function serve(...) return serve_client.serve(folder, ...) end

local RIGHT = files.read "tests/candidates/saxpy/right.cu"
local FIRST_ONLY = [[
extern "C" __global__ void saxpy(const float* x, const float* y, float* z, float a, int n) {
  if (blockIdx.x == 0 && threadIdx.x == 0 && n > 0) z[0] = a * x[0] + y[0];
}
]]

-- ---- parameters ----

TestParameters = {}

function TestParameters:test_what_is_right_at_one_size_alone_says_so_and_is_not_final()
  local client <close> = serve():open()
  local one, said = client:tool("check", { task = "vector/saxpy", source = FIRST_ONLY,
    set = { n = 1 }, name = "first" })
  lu.assertEquals({ one.verdict, one.set }, { "passed", { n = 1 } })
  lu.assertStrContains(said, "at n = 1 only")
  said = client:refused("submit", { task = "vector/saxpy", source = FIRST_ONLY, set = { n = 1 } })
  lu.assertStrContains(said, "unknown name 'set'")
  lu.assertStrContains(said, "the task's own sizes")
  local final = client:tool("submit", { task = "vector/saxpy", attempt = one.attempt })
  lu.assertEquals(final.verdict, "unwritten_output")
  local past, words = client:tool("history", {})
  lu.assertEquals({ past.attempts[1].set, past.attempts[2].set }, { { n = 1 }, nil })
  lu.assertStrContains(words, "first  passed  at n = 1 only")
  local _, whole = client:tool("check", { task = "vector/saxpy", source = RIGHT })
  lu.assertNil(whole:find("only", 1, true))
end

function TestParameters:test_integers_may_come_as_floats_but_not_as_huge_ones()
  local client <close> = serve():open()
  client:tool("check", { task = "vector/saxpy", source = RIGHT, set = { n = 64.0 } })
  client:send('{"jsonrpc":"2.0","id":"f","method":"tools/call","params":{"name":"diff",'
    .. '"arguments":{"a":1.0,"b":1e0}}}\n')
  lu.assertEquals(client:next().result.structuredContent.source, "")
  for name, given in pairs { check = '"task":"vector/saxpy","attempt":1e300',
    diff = '"a":1,"b":1e300', submit = '"task":"vector/saxpy","attempt":9007199254740993' } do
    client:send(('{"jsonrpc":"2.0","id":"f","method":"tools/call","params":{"name":"%s",'
      .. '"arguments":{%s}}}\n'):format(name, given))
    local result = client:next().result
    lu.assertTrue(result.isError)
    lu.assertStrContains(result.content[1].text, "lies outside 1 .. 9007199254740992")
  end
end

-- Every refusal says what would do.
function TestParameters:test_refusals_have_hints()
  local client <close> = serve():open()
  local task = "vector/saxpy"
  for _, case in ipairs {
    { { task = task, source = RIGHT, name = "-a" }, "arguments.name: '-a' is not a name of letters",
      "for example 'tiled-2'" },
    { { task = task, source = 5 }, "arguments.source: expected string, got integer",
      "the kernel's whole source" },
    { { task = task, source = "" }, "arguments.source: must not be empty", "whole source" },
    { { task = task, source = RIGHT, language = "c" }, "expected one of cuda, rust, triton, ptx",
      "what source is written in" },
    { { task = task, attempt = 0 }, "arguments.attempt: 0 lies outside", "earlier attempt" },
    { { task = task, source = RIGHT, name = "naive" }, "'naive' is an implementation",
      "call the candidate something else" },
    { { task = task, files = { ["a/../../x.cu"] = "x" } }, "is no name of a file", "'..'" },
  } do
    local said = client:refused("check", case[1])
    lu.assertStrContains(said, case[2])
    lu.assertStrContains(said:match "\n(.*)", case[3])
  end
end

-- ---- the best so far ----

TestBest = {}

-- A record of a kernel that nobody can run again, as a file might tell it.
local function import_forged(db, like, instructions)
  local s <close> = store.open(db)
  local rec = s:record(like)
  rec.sources, rec.source_texts, rec.source_sha = nil, nil, nil
  rec.impl, rec.counters.warp_instructions = "forged", instructions
  local path = folder .. "/forged.jsonl"
  core.write_file(path, core.json_encode(rec))
  lu.assertEquals({ s:import(path, "told") }, { 1, 0 })
end

function TestBest:test_one_that_cannot_be_run_is_said_and_the_next_is_run()
  local client <close> = serve():open()
  local fast = client:tool("time", { task = "vector/saxpy", source = RIGHT, name = "fast" })
  import_forged(client.db, fast.attempt, 1)
  local slow, said = client:tool("time", { task = "vector/saxpy", name = "slow", source =
    RIGHT:gsub("n%) *z%[i%] = ([^;]*);", "n) { volatile float t = %1; z[i] = t; }") })
  lu.assertEquals(slow.verdict, "passed")
  local by_name = {}
  for _, row in ipairs(slow.rivals) do by_name[row.name] = row end
  lu.assertEquals(by_name["best (forged)"].verdict, "environment")
  lu.assertStrContains(by_name["best (forged)"].reason, "cannot be run again")
  lu.assertStrContains(said, "beside best (forged): attempt ")
  lu.assertTrue(by_name["best (fast)"].speedup < 1)
  lu.assertStrContains(said, "as costly as best (fast)")
  local board, words = client:tool("leaderboard", { task = "vector/saxpy" })
  local row = board.boards[1].rows[1]
  lu.assertEquals({ row.name, row.imported }, { "forged", true })
  lu.assertStrContains(words, "1. forged (imported)")
  lu.assertStrContains(words, "fast (time)")
end

function TestBest:test_costs_are_told_in_words_that_fit()
  local client <close> = serve():open()
  local naive = client:tool("describe_task", { task = "vector/saxpy",
    reference = "naive" }).reference.source
  local _, said = client:tool("time", { task = "vector/saxpy", source = naive, name = "same" })
  lu.assertStrContains(said, "as cheap as naive (")
  local rows = client:tool("leaderboard", { task = "vector/saxpy" }).boards[1].rows
  lu.assertEquals({ rows[1].rank, rows[2].rank }, { 1, 1 })
end

function TestBest:test_names_that_are_none_have_no_empty_tables()
  local client <close> = serve():open()
  lu.assertStrContains(client:refused("history", { task = "vector/saxpi" }), "'vector/saxpy'?")
  lu.assertEquals(client:tool("history", { task = "vector/saxpy" }).total, 0)
  lu.assertStrContains(client:refused("leaderboard", { task = "vector/saxpy", set = { m = 5 } }),
    "parameters: a, n")
  client:tool("time", { task = "vector/saxpy", source = RIGHT, set = { n = 64.0 } })
  lu.assertEquals(#client:tool("leaderboard", { task = "vector/saxpy",
    set = { n = 64.0 } }).boards, 1)
end

-- ---- how much is said ----

TestDetail = {}

function TestDetail:test_a_record_is_in_one_part_of_the_answer_and_its_texts_are_cut()
  local long = "extern \"C\" __global__ void saxpy() { int " .. ("x"):rep(100000) .. " = nothing; }"
  for version, structured in pairs { ["2025-11-25"] = true, ["2024-11-05"] = false } do
    local client <close> = serve()
    client:ask("initialize", { protocolVersion = version })
    local answer, said = client:tool("check", { task = "vector/saxpy", source = long,
      detail = true })
    lu.assertEquals(answer.verdict, "compile_error")
    lu.assertEquals(answer.detail ~= nil, structured)
    lu.assertEquals(said:find('"compile_log":', 1, true) ~= nil, not structured)
    lu.assertTrue(#said + #core.json_encode(answer) < 60000)
  end
end

function TestDetail:test_a_long_log_is_cut_and_says_where_all_of_it_is()
  local client <close> = serve():open()
  local text = { 'extern "C" __global__ void saxpy() {' }
  for i = 1, 90 do text[i + 1] = ("  int a%d = b%d;"):format(i, i) end
  local answer, said = client:tool("check", { task = "vector/saxpy",
    source = table.concat(text, "\n") .. "\n}" })
  lu.assertStrContains(said, "lines more (perigee://attempts/1 has them all)")
  lu.assertStrContains(answer.log, "bytes more")
  local whole = client:ask("resources/read", { uri = "perigee://attempts/1" }).contents[1].text
  lu.assertStrContains(whole, '\\"b90\\" is undefined')
end

function TestDetail:test_what_a_simulator_cannot_know_is_said()
  local client <close> = serve():open()
  local answer, said = client:tool("compile", { task = "vector/saxpy", source = [[
    extern "C" __global__ void saxpy(const float* x, const float* y, float* z, float a, int n) {
      float big[4000];
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      for (int k = 0; k < 4000; k++) big[k] = x[(i + k) % n];
      if (i < n) z[i] = a * x[i] + y[i] + 0 * big[(i * 77) % 4000];
    }]] })
  lu.assertEquals(answer.kernels[1].local_bytes, 16000)
  lu.assertStrContains(said, "16.0 kB local memory a thread")
  lu.assertNil(said:find("spill", 1, true)) -- it is an array
  lu.assertStrContains(said, "registers are known on a GPU only")
end

-- ---- whose it is ----

TestOwners = {}

function TestOwners:test_reasons_of_other_sessions_quote_nothing()
  local db = folder .. "/owners.db"
  local one <close> = serve("--db", db, "--session", "one"):open()
  one:tool("check", { task = "vector/saxpy",
    source = "__device__ int f() { return secret_value; }" })
  local mine = one:tool("history", { all = true }).attempts[1]
  lu.assertStrContains(mine.reason, "secret_")
  for share, shown in pairs { ["--share"] = true, ["--timeout=20"] = false } do
    local two <close> = serve("--db", db, "--session", "two", share):open()
    local past, words = two:tool("history", { all = true })
    lu.assertEquals({ past.total, past.attempts[1].session }, { 1, "one" })
    lu.assertEquals(past.attempts[1].reason ~= nil, shown)
    lu.assertEquals(words:find("secret_", 1, true) ~= nil, shown)
  end
end

function TestOwners:test_attempts_of_the_session_are_listed_resources()
  local db = folder .. "/listed.db"
  local one <close> = serve("--db", db, "--session", "one"):open()
  local before = #one:ask("resources/list").resources
  for _, text in ipairs { RIGHT, FIRST_ONLY } do
    one:tool("check", { task = "vector/saxpy", source = text, name = "mine" })
  end
  local list = one:ask("resources/list").resources
  lu.assertEquals(#list, before + 2)
  lu.assertEquals({ list[#list - 1].uri, list[#list].uri },
    { "perigee://attempts/2", "perigee://attempts/1" }) -- the newest first
  lu.assertEquals(list[#list].description, "vector/saxpy: passed")
  lu.assertEquals(core.json_decode(one:ask("resources/read",
    { uri = list[#list].uri }).contents[1].text).verdict, "passed")
  local two <close> = serve("--db", db, "--session", "two"):open()
  lu.assertEquals(#two:ask("resources/list").resources, before)
end

local status = lu.LuaUnit.run()
files.remove(folder)
os.exit(status, true)
