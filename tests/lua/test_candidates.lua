-- Eleven candidates for vector/saxpy, each with the verdict that it must get, through the command
-- line on the simulator; what an out-of-bounds report says; and that nothing is left behind.
local lu = require "luaunit"
local core = require "perigee.core"

local BINARY = (os.getenv("BUILD") or "build") .. "/perigee"
local FOLDER = "tests/candidates/saxpy/"

local VERDICTS = {
  right = "passed", nothing = "unwritten_output", zeros = "wrong_result", copy = "wrong_result",
  last = "wrong_result", nan = "wrong_result", bounds = "out_of_bounds", forever = "timeout",
  trap = "launch_error", race = "race", unwritten = "uninitialized_read",
}

local function records_of(command)
  local pipe <close> = io.popen(command .. " 2>&1")
  local records = {}
  for line in pipe:lines() do
    local rec, message = core.json_decode(line)
    lu.assertNotNil(rec, tostring(message) .. ": " .. line)
    records[#records + 1] = rec
  end
  local _, _, status = pipe:close()
  return records, status
end

local function check(name, device)
  local records,
    status = records_of(("%s check vector/saxpy %s%s.cu --device %s --timeout 2 --json"):format(
    BINARY, FOLDER, name, device))
  lu.assertEquals(#records, 1)
  return records[1], status
end

local function expect(name, device)
  local rec, status = check(name, device)
  lu.assertEquals(rec.verdict, VERDICTS[name], rec.reason)
  lu.assertEquals(status, rec.verdict == "passed" and 0 or 1)
  lu.assertEquals(rec.device, device)
  lu.assertNil(rec.time) -- the simulator's clock is no GPU's, and a failure has no time
  if rec.verdict ~= "passed" then lu.assertNil(rec.sim_wall_us) end
  return rec
end

TestCandidates = {}

for name in pairs(VERDICTS) do
  TestCandidates["test_" .. name] = function()
    if not core.compiler_info() then lu.skip("no NVRTC on this machine") end
    expect(name, "sim:check")
  end
end

-- The judge itself must see what the simulator's checks do not stop.
for _, name in ipairs { "right", "nothing", "zeros", "copy", "last", "nan" } do
  TestCandidates["test_" .. name .. "_on_plain_sim"] = function()
    if not core.compiler_info() then lu.skip("no NVRTC on this machine") end
    expect(name, "sim")
  end
end

TestReports = {}

function TestReports:setUp()
  if not core.compiler_info() then lu.skip("no NVRTC on this machine") end
end

function TestReports:test_out_of_bounds_says_thread_block_line_and_array()
  local finding = check("bounds", "sim:check").findings[1]
  lu.assertEquals(finding.kind, "out_of_bounds")
  lu.assertEquals(finding.kernel, "saxpy")
  lu.assertEquals(finding.block, { 0, 0, 0 })
  local thread = finding.thread[1] -- which warp is first follows the seed; n is 1
  lu.assertTrue(thread == 1 or thread % 32 == 0 and thread > 0, thread)
  lu.assertStrContains(finding.file, "bounds.cu")
  lu.assertEquals(finding.line, 4)
  lu.assertTrue(finding.allocation == "x" or finding.allocation == "y" or finding.allocation == "z")
  lu.assertEquals(finding.distance, 4 * (thread - 1))
end

function TestReports:test_a_race_says_who_the_other_was()
  local finding = check("race", "sim:check").findings[1]
  lu.assertEquals(finding.kind, "race")
  lu.assertEquals(finding.allocation, "z")
  lu.assertStrContains(finding.other.file, "race.cu")
  lu.assertTrue(finding.other.line == 4 or finding.other.line == 5)
  lu.assertEquals(finding.thread[1] ~ 1, finding.other.thread[1])
end

function TestReports:test_a_timeout_says_where_it_hangs()
  local rec = check("forever", "sim:check")
  lu.assertStrContains(rec.findings[1].text, "forever.cu:")
end

function TestReports:test_a_record_has_what_the_design_asks_for()
  local rec = check("right", "sim:check")
  for _, field in ipairs { "task", "params", "impl", "lang", "device", "verdict", "findings",
    "checked_by", "compile_ms", "compile_log", "checks", "work", "seed", "source_sha", "ptx_sha",
    "sandbox", "versions", "at" } do
    lu.assertNotNil(rec[field], field)
  end
  lu.assertEquals(rec.cases, 6 * 3 + 7 + 1) -- seeds, families, the timed size
  lu.assertEquals(rec.source_sha, core.sha256(core.read_file(FOLDER .. "right.cu")))
  lu.assertEquals(rec.work.bytes, 12 * rec.params.n)
end

function TestReports:test_a_seed_repeats_a_run_and_is_fresh_otherwise()
  local function reason(options)
    return records_of(("%s check vector/saxpy %szeros.cu --device sim --json %s"):format(BINARY,
      FOLDER,
      options))[1]
  end
  lu.assertEquals(reason("--seed 5").reason, reason("--seed 5").reason)
  lu.assertNotEquals(reason("").seed, reason("").seed)
end

function TestReports:test_several_candidates_give_a_record_each_and_the_worst_status()
  local records, status = records_of(("%s check vector/saxpy %sright.cu %szeros.cu %sright.cu "
    .. "--device sim --json"):format(BINARY, FOLDER, FOLDER, FOLDER))
  lu.assertEquals(status, 1)
  lu.assertEquals({ records[1].verdict, records[2].verdict, records[3].verdict },
    { "passed", "wrong_result", "passed" })
end

-- Processes of the session that a command was started in; field 6 of /proc/PID/stat.
local function session_members(sid)
  local count = 0
  for _, pid in ipairs(core.list_dir("/proc")) do
    local stat = pid:match("^%d+$") and core.read_file("/proc/" .. pid .. "/stat")
    if stat and stat:match("^.*%) %S %S+ %S+ (%S+)") == sid then count = count + 1 end
  end
  return count
end

function TestReports:test_nothing_is_left_behind()
  for _, name in ipairs { "right", "forever", "bounds" } do
    local pipe <close> = io.popen(("setsid -w sh -c 'echo $$; exec %s check vector/saxpy %s%s.cu "
      .. "--device sim:check --timeout 1 --json'"):format(BINARY, FOLDER, name))
    local sid = pipe:read("l")
    lu.assertNotNil(core.json_decode(pipe:read("l")))
    pipe:close()
    lu.assertEquals(session_members(sid), 0, name)
  end
end

os.exit(lu.LuaUnit.run())
