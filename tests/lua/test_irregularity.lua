-- The suite over stages and languages: what it runs, counts and writes.

local lu = require "luaunit"
local core = require "perigee.core"

local BINARY = (os.getenv("BUILD") or "build") .. "/perigee"
local SCRIPT = core.home .. "/kernels/tsdf/irregularity.lua"
local folder = os.tmpname()
os.remove(folder)
core.mkdir_all(folder)

local function suite(options)
  local pipe = assert(io.popen(("'%s' '%s' %s 2>&1"):format(BINARY, SCRIPT, options)))
  local text = pipe:read "a"
  local _, _, status = pipe:close()
  return text, status
end

TestSuite = {}

function TestSuite.test_an_arm_runs_beside_the_one_it_is_compared_with()
  local csv = folder .. "/out.csv"
  local text, status = suite("--device sim --cell base --stage allocate --impl rust-ray,triton "
    .. "--passes 1 --csv " .. csv)
  lu.assertEquals({ status, text }, { 0, text })
  local lines = {}
  for line in core.read_file(csv):gmatch "[^\n]+" do lines[#lines + 1] = line end
  lu.assertEquals(lines, {
    "stage,cell,arm,verdict,median_us,compared_with,ratio,ratio_low,ratio_high",
    "allocate,base,cuda-ray,passed,,,,,",
    "allocate,base,rust-ray,passed,,cuda-ray,,,",
    "allocate,base,triton,passed,,cuda-ray,,,",
  })
end

-- Every sample that counts does five additions, and what is published does one compare-and-swap for
-- each of its eight probes: the counts follow from the programs.
function TestSuite.test_counters_say_what_the_programs_do()
  local text = suite("--cell base --stage allocate,update --impl cuda,triton-published --count")
  local function atomics(stage, arm)
    local row = text:match("\n" .. stage .. "%s+base%s+" .. arm:gsub("%-", "%%-") .. "%s+([^\n]*)")
    local numbers = {}
    for number in row:gmatch "[%d.]+" do numbers[#numbers + 1] = tonumber(number) end
    return numbers[5]
  end
  lu.assertEquals(atomics("update", "cuda"), 5)
  lu.assertEquals(atomics("update", "triton-published"), 5)
  lu.assertTrue(atomics("allocate", "triton-published") > 8)
  lu.assertTrue(atomics("allocate", "cuda") < 0.2)
end

function TestSuite.test_lost_blocks_are_said_and_do_not_fail_the_suite()
  local text, status = suite("--device sim --cell load-0.95 --stage allocate --passes 1 "
    .. "--impl triton-published")
  lu.assertEquals(status, 0)
  lu.assertStrContains(text, "wrong_result")
  lu.assertStrContains(text, "no lost block")
end

function TestSuite.test_bad_options_are_refused()
  local text, status = suite "--stage nowhere"
  lu.assertEquals(status, 2)
  lu.assertStrContains(text, "stages: allocate, update")
  text, status = suite("--device sim --cell base --stage fuse --json " .. folder .. "/no/x")
  lu.assertEquals(status, 2)
  lu.assertStrContains(text, "cannot write")
end

os.exit(lu.LuaUnit.run())
