-- How long each tool of `perigee serve` takes, and how many candidates are judged in a minute:
-- perigee tests/serve/bench.lua [DEVICE [SECONDS [TASK...]]]. The candidates are the plain
-- implementations of several tasks, sent as an agent would. Then a candidate that hangs is
-- cancelled.
local core = require "perigee.core"
local columns = require "perigee.columns"
local files = require "perigee.files"
local peer = require "perigee.serve.peer"

-- whose plain implementation is one file with the task's own launch
local TASKS = { "vector/saxpy", "norm/softmax", "sparse/spmv", "conv/conv2d", "matmul/f16",
  "matmul/f32" }
local ENDLESS = [[
extern "C" __global__ void saxpy(const float* x, const float* y, float* z, float a, int n) {
  for (volatile float* p = z; n > 0;) p[0];
}
]]

local CALLS = 20 -- of each tool, if there is time

local device, lasts = arg[1] or "auto", tonumber(arg[2]) or 30
if arg[3] then TASKS = table.move(arg, 3, #arg, 1, {}) end
io.stdout:setvbuf "line"
local folder, began = files.temporary(), core.now()
local client = peer.new(core.start("serve", "--device", device, "--db", folder .. "/db"))
local took, order = {}, {}

local function send(message)
  client:send(message)
  while client.waiting > 0 do
    core.poll({ client.channel }, { "w" }, 10)
    assert(client:flush(), "the server has gone")
  end
end

local function receive(id)
  while true do
    local line = client:line() or error "the server ended"
    local message = core.json_decode(line)
    if message.id == id then return message.result or error(message.error.message) end
  end
end

local number = 0
local function ask(method, params)
  number = number + 1
  local started = core.now()
  send { jsonrpc = "2.0", id = number, method = method, params = params or {} }
  return receive(number), core.now() - started
end

local function note(name, seconds)
  if not took[name] then
    took[name], order[#order + 1] = {}, name
  end
  table.insert(took[name], seconds)
end

local function tool(name, arguments)
  local result, seconds = ask("tools/call", { name = name, arguments = arguments })
  if result.isError then
    print(name, arguments.task, result.content[1].text)
    return {}
  end
  note(name, seconds)
  io.stderr:write(("%-14s %-16s %6.0f ms\n"):format(name, arguments.task or "", 1e3 * seconds))
  return result.structuredContent
end

ask("initialize", { protocolVersion = "2025-11-25" })
print(("the first answer after %.1f ms"):format(1e3 * (core.now() - began)))
local judged, seconds_of = { check = 0, time = 0 }, { check = 0, time = 0 }
local function judge(name, arguments)
  local started = core.now()
  local answer = tool(name, arguments)
  if answer.verdict then
    judged[name], seconds_of[name] = judged[name] + 1, seconds_of[name] + core.now() - started
  end
  return answer
end

local verdicts = {}
local until_ = core.now() + lasts
local function late() return core.now() > until_ end

-- Each text is new to the compiler's cache.
local function fresh(source) return ("%s\n// %d"):format(source, number) end

-- Counters of the GPU.
local function say_counted(task, counted)
  if counted.no_hardware then print(task, counted.no_hardware) end
  for _, row in ipairs(counted.hardware or {}) do
    print(task, row.name, row.value, row.suggests)
  end
end

local function say_final(task, answer, timed, final)
  local row = { task, answer.verdict or "?", timed.verdict or "?",
    final.cost and ("%.4g %s"):format(final.cost, final.unit) or "", "" }
  for _, rival in ipairs(final.rivals or {}) do
    row[5] = ("%s %s %s"):format(row[5], rival.name,
      rival.speedup and ("%.2fx"):format(rival.speedup) or rival.verdict)
  end
  verdicts[task] = row
end

-- What an agent does at a task: it looks, tries, and hands in.
local function work_at(task)
  tool("list_tasks", { text = task })
  local described = tool("describe_task", { task = task, reference = "naive" })
  local source = (described.reference or {}).source
  if not source then return end
  tool("compile", { task = task, source = fresh(source) })
  local answer = judge("check", { task = task, source = fresh(source) })
  local timed = judge("time", { task = task, source = fresh(source) })
  if timed.attempt then tool("diff", { a = answer.attempt, b = timed.attempt }) end
  tool("history", {})
  tool("leaderboard", { task = task })
  say_final(task, answer, timed, tool("submit", { task = task, source = fresh(source) }))
  return source
end

-- In turns, until there are enough calls or no time is left.
local function turns(work)
  for i = 1, CALLS do
    if i > #TASKS and late() then return end
    work(TASKS[(i - 1) % #TASKS + 1], i)
  end
end

local sources = {}
turns(function(task) sources[task] = work_at(task) end)
turns(function(task, i)
  local counted = sources[task] and tool("profile", { task = task, source = sources[task] })
  if counted and i <= #TASKS then say_counted(task, counted) end
end)

local rows = {}
for _, task in ipairs(TASKS) do rows[#rows + 1] = verdicts[task] end
print(columns.text({ { title = "task" }, { title = "check" }, { title = "time" },
  { title = "submit", right = true }, { title = "against" } }, rows))

rows = {}
for _, name in ipairs(order) do
  local list = took[name]
  table.sort(list)
  rows[#rows + 1] = { name, tostring(#list), ("%.0f ms"):format(1e3 * list[(#list + 1) // 2]),
    ("%.0f ms"):format(1e3 * list[math.max(1, math.ceil(0.95 * #list))]) }
end
print(columns.text({ { title = "tool" }, { title = "calls", right = true },
  { title = "median", right = true }, { title = "95%", right = true } }, rows))
for _, name in ipairs { "check", "time" } do
  if judged[name] > 0 then
    print(("%s: %.0f candidates a minute"):format(name, 60 * judged[name] / seconds_of[name]))
  end
end

-- ---- cancelling a candidate that hangs ----

send { jsonrpc = "2.0", id = "hang", method = "tools/call", params = { name = "check",
  arguments = { task = "vector/saxpy", source = ENDLESS } } }
core.poll({}, {}, 1.5)
local _, ping = ask("ping")
local started = core.now()
send { jsonrpc = "2.0", method = "notifications/cancelled", params = { requestId = "hang" } }
local answer = tool("check", { task = "vector/saxpy", source = ENDLESS:gsub("n > 0", "n < 0")
  :gsub("}%s*$", "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
  .. "  if (i < n) z[i] = a * x[i] + y[i];\n}\n") })
print(("a ping while it hangs: %.2f ms"):format(1e3 * ping))
print(("from its cancellation to the verdict of the next, %s: %.0f ms"):format(answer.verdict,
  1e3 * (core.now() - started)))
client:close()
files.remove(folder)
