-- perigee serve: messages of both eras, every tool, what a client may send wrongly, cancellation,
-- the end of input, stores that two share or that cannot be written.
package.path = "tests/lua/?.lua;" .. package.path
local lu = require "luaunit"
local core = require "perigee.core"
local files = require "perigee.files"
local protocol = require "perigee.serve.protocol"
local schema = require "perigee.serve.schema"
local serve_client = require "serve_client"
local tools = require "perigee.serve.tools"

local folder = files.temporary()
local descendants, all_gone = serve_client.descendants, serve_client.all_gone

local function serve(...) return serve_client.serve(folder, ...) end

local function source(name) return files.read("tests/candidates/saxpy/" .. name .. ".cu") end

-- ---- messages ----

TestProtocol = {}

local function read(line)
  local value, reply = protocol.decode(line)
  if value == nil then return nil, reply end
  return protocol.read(value)
end

local function refusal(line)
  local message, reply = read(line)
  lu.assertNil(message)
  return reply.error.code, reply.id
end

function TestProtocol:test_what_is_no_message_is_answered_with_its_code()
  for _, case in ipairs {
    { "", -32700 }, { "{", -32700 }, { "\xff", -32700 }, { '{"id":1,"id":2}', -32700 },
    { "[]", -32600 }, { "1", -32600 }, { "null", -32600 }, { "{}", -32600 },
    { '{"jsonrpc":"1.0","id":7,"method":"ping"}', -32600, 7 },
    { '{"jsonrpc":"2.0","id":"a"}', -32600, "a" },
    { '{"jsonrpc":"2.0","id":1,"method":5}', -32600, 1 },
    { '{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600 },
    { '{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600 },
    { '{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600 },
    { '{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32602, 1 },
    { '{"jsonrpc":"2.0","id":1,"method":"ping","params":3}', -32602, 1 },
  } do
    local code, id = refusal(case[1])
    lu.assertEquals(code, case[2], case[1])
    lu.assertEquals(id, case[3] or core.null, case[1])
  end
end

function TestProtocol:test_ids_are_strings_or_integers_and_differ()
  lu.assertEquals(read('{"jsonrpc":"2.0","id":"1","method":"m"}').id, "1")
  lu.assertEquals(read('{"jsonrpc":"2.0","id":-9223372036854775808,"method":"m"}').id,
    math.mininteger)
  lu.assertNotEquals(protocol.key("1"), protocol.key(1))
end

function TestProtocol:test_a_notification_and_a_response_are_no_requests()
  lu.assertEquals(read('{"jsonrpc":"2.0","method":"m","params":[1]}').kind,
    "notification")
  lu.assertEquals(read('{"jsonrpc":"2.0","id":1,"result":{}}').kind, "response")
end

TestSchema = {}

function TestSchema:test_mistakes_are_told_with_their_place()
  local one = { type = "object", additionalProperties = false, required = core.json_array { "a" },
    properties = { a = { type = "integer", minimum = 1, maximum = 5 },
      word = { type = "string", enum = core.json_array { "red", "blue" } },
      list = { type = "array", maxItems = 2, items = { type = "string", maxLength = 3 } } } }
  for _, case in ipairs {
    { "[]", "arguments: expected object, got array" },
    { "{}", "arguments: 'a' is missing" },
    { '{"a":0}', "arguments.a: 0 lies outside 1 .. 5" },
    { '{"a":"1"}', "arguments.a: expected integer, got string" },
    { '{"a":null}', "arguments.a: expected integer, got null" },
    { '{"a":1.5}', "arguments.a: expected integer, got number" },
    { '{"a":1,"word":"rde"}', "arguments.word: expected one of red, blue", "did you mean 'red'?" },
    { '{"a":1,"lisp":[]}', "arguments: unknown name 'lisp'", "did you mean 'list'?" },
    { '{"a":1,"list":["abc","abcd"]}', "arguments.list[1]: 4 characters, at most 3 are taken" },
    { '{"a":1,"list":["","",""]}', "arguments.list: 3 items, at most 2 are taken" },
    { '{"a":1e300}', "arguments.a: 1e+300 lies outside 1 .. 5" },
    { '{"a":2.0,"word":"blue","list":["x"]}' },
  } do
    local problem, hint = schema.check(core.json_decode(case[1]), one)
    lu.assertEquals(problem, case[2], case[1])
    lu.assertEquals(hint, case[3], case[1])
  end
end

function TestSchema:test_the_tools_examples_fit_their_schemas()
  for _, one in ipairs(tools.LIST) do
    for _, example in ipairs(one.inputSchema.examples or {}) do
      lu.assertNil(schema.check(core.json_decode(core.json_encode(example)), one.inputSchema))
    end
  end
end

-- ---- the server ----

TestServer = {}

local function meta(version, more)
  local envelope = { ["io.modelcontextprotocol/protocolVersion"] = version,
    ["io.modelcontextprotocol/clientCapabilities"] = {},
    ["io.modelcontextprotocol/clientInfo"] = { name = "test", version = "1" } }
  for name, value in pairs(more or {}) do envelope[name] = value end
  return envelope
end

function TestServer:test_the_handshake_echoes_a_version_it_knows()
  for asked, settled in pairs { ["2024-11-05"] = "2024-11-05", ["2025-06-18"] = "2025-06-18",
    ["2025-11-25"] = "2025-11-25", ["2030-01-01"] = "2025-11-25", ["1"] = "2025-11-25" } do
    local client <close> = serve()
    local result = client:ask("initialize", { protocolVersion = asked })
    lu.assertEquals(result.protocolVersion, settled)
    lu.assertEquals(result.serverInfo.name, "perigee")
    lu.assertNil(result.resultType)
  end
end

function TestServer:test_before_the_handshake_only_a_ping_is_answered()
  local client <close> = serve()
  lu.assertEquals(client:ask("ping"), {})
  local _, e = client:ask("tools/list")
  lu.assertEquals(e.code, -32602)
  lu.assertStrContains(e.message, "initialize")
  _, e = client:ask("initialize", {})
  lu.assertEquals(e.code, -32602)
  client:open()
  lu.assertEquals(#client:ask("tools/list").tools, #tools.LIST)
end

function TestServer:test_a_stateless_request_stands_alone()
  local client <close> = serve()
  local result = client:ask("server/discover", { _meta = meta "2026-07-28" })
  lu.assertEquals(result.supportedVersions, { "2026-07-28" })
  lu.assertEquals(result.resultType, "complete")
  lu.assertEquals(result._meta["io.modelcontextprotocol/serverInfo"].name, "perigee")
  lu.assertEquals({ result.cacheScope, math.type(result.ttlMs) }, { "private", "integer" })
  result = client:ask("tools/list", { _meta = meta "2026-07-28" })
  lu.assertEquals({ result.resultType, #result.tools }, { "complete", #tools.LIST })
  local _, e = client:ask("ping", { _meta = meta "2026-07-28" })
  lu.assertEquals(e.code, -32601)
  _, e = client:ask("tools/list", { _meta = meta "2027-01-01" })
  lu.assertEquals({ e.code, e.data.requested, e.data.supported },
    { -32022, "2027-01-01", { "2026-07-28" } })
  _, e = client:ask("tools/list",
    { _meta = { ["io.modelcontextprotocol/protocolVersion"] = "2026-07-28" } })
  lu.assertEquals(e.code, -32602)
  lu.assertStrContains(e.message, "clientCapabilities")
end

function TestServer:test_tools_come_in_one_order_and_all_have_schemas()
  local client <close> = serve():open()
  local names = {}
  for i, one in ipairs(client:ask("tools/list").tools) do
    names[i] = one.name
    lu.assertEquals({ one.inputSchema.type, one.outputSchema.type }, { "object", "object" })
  end
  lu.assertEquals(names, { "list_tasks", "describe_task", "compile", "check", "time", "profile",
    "diff", "submit", "history", "leaderboard" })
end

function TestServer:test_wrong_calls_are_answered()
  local client <close> = serve():open()
  local _, e = client:ask("tools/run")
  lu.assertEquals(e.code, -32601)
  _, e = client:ask("server/discover")
  lu.assertEquals(e.code, -32601)
  _, e = client:ask("tools/call", { name = "chek" })
  lu.assertEquals({ e.code, e.data.hint }, { -32602, "did you mean 'check'?" })
  _, e = client:ask("tools/call", {})
  lu.assertEquals(e.code, -32602)
  _, e = client:ask("tools/list", { cursor = "1" })
  lu.assertEquals(e.code, -32602)
  lu.assertStrContains(client:refused("check", { task = 5 }), "arguments.task: expected string")
  lu.assertStrContains(client:refused("check", {}), "'task' is missing")
  lu.assertStrContains(client:refused("check", { task = "vector/saxpy" }), "send one of")
  lu.assertStrContains(client:refused("check", { task = "vector/saxpy", source = "x",
    attempt = 1 }), "exclude each other")
  lu.assertStrContains(client:refused("check", { task = "vector/saxpi", source = "x" }),
    "did you mean 'vector/saxpy'?")
  lu.assertStrContains(client:refused("check", { task = "vector/saxpy", source = "x",
    set = { m = 5 } }), "'m'")
  lu.assertStrContains(client:refused("check", { task = "vector/saxpy", attempt = 999 }), "999")
  lu.assertStrContains(client:refused("diff", { a = 1, b = 2 }), "no attempt 1")
  lu.assertStrContains(client:refused("check", { task = "tasks/vector/saxpy.lua",
    source = "x" }), "unknown task")
end

function TestServer:test_files_may_not_leave_their_folder()
  local client <close> = serve():open()
  for _, name in ipairs { "../x.cu", "/tmp/x.cu", "", "-x", "a/../../x.cu", "a/./x.cu", "a/.." } do
    local said = client:refused("check", { task = "vector/saxpy", files = { [name] = "x" } })
    lu.assertStrMatches(said, ".*no name of a file.*")
  end
  lu.assertStrContains(client:refused("check", { task = "vector/saxpy",
    files = { ["a.txt"] = "x" } }), "cannot tell the language of 'a.txt'")
end

function TestServer:test_garbage_and_huge_messages_are_answered_and_it_goes_on()
  local client <close> = serve():open()
  client:send "garbage\n\n   \n"
  lu.assertEquals(client:next().error.code, -32700)
  client:send '[{"jsonrpc":"2.0","id":1,"method":"ping"}]\n'
  lu.assertEquals(client:next().error.code, -32600)
  client:send((("x"):rep(1 << 20)):rep(33) .. "\n")
  local reply = client:next()
  lu.assertEquals(reply.error.code, -32600)
  lu.assertStrContains(reply.error.message, "32 MiB")
  client:send("[" .. ("[],"):rep(10000000) .. "[]]\n")
  lu.assertStrContains(client:next().error.message, "more than 100000 values")
  local status = core.read_file(("/proc/%d/status"):format(client.peer.channel:pid()))
  local peak = tonumber(status:match "VmHWM:%s*(%d+) kB")
  lu.assertTrue(peak < 300000, peak) -- ten million lists would take gigabytes
  lu.assertEquals(client:ask("ping"), {})
  lu.assertStrContains(client:refused("check", { task = "vector/saxpy",
    source = ("x"):rep(tools.SOURCE_MOST + 1) }), "characters")
end

function TestServer:test_an_id_that_is_under_way_is_refused_and_the_first_is_answered()
  local client <close> = serve():open()
  for _, text in ipairs { "saxpy", "softmax" } do
    client:send { jsonrpc = "2.0", id = "twice", method = "tools/call", params = {
      name = "list_tasks", arguments = { text = text } } }
  end
  local refused, answered = client:next(), client:next()
  lu.assertEquals({ refused.id, refused.error.code }, { "twice", -32600 })
  lu.assertStrContains(refused.error.message, "answered still")
  lu.assertEquals({ answered.id, answered.result.structuredContent.tasks[1].name },
    { "twice", "vector/saxpy" })
end

function TestServer:test_one_version_has_batches()
  local client <close> = serve()
  client:ask("initialize", { protocolVersion = "2025-03-26" })
  client:send(core.json_encode(core.json_array {
    { jsonrpc = "2.0", id = 1, method = "ping" },
    { jsonrpc = "2.0", method = "notifications/initialized" },
    { jsonrpc = "2.0", id = 2, method = "tools/call",
      params = { name = "list_tasks", arguments = { text = "saxpy" } } },
    5,
    { jsonrpc = "2.0", id = 3, method = "none" },
    { jsonrpc = "2.0", id = 4, method = "tools/call", params = { name = "check",
      arguments = { task = "vector/saxpy", source = source "forever" } } },
    { jsonrpc = "2.0", method = "notifications/cancelled", params = { requestId = 4 } },
  }) .. "\n")
  local answers, said = client:next(), {}
  for _, one in ipairs(answers) do
    said[#said + 1] = ("%s %s"):format(one.id == core.null and "null" or one.id,
      one.error and one.error.code or "right")
  end
  table.sort(said)
  lu.assertEquals(said, { "1 right", "2 right", "3 -32601", "null -32600" })
  client:send '[]\n'
  lu.assertEquals(client:next().error.code, -32600)
  client:send '[{"jsonrpc":"2.0","method":"x"}]\n'
  lu.assertEquals(client:ask("ping"), {}) -- notifications alone get no answer
end

function TestServer:test_what_is_nested_too_deep_is_refused()
  local client <close> = serve():open()
  local deep = ("["):rep(500) .. ("]"):rep(500)
  client:send(('{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"perigee://x",'
    .. '"more":%s}}\n'):format(deep))
  lu.assertEquals(client:next().error.code, -32602)
  client:send(('{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"list_tasks",'
    .. '"arguments":{},"_meta":{"x":%s}}}\n'):format(deep))
  lu.assertTrue(client:next().result.isError)
  client:send((("["):rep(50000) .. "\n"))
  lu.assertEquals(client:next().error.code, -32700)
  lu.assertEquals(client:tool("list_tasks", { text = "saxpy" }).total, 1)
end

function TestServer:test_a_source_of_any_bytes_is_judged()
  local client <close> = serve():open()
  local answer = client:tool("compile", { task = "vector/saxpy", source = "\0\1\u{fffd} @ ä" })
  lu.assertFalse(answer.compiles)
  lu.assertEquals(answer.verdict, "compile_error")
end

-- ---- the tools ----

TestTools = {}

function TestTools:test_tasks_are_found_and_described()
  local client <close> = serve():open()
  local list = client:tool("list_tasks", { text = "SAXPY" })
  lu.assertEquals({ list.total, list.tasks[1].name }, { 1, "vector/saxpy" })
  local page = client:tool("list_tasks", { limit = 2, offset = 1 })
  lu.assertEquals({ #page.tasks, page.next_offset }, { 2, 3 })
  lu.assertEquals(client:tool("list_tasks", { offset = 100000 }).tasks, {})
  lu.assertStrContains(client:refused("list_tasks", { category = "vectr" }), "'vector'")
  local one, said = client:tool("describe_task", { task = "vector/saxpy", reference = "naive" })
  lu.assertStrContains(one.skeleton, "void saxpy(const float* x")
  lu.assertStrContains(one.reference.source, "__global__")
  lu.assertStrContains(said, one.skeleton:match "[^\n]+")
  lu.assertTrue(#said < 8000)
  one = client:tool("describe_task", { task = "hash/find", reference = "naive" })
  lu.assertStrContains(one.reference.files["hash.cuh"], "__device__")
  lu.assertEquals(client:tool("describe_task", { task = "vector/saxpy",
    detail = true }).detail.name, "vector/saxpy")
  lu.assertStrContains(client:refused("describe_task", { task = "vector/saxpy",
    reference = "nave" }), "naive")
end

function TestTools:test_from_a_failure_to_a_submission()
  local client <close> = serve():open()
  local broken = client:tool("compile", { task = "vector/saxpy",
    source = files.read "tests/cli/files/broken.cu" })
  lu.assertFalse(broken.compiles)
  lu.assertEquals({ broken.messages[1].line, broken.messages[1].severity }, { 3, "error" })
  local built = client:tool("compile", { task = "vector/saxpy", source = source "right" })
  lu.assertTrue(built.compiles)
  lu.assertEquals(built.kernels[1].name, "saxpy")
  local wrong, said = client:tool("check", { task = "vector/saxpy", source = source "last",
    name = "first-try" })
  lu.assertEquals({ wrong.verdict, wrong.passed, wrong.attempt }, { "wrong_result", false, 1 })
  local element = wrong.failing.elements[1]
  lu.assertEquals(element.index, "0")
  lu.assertAlmostEquals(element.got - element.expected, 1, 1e-6)
  lu.assertStrContains(said, "wrong_result (attempt 1)")
  local race = client:tool("check", { task = "vector/saxpy", source = source "race" })
  lu.assertEquals(race.verdict, "race")
  local _, unknown = client:tool("diff", { a = 1, b = 2 })
  lu.assertStrContains(unknown, "cost: none, both failed")
  lu.assertStrContains(race.reports[1], "candidate.cu:5")
  local right = client:tool("check", { task = "vector/saxpy", source = source "right" })
  lu.assertEquals({ right.verdict, right.cases > 20, right.attempt }, { "passed", true, 3 })
  _, unknown = client:tool("diff", { a = 2, b = 3 })
  lu.assertStrContains(unknown, "cost: none, a failed")
  local timed = client:tool("time", { task = "vector/saxpy", attempt = 3 })
  lu.assertEquals({ timed.unit, timed.rivals[1].name, timed.rivals[1].verdict },
    { "warp_instructions", "naive", "passed" })
  lu.assertNil(timed.time) -- the simulator has no clock of a GPU
  local final = client:tool("submit", { task = "vector/saxpy", files = { ["main.cu"] =
    files.read "kernels/vector/saxpy.cu", ["plan.lua"] =
    "return { kernel = 'saxpy4', launch = { grid = 'ceil_div(n + 1, 1024)', block = 256 } }" } })
  lu.assertEquals({ final.verdict, final.recorded, final.rank }, { "passed", true, 1 })
  lu.assertTrue(final.cost < timed.cost)
  local diff, words = client:tool("diff", { a = 3, b = final.attempt })
  lu.assertEquals(diff.gained, { "vector_access" })
  lu.assertStrContains(words, "+ extern")
  local beside = timed.attempt + 1 -- naive, kept with the time
  lu.assertStrContains(client:refused("diff", { a = 3, b = beside }), "is no attempt")
  local past = client:tool("history", {})
  lu.assertEquals({ past.total, past.attempts[1].name, past.attempts[4].kind },
    { 5, "first-try", "time" })
  local board = client:tool("leaderboard", { task = "vector/saxpy" }).boards[1]
  lu.assertEquals({ board.rows[1].attempt, board.rows[1].over_best }, { final.attempt, 1 })
end

function TestTools:test_an_attempt_sent_again_has_its_knobs()
  local client <close> = serve("--db", folder .. "/knobs.db"):open()
  local first = client:tool("check", { task = "vector/saxpy", knobs = { WRONG = 0 }, files = {
    ["plan.lua"] = "return { knobs = { WRONG = { 1, 0 } } }", ["main.cu"] = [[
    extern "C" __global__ void saxpy(const float* x, const float* y, float* z, float a, int n) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < n) z[i] = WRONG ? 0 : a * x[i] + y[i];
    }]] } })
  lu.assertEquals(first.verdict, "passed")
  local again = client:tool("check", { task = "vector/saxpy", attempt = first.attempt })
  lu.assertEquals(again.verdict, "passed")
  local other = client:tool("check", { task = "vector/saxpy", attempt = again.attempt,
    knobs = { WRONG = 1 } })
  lu.assertEquals(other.verdict, "wrong_result")
end

function TestTools:test_a_profile_says_what_counters_suggest()
  local client <close> = serve():open()
  local answer = client:tool("profile", { task = "vector/saxpy", lines = 2, source = [[
    extern "C" __global__ void saxpy(const float* x, const float* y, float* z, float a, int n) {
      int i = (blockIdx.x * blockDim.x + threadIdx.x), block = i / 256 * 256;
      int j = block + (i % 16) * 16 + i % 256 / 16;
      if (j < n) z[j] = a * x[j] + y[j];
    }]] })
  lu.assertEquals({ answer.verdict, #answer.lines }, { "passed", 2 })
  local by_name = {}
  for _, row in ipairs(answer.counters) do by_name[row.name] = row.suggests end
  lu.assertStrContains(by_name["global load sectors / request"], "scattered")
  lu.assertStrMatches(answer.lines[1].text, ".*[ij] .*")
  -- four floats a load touch four times the sectors, and use all of them
  answer = client:tool("profile", { task = "vector/saxpy", files = {
    ["main.cu"] = files.read "kernels/vector/saxpy.cu", ["plan.lua"] =
    "return { kernel = 'saxpy4', launch = { grid = 'ceil_div(n + 1, 1024)', block = 256 } }" } })
  for _, row in ipairs(answer.counters) do
    lu.assertNil(row.suggests:find("scattered", 1, true), row.name)
  end
end

function TestTools:test_a_candidate_that_hangs_is_a_verdict_and_the_server_listens_meanwhile()
  local client <close> = serve("--timeout", "1", "--db", folder .. "/hang.db"):open()
  client:send { jsonrpc = "2.0", id = "slow", method = "tools/call", params = { name = "check",
    arguments = { task = "vector/saxpy", source = source "forever" } } }
  lu.assertEquals(client:ask("ping"), {})
  local answer = client:next()
  lu.assertEquals(answer.id, "slow")
  lu.assertEquals(answer.result.structuredContent.verdict, "timeout")
end

function TestTools:test_progress_grows_and_goes_to_who_asked()
  local client <close> = serve():open()
  client:tool("check", { task = "reduce/sum", source = "x" }, { progressToken = "t" })
  client:tool("check", { task = "vector/saxpy", source = source "right" })
  lu.assertTrue(#client.notes > 0)
  local last = 0
  for _, note in ipairs(client.notes) do
    lu.assertEquals({ note.method, note.params.progressToken }, { "notifications/progress", "t" })
    lu.assertTrue(note.params.progress > last)
    last = note.params.progress
  end
end

-- ---- ends ----

TestEnds = {}

local function hang(client)
  client:send { jsonrpc = "2.0", id = "slow", method = "tools/call", params = { name = "check",
    arguments = { task = "vector/saxpy", source = source "forever" },
    _meta = { progressToken = 1 } } }
  repeat local note = client:next() until note.params.message:find "checking" -- it runs
  core.poll({}, {}, 0.3)
end

function TestEnds:test_cancellation_kills_at_once_and_gets_no_answer()
  local client <close> = serve():open()
  hang(client)
  local before = descendants(client.peer.channel:pid())
  lu.assertTrue(#before >= 2) -- the lane and its runner
  client:send { jsonrpc = "2.0", method = "notifications/cancelled",
    params = { requestId = "slow", reason = "enough" } }
  lu.assertTrue(all_gone(before, 1))
  lu.assertEquals(client:ask("ping"), {})
  lu.assertNil(client:next(0.2))
  lu.assertEquals(client:tool("check", { task = "vector/saxpy",
    source = source "right" }).verdict, "passed")
  client:send { jsonrpc = "2.0", method = "notifications/cancelled", params = { requestId = 77 } }
  client:send { jsonrpc = "2.0", method = "notifications/cancelled", params = {} }
  lu.assertEquals(client:ask("ping"), {})
end

function TestEnds:test_a_waiting_call_is_cancelled_without_the_one_that_runs()
  local client <close> = serve("--timeout", "1", "--db", folder .. "/queue.db"):open()
  hang(client)
  client:send { jsonrpc = "2.0", id = 8, method = "tools/call", params = { name = "check",
    arguments = { task = "vector/saxpy", source = source "right" } } }
  client:send { jsonrpc = "2.0", method = "notifications/cancelled", params = { requestId = 8 } }
  local answer
  repeat answer = client:next() until answer.id
  lu.assertEquals({ answer.id, answer.result.structuredContent.verdict }, { "slow", "timeout" })
  lu.assertEquals(client:tool("history", {}).total, 1)
end

function TestEnds:test_what_waits_is_limited_in_bytes_as_well()
  local client <close> = serve("--timeout", "200", "--db", folder .. "/bytes.db"):open()
  hang(client)
  local given = { task = "vector/saxpy", files = {} }
  for i = 1, 25 do given.files[i .. ".cu"] = ("x"):rep(1000000) end
  local line = core.json_encode { jsonrpc = "2.0", id = "ID", method = "tools/call", params = {
    name = "compile", arguments = given } } .. "\n"
  for id = 1, 3 do client:send((line:gsub('"ID"', id))) end
  client:send { jsonrpc = "2.0", id = "small", method = "tools/call", params = { name = "compile",
    arguments = { task = "vector/saxpy", source = "x" } } }
  local answer
  repeat answer = client:next() until answer.id
  lu.assertEquals({ answer.id, answer.result.isError }, { "small", true })
  lu.assertStrContains(answer.result.content[1].text, "4 calls of 72 MiB are waiting already")
end

function TestEnds:test_a_judge_that_dies_is_an_error_and_the_next_call_gets_another()
  local client <close> = serve():open()
  hang(client)
  local before = descendants(client.peer.channel:pid())
  os.execute("kill -KILL " .. before[1])
  local answer
  repeat answer = client:next() until answer.id
  lu.assertTrue(answer.result.isError)
  lu.assertStrContains(answer.result.content[1].text, "ended without an answer")
  lu.assertTrue(all_gone(before, 2))
  lu.assertEquals(client:tool("check", { task = "vector/saxpy",
    source = source "right" }).verdict, "passed")
end

function TestEnds:test_a_call_that_takes_too_long_is_ended_with_an_error()
  local client <close> = serve("--limit", "5", "--db", folder .. "/limit.db"):open()
  hang(client)
  local answer
  repeat answer = client:next() until answer.id
  lu.assertStrContains(answer.result.content[1].text, "longer than 5 s")
  lu.assertEquals(client:ask("ping"), {})
end

function TestEnds:test_two_servers_share_a_store()
  local db = folder .. "/shared.db"
  local one <close> = serve("--db", db):open()
  local two <close> = serve("--db", db):open()
  for id, client in ipairs { one, two } do
    client:send { jsonrpc = "2.0", id = id, method = "tools/call", params = { name = "check",
      arguments = { task = "vector/saxpy", source = source "right" } } }
  end
  local numbers = { one:next().result.structuredContent.attempt,
    two:next().result.structuredContent.attempt }
  table.sort(numbers)
  lu.assertEquals(numbers, { 1, 2 })
  lu.assertEquals(one:tool("history", {}).total, 1)
  lu.assertEquals(two:tool("history", { all = true }).total, 2)
end

function TestEnds:test_sources_of_another_session_are_not_shown()
  local db = folder .. "/sessions.db"
  local one <close> = serve("--db", db, "--session", "one"):open()
  one:tool("check", { task = "vector/saxpy", source = source "right" })
  local two <close> = serve("--db", db, "--session", "two"):open()
  lu.assertStrContains(two:refused("check", { task = "vector/saxpy", attempt = 1 }),
    "another session")
  lu.assertStrContains(two:refused("diff", { a = 1, b = 1 }), "another session")
  local _, e = two:ask("resources/read", { uri = "perigee://attempts/1" })
  lu.assertEquals(e.code, -32002)
  for _, how in ipairs { { "--session", "two", "--share" }, { "--session", "one" } } do
    local other <close> = serve("--db", db, table.unpack(how)):open()
    lu.assertEquals(other:tool("diff", { a = 1, b = 1 }).source, "")
  end
end

function TestEnds:test_a_call_that_takes_too_much_memory_is_ended_with_an_error()
  local client <close> = serve("--memory", "0.3", "--db", folder .. "/memory.db"):open()
  lu.assertStrContains(client:refused("check", { task = "vector/saxpy", source = source "right",
    set = { n = 60000000 } }), "GiB of memory")
  lu.assertEquals(client:tool("check", { task = "vector/saxpy",
    source = source "right" }).verdict, "passed")
end

function TestEnds:test_what_cannot_be_recorded_is_answered_and_said()
  local client <close> = serve("--db", "/dev/null/results.db"):open()
  local answer, said = client:tool("submit", { task = "vector/saxpy", source = source "right" })
  lu.assertEquals({ answer.verdict, answer.recorded }, { "passed", false })
  lu.assertStrContains(answer.warning, "not recorded")
  lu.assertStrContains(said, "NOT recorded")
end

function TestEnds:test_descriptions_and_attempts_are_resources()
  local client <close> = serve():open()
  client:tool("check", { task = "vector/saxpy", source = source "last" })
  lu.assertTrue(#client:ask("resources/list").resources > 20)
  lu.assertEquals(#client:ask("resources/templates/list").resourceTemplates, 2)
  local task = client:ask("resources/read", { uri = "perigee://tasks/vector/saxpy" })
  lu.assertStrContains(task.contents[1].text, "void saxpy(")
  local attempt = client:ask("resources/read", { uri = "perigee://attempts/1" })
  lu.assertEquals(core.json_decode(attempt.contents[1].text).verdict, "wrong_result")
  for _, uri in ipairs { "perigee://attempts/2", "perigee://tasks/none", "file:///etc/passwd" } do
    local _, e = client:ask("resources/read", { uri = uri })
    lu.assertEquals(e.code, -32002, uri)
  end
  local _, e = client:ask("resources/read", { uri = "perigee://x", _meta = meta "2026-07-28" })
  lu.assertEquals(e.code, -32602)
end

function TestEnds:test_prompts_for_the_three_settings()
  local client <close> = serve():open()
  client:tool("check", { task = "vector/saxpy", source = source "last" })
  local given = { task = "vector/saxpy", attempt = "1" }
  for _, prompt in ipairs(client:ask("prompts/list").prompts) do
    local text = client:ask("prompts/get", { name = prompt.name,
      arguments = given }).messages[1].content.text
    lu.assertStrContains(text, "void saxpy(")
    lu.assertEquals(text:find("wrong_result", 1, true) ~= nil, prompt.name == "refine")
  end
  local _, e = client:ask("prompts/get", { name = "refine", arguments = { task = "vector/saxpy" } })
  lu.assertEquals(e.code, -32602)
  _, e = client:ask("prompts/get", { name = "tool", arguments = given })
  lu.assertEquals(e.data.hint, "did you mean 'tools'?")
end

local status = lu.LuaUnit.run()
files.remove(folder)
os.exit(status, true)
