-- The examples in the READMEs are run: the task of tasks/README.md is judged by the validator of
-- validators/README.md. The committed PTX is what the sources say.
local lu = require "luaunit"
local core = require "perigee.core"
local impl = require "perigee.impl"
local judge = require "perigee.judge"

-- The first ```lua block of a file that contains `text`.
local function block(path, text)
  for code in core.read_file(path):gmatch("```lua\n(.-)```") do
    if code:find(text, 1, true) then return assert(load(code, "@" .. path)) end
  end
  lu.fail(path .. " has no example with " .. text)
end

TestReadme = {}

function TestReadme:test_the_task_and_the_validator()
  if not core.compiler_info() then lu.skip("no NVRTC on this machine") end
  local task = block("tasks/README.md", "pg.task")()
  local validator = block("validators/README.md", "ctx:compare(\"y\"")()
  local path = os.tmpname() .. ".cu"
  local function verdict_of(expression)
    core.write_file(path, 'extern "C" __global__ void twice(const float* x, float* y, int n) {\n'
      .. "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) y[i] = " .. expression
        .. ";\n}\n")
    local session <close> = judge.session { device = "sim" }
    return session:check(task, impl.candidate(path), {}).verdict
  end
  lu.assertEquals(verdict_of("2 * x[i]"), "passed")
  lu.assertEquals(verdict_of("2.001f * x[i]"), "wrong_result")
  task.validate, task.validators = validator, nil
  lu.assertEquals(verdict_of("2 * x[i]"), "passed")
  lu.assertEquals(verdict_of("2.001f * x[i]"), "wrong_result")
  os.remove(path)
  os.remove((path:gsub("%.cu$", "")))
end

-- Times, what a cache holds, and the machine's own line are other ones everywhere.
local function same_anywhere(text)
  text = text:gsub(" %(from the cache%)", "")
  text = text:gsub("%d[%d.,]* [um]s", "# us"):gsub(" +# us", " # us")
  return (text:gsub("PTX simulator[^\n]*", "PTX simulator"):gsub("\n+$", "\n"))
end

local function output(place, command)
  local binary = core.realpath((os.getenv("BUILD") or "build") .. "/perigee")
  local text = ("cd %s && %s 2>&1"):format(place, command:gsub("^perigee", binary))
  local pipe <close> = io.popen(text)
  return same_anywhere(pipe:read("a"))
end

-- Run the commands of a section in a folder and compare what they print with what it shows; how
-- many there were.
local function run_commands(section, folder)
  local commands = 0
  for shown in section:gmatch("\n```\n(%$ perigee .-)```") do
    for command, text in (shown .. "\n$ "):gmatch("%$ (perigee[^\n]*)\n(.-)%f[$\0]") do
      lu.assertEquals(output(folder, command), same_anywhere(text))
      commands = commands + 1
    end
  end
  return commands
end

-- A folder with the first code blocks of a section as files, in the order of `names`.
local function folder_of(section, names)
  local folder = os.tmpname()
  os.remove(folder)
  local i = 0
  for _, code in section:gmatch("```(%a+)\n(.-)```") do
    if i == #names then break end
    i = i + 1
    local path = folder .. "/" .. names[i]
    assert(core.mkdir_all(path:match("^(.*)/")))
    assert(core.write_file(path, code))
  end
  lu.assertEquals(i, #names)
  return folder
end

-- The new task of tasks/README.md in a folder of its own: the files and the commands as they stand.
function TestReadme:test_a_new_task_is_listed_and_runs_as_the_readme_shows()
  if not core.compiler_info() then lu.skip("no NVRTC on this machine") end
  local section = core.read_file("tasks/README.md"):match("## A new task\n(.-)\n## ")
  local folder = folder_of(section, { "tasks/double.lua", "double.cu" })
  lu.assertEquals(run_commands(section, folder), 4)
  lu.assertStrContains(output("/", "PERIGEE_TASKS=" .. folder .. "/tasks "
    .. core.realpath((os.getenv("BUILD") or "build") .. "/perigee")
    .. " check demo/double " .. folder .. "/double.cu --device sim"), "double.cu: passed")
  os.execute("rm -rf " .. folder)
end

-- The new validator of validators/README.md: its task, kernels, the proof, and what they print.
function TestReadme:test_a_new_validator_judges_as_the_readme_shows()
  if not core.compiler_info() then lu.skip("no NVRTC on this machine") end
  local section = core.read_file("validators/README.md"):match("## A new validator\n(.-)\n## ")
  local folder = folder_of(section, { "validators/parted.lua", "tasks/part.lua", "part.cu",
    "wrong.cu", "prove.lua" })
  local code = core.read_file(folder .. "/validators/parted.lua")
  lu.assertTrue(select(2, code:gsub("\n", "\n")) < 10, "a validator of one's own is short")
  lu.assertEquals(run_commands(section, folder), 3)
  os.execute("rm -rf " .. folder)
end

-- Every validator that there is, and none else.
function TestReadme:test_every_validator_is_listed()
  local text = core.read_file("validators/README.md"):match("\n| validator.-\n\n")
  for _, name in ipairs(core.list_dir("validators")) do
    local stem = name:match("^(.*)%.lua$")
    if stem then lu.assertStrContains(text, "`" .. stem .. "`") end
  end
end


function TestReadme:test_the_validator_in_place_accepts_permutations_only()
  local code = core.read_file("tasks/README.md"):match("```lua\n(validate = .-)```")
  local validate = assert(load("return { " .. code .. "}"))().validate
  local function verdict_of(list)
    return validate { outputs = { out = core.from_list("i32", list) } }.ok
  end
  lu.assertTrue(verdict_of { 2, 0, 1 })
  lu.assertFalse(verdict_of { 2, 0, 2 })
  lu.assertFalse(verdict_of { 3, 0, 1 })
  lu.assertFalse(verdict_of { 0, -1, 1 })
end

-- The folder of lua/README.md, at its default and with the other knob that the text names.
function TestReadme:test_the_candidate_folder()
  if not core.compiler_info() then lu.skip("no NVRTC on this machine") end
  local section = core.read_file("lua/README.md"):match("\n## Candidates\n(.-)\n## ")
  local folder = os.tmpname()
  os.remove(folder)
  assert(core.mkdir_all(folder))
  assert(core.write_file(folder .. "/plan.lua", section:match("```lua\n(.-)```")))
  assert(core.write_file(folder .. "/axpy.cu", section:match("```cuda\n(.-)```")))
  local task = require("perigee.catalogue").find("vector/saxpy")[1]
  local session <close> = judge.session { device = "sim" }
  for _, block_size in ipairs { 128, 512 } do
    local rec = session:check(task, impl.candidate(folder), { knobs = { BLOCK = block_size } })
    lu.assertEquals(rec.verdict, "passed", rec.reason)
    lu.assertEquals(rec.plan[1].block, { block_size, 1, 1 })
  end
  lu.assertStrContains(section, "--knob BLOCK=512")
  os.execute("rm -rf " .. folder)
end

function TestReadme:test_every_field_of_a_plan_is_documented()
  local section = core.read_file("lua/README.md"):match("\n## Candidates\n(.-)\n## ")
  local fields = core.read_file("lua/perigee/candidate.lua"):match("local FIELDS = (%b{})")
  for name in fields:gsub('"[^"]*"', ""):gmatch("([%w_]+) =") do
    lu.assertStrContains(section, "`" .. name .. "`")
  end
end

function TestReadme:test_every_field_of_a_task_is_documented()
  local text = core.read_file("tasks/README.md")
  local fields = core.read_file("lua/perigee/task.lua"):match("local FIELDS = (%b{})")
  fields = fields:gsub('"[^"]*"', "") -- names, not the types that they may have
  for name in fields:gmatch("([%w_]+) =") do lu.assertStrContains(text, "`" .. name) end
end

TestPtx = {}

function TestPtx:test_committed_ptx_was_made_from_the_sources()
  local binary = (os.getenv("BUILD") or "build") .. "/perigee"
  local pipe <close> = io.popen(binary .. " kernels/build.lua --check 2>&1")
  lu.assertEquals(pipe:read("a"), "")
end

os.exit(lu.LuaUnit.run())
