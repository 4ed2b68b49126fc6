-- Plans of several steps end to end, through the command line on the simulator.
local lu = require "luaunit"
local core = require "perigee.core"

local BINARY = (os.getenv("BUILD") or "build") .. "/perigee"
local FOLDER = "tests/candidates/plans/"

local function records(command)
  local pipe <close> = io.popen(BINARY .. " " .. command .. " --json 2>&1")
  local by_impl = {}
  for line in pipe:lines() do
    local rec, message = core.json_decode(line)
    lu.assertNotNil(rec, tostring(message) .. ": " .. line)
    by_impl[rec.impl] = rec
  end
  return by_impl
end

TestLoops = {}

function TestLoops:setUp()
  if not core.compiler_info() then lu.skip("no NVRTC on this machine") end
end

for _, device in ipairs { "sim", "sim:check" } do
  TestLoops["test_a_loop_until_a_flag_on_" .. device:gsub(":", "_")] = function()
    local got = records(("run %sspread.lua --device %s"):format(FOLDER, device))
    lu.assertEquals(got.naive.verdict, "passed", got.naive.reason)
    lu.assertEquals(got.short.verdict, "timeout")
    lu.assertEquals(got.short.reason, "done is still 0 after 3 rounds")
  end
end

os.exit(lu.LuaUnit.run())
