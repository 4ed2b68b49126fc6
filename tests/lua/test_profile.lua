-- Counters of sim:profile for people and programs: the table of a record, the annotated source, and
-- `run --annotate` as text and as JSON, against what the kernel must do by arithmetic.
local lu = require "luaunit"
local core = require "perigee.core"
local profile = require "perigee.profile"

local BINARY = core.realpath((os.getenv "BUILD" or "build") .. "/perigee")

local function collect(print_to)
  local lines = {}
  print_to(function(line)
    for one in (line .. "\n"):gmatch "([^\n]*)\n" do lines[#lines + 1] = one end
  end)
  return lines
end

local function shell(command)
  local pipe <close> = io.popen(command .. " 2>&1")
  local text = pipe:read "a"
  local _, _, status = pipe:close()
  return text, status
end

local function counters(fields)
  return setmetatable(fields, { __index = function() return 0 end })
end

-- ---- a record's counters ----

TestCounters = {}

function TestCounters:test_ratios_and_shares()
  local rec = { counters = counters {
    warp_instructions = 1000, thread_instructions = 16000, branches = 8, divergent_branches = 2,
    global_load_requests = 10, global_load_sectors = 40, global_load_bytes = 640,
    global_atomic_requests = 4, global_atomic_sectors = 64, global_atomic_lanes = 128,
    global_atomic_collisions = 32, shared_requests = 5, shared_wavefronts = 20,
    l1_sectors = 104, l1_hit_sectors = 26, l2_sectors = 80, l2_hit_sectors = 60 },
    hot_addresses = { { address = 0x7f00, collisions = 1234567 } } }
  local shown = {}
  for _, line in ipairs(collect(function(out) profile.counters(rec, out) end)) do
    local name, value = line:match "^ +(.-)  +(%S+)$"
    if name then shown[name] = value else shown[#shown + 1] = line end
  end
  lu.assertEquals(shown, {
    ["warp instructions"] = "1,000", ["active lanes / instruction"] = "16.00",
    ["branch efficiency"] = "75.0%", ["global load sectors / request"] = "4.00",
    ["bytes asked / bytes moved"] = "50.0%", ["global atomic sectors / request"] = "16.00",
    ["lanes that collide"] = "25.0%", ["shared wavefronts / request"] = "4.00",
    ["L1 hit rate (model)"] = "25.0%", ["L2 hit rate (model)"] = "75.0%",
    "    atomics collide at 0x7f00: 1,234,567 lanes" })
end

function TestCounters:test_what_did_not_happen_is_left_out()
  local rec = { counters = counters { warp_instructions = 10, thread_instructions = 320 } }
  lu.assertEquals(#collect(function(out) profile.counters(rec, out) end), 2)
end

-- ---- annotated source ----

TestAnnotate = {}

function TestAnnotate:setUp()
  self.name = os.tmpname()
end

function TestAnnotate:tearDown()
  os.remove(self.name)
end

function TestAnnotate:annotated(source, lines)
  assert(core.write_file(self.name, source))
  for _, line in ipairs(lines) do line.file = self.name end
  local rec = { lines = lines, counters = { warp_instructions = 1000, thread_instructions = 32000,
    global_load_sectors = 400, global_load_requests = 100 } }
  return collect(function(out) profile.annotate(rec, out) end)
end

function TestAnnotate:test_counters_stand_beside_their_lines()
  local got = self:annotated("int a;\nload();\nshared();\nlast();\n", {
    { line = 2, warp_instructions = 50, thread_instructions = 800, global_load_requests = 100,
      global_load_sectors = 400 },
    { line = 3, warp_instructions = 950, thread_instructions = 30400, shared_requests = 10,
      shared_wavefronts = 25 } })
  lu.assertEquals(got, {
    "",
    "  " .. self.name,
    "   instr. lanes  sectors  s/req  waves",
    "                                           1  int a;",
    ">      50  16.0      400    4.0            2  load();", -- all sectors
    ">     950  32.0                    2.5     3  shared();", -- most instructions
    "                                           4  last();" })
end

function TestAnnotate:test_a_tenth_makes_a_line_hot()
  local got = self:annotated("one\ntwo\n", {
    { line = 1, warp_instructions = 99, thread_instructions = 99 },
    { line = 2, warp_instructions = 100, thread_instructions = 100 } })
  lu.assertEquals(got[4]:sub(1, 9), "       99")
  lu.assertEquals(got[5]:sub(1, 9), ">     100")
end

function TestAnnotate:test_source_that_is_not_here()
  local rec = { counters = { warp_instructions = 10 }, lines = {
    { file = "/nowhere/k.cu", line = 3, warp_instructions = 10, thread_instructions = 320 } } }
  local got = collect(function(out) profile.annotate(rec, out) end)
  lu.assertEquals(#got, 6)
  lu.assertStrContains(got[6], ">      10  32.0")
end

function TestAnnotate:test_ptx_without_lines()
  local got = collect(function(out) profile.annotate({ lines = {}, counters = {} }, out) end)
  lu.assertEquals(got, { "    no lines: the PTX carries none (compile with -lineinfo)" })
end

-- ---- run --annotate ----

TestRun = {}

local N = 65537
local WARPS, SECTORS = (N + 31) // 32, (4 * N + 31) // 32
local RUN = ("'%s' run vector/saxpy --impl naive --set n=%d --seed 1 --annotate "
  .. "--device sim:profile"):format(BINARY, N)

function TestRun:test_text()
  local text, status = shell(RUN)
  lu.assertEquals(status, 0)
  local beside, sectors, ratio = {}, nil, nil
  for line in text:gmatch "[^\n]+" do
    if line:find("z[i] = a * x[i] + y[i];", 1, true) and not sectors then
      sectors, ratio = line:match "^>[%d, ]+%d%.%d +([%d,]+) +([%d.]+) "
    end
    beside[#beside + 1] = line:match "^>? +[%d,]+ +%d.*saxpy4"
  end
  lu.assertEquals(sectors, "24,579") -- two loads and a store of 8,193 each
  lu.assertEquals(3 * SECTORS, 24579)
  lu.assertEquals(ratio, "4.0")
  lu.assertEquals(beside, {}) -- the other kernel did not run
end

-- A 0 would be read as a count.
function TestRun:test_what_does_not_count_has_no_counters()
  for _, device in ipairs { "sim", "sim:check" } do
    local text = shell((RUN:gsub("%-%-annotate.*", "--json --device " .. device)))
    local rec = core.json_decode(text:match "{[^\n]+")
    lu.assertEquals({ rec.verdict, rec.device, rec.counters }, { "passed", device })
  end
end

function TestRun:test_json_lines_add_up()
  local text, status = shell(RUN .. " --json")
  lu.assertEquals(status, 0)
  local rec = core.json_decode(text:match "{[^\n]+")
  lu.assertEquals(rec.counters.global_load_requests, 2 * WARPS)
  lu.assertEquals(rec.counters.global_load_bytes, 8 * N)
  local sum = {}
  for _, line in ipairs(rec.lines) do
    lu.assertEquals(line.file, "kernels/vector/saxpy.cu")
    for name, value in pairs(line) do
      if name ~= "file" and name ~= "line" then sum[name] = (sum[name] or 0) + value end
    end
  end
  for name, value in pairs(rec.counters) do
    if name ~= "launches" and name ~= "complete" then
      lu.assertEquals(sum[name] or 0, value, name)
    end
  end
end

function TestRun:test_only_where_lines_are_counted()
  local text, status = shell(RUN:gsub("sim:profile", "sim"))
  lu.assertEquals(status, 2)
  lu.assertStrContains(text, "--annotate needs counters by line")
end

os.exit(lu.LuaUnit.run())
