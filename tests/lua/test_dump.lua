-- What a failing check leaves and says: files of the case, and which of the cases failed.
local lu = require "luaunit"
local pg = require "perigee"
local core = require "perigee.core"
local explain = require "perigee.explain"

local ODD = [[
extern "C" __global__ void twice(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = n % 2 && i == n - 1 ? 7 : 2 * x[i];
}]]

local function task(fields)
  local t = {
    name = "t/twice", params = { n = { default = 64, check = { 2, 31, 64, 255, 1000 }, sim = 64 } },
    inputs = function(p, rng) return { x = rng:array("f32", p.n) } end,
    outputs = function(p) return { y = pg.spec("f32", p.n) } end,
    kernel = "void twice(const float* x, float* y, int n)",
    launch = function(p) return { grid = (p.n + 255) // 256, block = 256 } end,
    reference = function(_, io) return { y = 2 * io.x } end, validate = { "close", ops = 1 },
  }
  for name, value in pairs(fields or {}) do t[name] = value end
  return pg.task(t)
end

local function folder()
  local path = os.tmpname()
  os.remove(path)
  return path
end

local function check(source, how, fields)
  if not core.compiler_info() then lu.skip("no NVRTC on this machine") end
  how.device, how.out = "sim", how.out or function() end
  return pg.check(task(fields), { source = source }, how)
end

TestDump = {}

function TestDump:test_a_failing_case_leaves_its_arrays()
  local path = folder()
  local rec = check(ODD, { dump = path })
  lu.assertEquals(rec.verdict, "wrong_result")
  local json = core.json_decode((core.read_file(rec.dumped .. "/case.json")))
  lu.assertEquals({ json.task, json.verdict, json.reason, json.params.n, json.seed },
    { "t/twice", rec.verdict, rec.reason, 31, rec.seed })
  local arrays = {}
  for _, one in ipairs(json.arrays) do
    arrays[one.what .. " " .. one.name] = pg.npy.load(rec.dumped .. "/" .. one.file, one.dtype)
  end
  local x, y, want = arrays["input x"], arrays["output y"], arrays["expected y"]
  lu.assertEquals({ x.dtype, y.dtype, want.dtype, x.count }, { "f32", "f32", "f64", 31 })
  for i = 0, 30 do lu.assertEquals(want[i], 2 * x[i]) end
  lu.assertEquals({ y[30], y[29] }, { 7, want[29] })
  -- Three inputs of each of two odd sizes failed; four cases are kept, each in a folder of its own.
  lu.assertEquals(#core.list_dir(path), 4)
  os.execute("rm -rf " .. path)
end

function TestDump:test_nothing_is_left_of_what_passes_or_does_not_compile()
  local path = folder()
  lu.assertEquals(check(ODD:gsub("n %% 2 &&", "0 &&"), { dump = path }).verdict, "passed")
  local rec = check("this is no kernel", { dump = path })
  lu.assertEquals({ rec.verdict, rec.dumped }, { "compile_error" })
  lu.assertEquals(#core.list_dir(path), 0)
  os.execute("rm -rf " .. path)
end

function TestDump:test_a_folder_that_cannot_be_made_is_an_error_before_anything_runs()
  local ok, e = pcall(check, ODD, { dump = "/proc/nowhere" })
  lu.assertFalse(ok)
  lu.assertEquals({ e.code, e.where }, { "io", "/proc/nowhere" })
end

-- A disk that fills up, a folder that goes: what was judged is judged.
function TestDump:test_files_that_cannot_be_written_leave_the_verdict()
  local path = folder()
  local function refuses(_, io)
    os.execute("rm -rf " .. path .. " && touch " .. path)
    return { y = 2 * io.x }
  end
  local rec = check(ODD, { dump = path }, { reference = refuses })
  lu.assertEquals({ rec.verdict, rec.dumped }, { "wrong_result" })
  lu.assertStrContains(table.concat(explain.failure(rec), "\n"), "files: cannot make '" .. path)
  os.execute("rm -rf " .. path)
end

function TestDump:test_an_array_that_cannot_be_written_says_why()
  local ok, e = pcall(pg.npy.save, "/dev/full", pg.array("f32", 9))
  lu.assertEquals({ ok, e.message },
    { false, "cannot write '/dev/full': No space left on device" })
  ok, e = pcall(pg.npy.save, "/nowhere/x.npy", pg.array("f32", 9))
  lu.assertEquals({ ok, e.message },
    { false, "cannot write '/nowhere/x.npy': No such file or directory" })
end

TestCases = {}

function TestCases:test_which_sizes_fail_is_said()
  local rec = check(ODD, {})
  lu.assertEquals(rec.failed_cases, { failed = 9, tried = 18, of = 18, pattern = "odd n only" })
  lu.assertEquals(rec.params.n, 31)
  lu.assertStrContains(rec.failed_at, "n = 31")
  lu.assertStrContains(rec.reason, "only the last element is wrong")
  lu.assertStrContains(table.concat(explain.failure(rec), "\n"), "9 of 18 cases failed: odd n only")
  rec = check(ODD:gsub("n %% 2", "n %% 64"), {})
  lu.assertEquals(rec.failed_cases.pattern, "n that is not a multiple of 64")
  rec = check(ODD:gsub("n %% 2", "n > 64"), {})
  lu.assertEquals(rec.failed_cases.pattern, "n >= 255 only")
  rec = check(ODD:gsub("n %% 2", "1"), {})
  lu.assertStrContains(table.concat(explain.failure(rec), "\n"), "all 18 cases failed")
end

-- After a kernel that stopped there is nothing to go on with.
function TestCases:test_only_wrong_results_go_on()
  local rec = check(ODD:gsub("2 %* x%[i%]", "x[i + 100000000]"), {})
  lu.assertEquals(rec.verdict, "out_of_bounds")
  lu.assertNil(rec.failed_cases)
end

os.exit(lu.LuaUnit.run())
