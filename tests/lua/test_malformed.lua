-- Malformed candidates: each gets the verdict and the words that its plan.lua announces, in one run
-- of the command, which goes on after every one. tests/cli/malformed_tasks.txt does it for tasks.
local lu = require "luaunit"
local core = require "perigee.core"

local BINARY = (os.getenv("BUILD") or "build") .. "/perigee"
local FOLDER = "tests/malformed/plans/"
local LIMIT_S = 60

local function announced(path)
  local text = assert(core.read_file(path))
  local function line(word) return text:match("%-%- " .. word .. ": ([^\n]*)") end
  return { verdict = line "verdict", says = line "says" or "", hint = line "hint" or "" }
end

local function check(folders)
  local command = ("timeout %d %s check vector/saxpy %s --device sim --timeout 2 --set n=1000 "
    .. "--json 2>&1"):format(LIMIT_S, BINARY, table.concat(folders, " "))
  local pipe <close> = io.popen(command)
  local records, others = {}, {}
  for line in pipe:lines() do
    local rec = core.json_decode(line)
    if rec then records[#records + 1] = rec else others[#others + 1] = line end
  end
  local _, _, status = pipe:close()
  return records, status, table.concat(others, "\n")
end

-- No traceback, and no place in the library: a mistake is where its author made it.
local function assert_clean(rec, name)
  local text = core.json_encode(rec)
  for _, sign in ipairs { "traceback", "lua/perigee/", "attempt to index a nil" } do
    lu.assertNil(text:find(sign, 1, true), name .. ": " .. (rec.reason or ""))
  end
end

local function assert_announced(rec, want, name)
  local log = (rec.reason or "") .. "\n" .. (rec.compile_log or "")
  lu.assertEquals(rec.verdict, want.verdict, name .. ": " .. log)
  lu.assertNotNil(log:find(want.says, 1, true), name .. ": " .. log)
  local hint = rec.hint or ""
  lu.assertNotNil(hint:find(want.hint, 1, true), name .. ": " .. hint)
  lu.assertNil(rec.time)
  assert_clean(rec, name)
end

TestMalformed = {}

function TestMalformed:setUp()
  if not core.compiler_info() then lu.skip("no NVRTC on this machine") end
end

function TestMalformed:test_each_candidate_gets_its_verdict_and_none_ends_the_run()
  local folders = {}
  for _, name in ipairs(core.list_dir(FOLDER)) do
    if core.file_info(FOLDER .. name).type == "dir" then folders[#folders + 1] = FOLDER .. name end
  end
  lu.assertTrue(#folders >= 100)
  local records, status, others = check(folders)
  lu.assertEquals(others, "")
  lu.assertEquals(status, 1)
  lu.assertEquals(#records, #folders)
  for i, folder in ipairs(folders) do
    assert_announced(records[i], announced(folder .. "/plan.lua"), folder)
  end
end

-- ---- what a text file cannot hold, or a repository should not ----

local scratch = os.tmpname()

local function made(plan, files)
  os.remove(scratch)
  assert(core.mkdir_all(scratch))
  for name, text in pairs(files or {}) do assert(core.write_file(scratch .. "/" .. name, text)) end
  if plan then assert(core.write_file(scratch .. "/plan.lua", plan)) end
  return scratch
end

local RIGHT = 'extern "C" __global__ void saxpy(const float* x, const float* y, float* z, float a, '
  .. "int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) z[i] = a * x[i] + y[i]; }"

local function assert_one(folder, verdict, says)
  local records, _, others = check { folder }
  lu.assertEquals(others, "")
  assert_announced(records[1], { verdict = verdict, says = says, hint = "" }, says)
end

function TestMalformed:tearDown()
  os.execute("rm -rf '" .. scratch .. "'")
end

function TestMalformed:test_compiled_lua()
  assert_one(made(string.dump(load "return {}"), { ["a.cu"] = RIGHT }), "compile_error",
    "it is compiled Lua")
  assert_one(made("\27Lua", { ["a.cu"] = RIGHT }), "compile_error", "it is compiled Lua")
end

function TestMalformed:test_a_plan_that_is_too_long()
  assert_one(made(("-"):rep(300000) .. "\nreturn {}", { ["a.cu"] = RIGHT }), "compile_error",
    "its text is longer than 256 KiB")
  assert_one(made(("-"):rep(2000000) .. "\nreturn {}", { ["a.cu"] = RIGHT }), "compile_error",
    "longer than")
end

function TestMalformed:test_a_link_that_leads_out_of_the_folder()
  local folder = made('return { file = "link.cu" }', { ["a.cu"] = RIGHT })
  os.execute(("ln -s /etc/hostname '%s/link.cu'"):format(folder))
  assert_one(folder, "compile_error", "'link.cu' leads out of the candidate's folder")
end

function TestMalformed:test_a_pipe_and_a_missing_folder_end_nothing()
  local folder = made(nil, { ["a.cu"] = RIGHT })
  os.execute(("mkfifo '%s/plan.lua'"):format(folder))
  assert_one(folder, "compile_error", "plan.lua is no file")
  local records, status, others = check { "tests/malformed/plans/none" }
  lu.assertEquals(#records, 0)
  lu.assertEquals(status, 2)
  lu.assertStrContains(others, "none")
end

function TestMalformed:test_random_bytes_and_random_edits_are_answered()
  math.randomseed(3)
  local text = 'return { launch = { grid = "ceil_div(n, 256)", block = { 256 }, args = { "x", "y", '
    .. '"z", { "a" } } }, scratch = { s = { dtype = "f32", n = "n" } }, kernel = "saxpy" }'
  for _ = 1, 400 do
    local edited = text
    for _ = 1, math.random(3) do
      local at, byte = math.random(#edited), string.char(math.random(0, 255))
      edited = edited:sub(1, at - 1) .. byte .. edited:sub(at + math.random(0, 3))
    end
    local ok, e = pcall(core.read_data, edited, "plan.lua")
    if not ok then lu.assertEquals(type(e) == "table" and type(e.code), "string", edited) end
  end
end

-- Plans of random parts, as far as the steps that a runner would get: an error is a table that says
-- where, whatever the parts.
function TestMalformed:test_random_plans_are_steps_or_errors()
  math.randomseed(7)
  local pick
  local VALUES = {
    function() return math.random(-3, 300) end, function() return "n" end,
    function() return "ceil_div(n, 256)" end, function() return "x" end, function() return "z" end,
    function() return "flag" end, function() return 0.5 end, function() return 0 / 0 end,
    function() return math.huge end, function() return true end, function() return "" end,
    function() return math.maxinteger end, function() return {} end,
    function() return { pick(), pick() } end, function() return { pick(), offset = pick() } end,
    function() return { steps = { pick() }, repeat_until = pick(), max = pick() } end,
    function() return { memset = pick(), byte = pick() } end,
    function() return { copy = { pick(), pick() }, bytes = pick() } end,
    function() return { grid = pick(), block = pick(), args = pick(), kernel = pick() } end,
    function() return { dtype = "f32", n = pick(), init = pick() } end,
    function() return nil end,
  }
  local depth = 0
  function pick()
    depth = depth + 1
    local value
    if depth < 8 then value = VALUES[math.random(#VALUES)]() end
    depth = depth - 1
    return value
  end
  local task = require("perigee.catalogue").find("vector/saxpy")[1]
  local one = require("perigee.case").make(task, task:resolve { purpose = "sim",
    set = { n = 1000 } }, 1)
  local built = 0
  for _ = 1, 4000 do
    local impl = { is_data = true, where = "plan.lua", launch = pick(), args = pick(),
      kernel = math.random() < 0.2 and pick() or nil,
      scratch = { flag = math.random() < 0.8 and { bytes = 4 } or pick() } }
    for _, field in ipairs { "launch", "args" } do -- as plan.lua's fields are checked
      if type(impl[field]) ~= "table" then impl[field] = nil end
    end
    if type(impl.kernel) ~= "string" and type(impl.kernel) ~= "table" then impl.kernel = nil end
    local ok, value = pcall(function()
      return require("perigee.plan").build(task, impl, one.p, one:buffers_for(impl, false))
    end)
    if ok then built = built + 1
    else lu.assertEquals(type(value) == "table" and value.where, "plan.lua", tostring(value)) end
  end
  lu.assertTrue(built > 200 and built < 3500, built)
end

-- The right one passes, so that the others fail for what they are.
function TestMalformed:test_the_kernel_itself_is_right()
  local records = check { made("return { kernel = 'saxpy' }", { ["a.cu"] = RIGHT }) }
  lu.assertEquals(records[1].verdict, "passed", records[1].reason)
  records = check { made(nil, { ["a.cu"] = RIGHT }) } -- a plan.lua may be left out
  lu.assertEquals(records[1].verdict, "passed", records[1].reason)
end

os.exit(lu.LuaUnit.run())
