-- Many candidates in a row on the simulator, crashes and hangs among them; tests/gpu/run series is
-- the same on a GPU.
local lu = require "luaunit"
local core = require "perigee.core"
local series = dofile((core.home or ".") .. "/tests/gpu/series.lua")

TestSeries = {}

function TestSeries.test_the_judge_survives_what_its_candidates_do()
  if not core.compiler_info() then lu.skip "no NVRTC on this machine" end
  lu.assertEquals(series.faults(series.run("sim", 64)), {})
end

os.exit(lu.LuaUnit.run())
