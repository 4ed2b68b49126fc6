-- Candidates with a layout of their own: what an export may bring, and what it may not.
local lu = require "luaunit"
local core = require "perigee.core"

local BINARY = (os.getenv("BUILD") or "build") .. "/perigee"
local FOLDER = "tests/candidates/layout/"

-- Candidate -> verdict, words of the reason or hint.
local WANT = {
  ["pairs.cu"] = { "passed", "" }, soa = { "passed", "" },
  late = { "wrong_result", "positive[0]" }, again = { "launch_error", "'pairs' is the task's" },
  nothing = { "unwritten_output", "never written" },
  peek = { "wrong_result", "pairs" },
}
local PEEK_CHECKED = { "uninitialized_read", "inputs hold garbage" }

local function check(task, names, device)
  local list = {}
  for i, name in ipairs(names) do list[i] = FOLDER .. name end
  local pipe <close> = io.popen(("%s check %s %s --device %s --json 2>&1"):format(BINARY, task,
    table.concat(list, " "), device))
  local records, count = {}, 0
  for line in pipe:lines() do
    local rec, message = core.json_decode(line)
    lu.assertNotNil(rec, tostring(message) .. ": " .. line)
    count = count + 1
    records[names[count]] = rec
  end
  lu.assertEquals(count, #names)
  return records
end

TestLayout = {}

function TestLayout:setUp()
  if not core.compiler_info() then lu.skip("no NVRTC on this machine") end
end

for _, device in ipairs { "sim", "sim:check" } do
  TestLayout["test_verdicts_on_" .. device:gsub(":", "_")] = function()
    local names = {}
    for name in pairs(WANT) do names[#names + 1] = name end
    table.sort(names)
    local records = check(FOLDER .. "pairs.lua", names, device)
    for _, name in ipairs(names) do
      local want, rec = WANT[name], records[name]
      if name == "peek" and device == "sim:check" then want = PEEK_CHECKED end
      lu.assertEquals(rec.verdict, want[1], name .. ": " .. (rec.reason or ""))
      lu.assertStrContains((rec.reason or "") .. (rec.hint or ""), want[2])
    end
    lu.assertTrue(records.soa.export_us > 0)
    lu.assertNil(records["pairs.cu"].export_us)
  end
end

function TestLayout:test_a_task_that_leaves_everything_to_the_export()
  local records = check(FOLDER .. "all.lua", { "late", "peek", "soa" }, "sim")
  lu.assertEquals(records.late.verdict, "passed", records.late.reason)
  lu.assertEquals(records.soa.verdict, "passed", records.soa.reason)
  lu.assertEquals(records.peek.verdict, "wrong_result")
end

function TestLayout:test_a_task_that_does_not_allow_it()
  local rec = check("vector/saxpy", { "soa" }, "sim").soa
  lu.assertEquals(rec.verdict, "launch_error")
  lu.assertStrContains(rec.reason, "export: vector/saxpy takes its results as they are declared")
end

os.exit(lu.LuaUnit.run())
