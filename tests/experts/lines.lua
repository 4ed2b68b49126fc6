--- The lines for PyTorch of every task, on the CPU: at each size that is checked, as they are and
-- as torch.compile reads them, judged by the task's validators. Needs PyTorch in PERIGEE_PYTHON.
--     perigee tests/experts/lines.lua [TASK...]

local case = require "perigee.case"
local core = require "perigee.core"
local ffi = require "ffi"
local files = require "perigee.files"
local params = require "perigee.params"
local pg = require "perigee"
local python = require "perigee.lib.python"
local validate = require "perigee.validate"

local ARM = files.find("lua/perigee/lib/torch_arm.py", { core.home })
local HERE = "tests/experts/lines.py"
local POISON, ROOM = 0x7fa00001, 4096
-- What PyTorch has on a GPU only.
local GPU_ONLY = { ["matmul/f16"] = "the dtype of the result of a product" }

local run, room = python.start(), ffi.new("char[?]", ROOM)

local function address(what) return ffi.tonumber(ffi.cast("intptr_t", ffi.cast("void *", what))) end

-- What Python's expression gives, as text.
local function asked(expression)
  run(("lines_answer = str(%s).encode()[:%d] + b'\\0'\nctypes.memmove(%d, lines_answer, "
    .. "len(lines_answer))"):format(expression, ROOM - 1, address(room)))
  return ffi.string(room)
end

run(("import ctypes, json\nlines = {}\nexec(open(%s).read(), lines)"):format(python.literal(HERE)))
run "try:\n  import torch\n  has_torch = True\nexcept ImportError:\n  has_torch = False"
if asked "has_torch" ~= "True" then
  print "# SKIP no PyTorch here"
  os.exit(0)
end

-- The arrays of outputs, full of what nobody wrote.
local function outputs_of(one)
  local arrays = {}
  for _, buffer in ipairs(one.list) do
    if buffer.role == "output" then
      local words = string.pack("<I4", POISON):rep(buffer.bytes // 4 + 1):sub(1, buffer.bytes)
      arrays[buffer.name] = pg.from_bytes(buffer.dtype, buffer.shape, words)
    end
  end
  return arrays
end

local function request_of(one, arrays, mode)
  local buffers, set = core.json_array {}, {}
  for i, buffer in ipairs(one.list) do
    buffers[i] = { name = buffer.name, role = buffer.role, dtype = tostring(buffer.dtype),
      shape = core.json_array(table.move(buffer.shape, 1, #buffer.shape, 1, {})) }
    set[buffer.name] = address(arrays[buffer.name] or one.io[buffer.name])
  end
  return { name = one.task.name, source = one.task.torch, mode = mode, params = one.p,
    buffers = buffers, sets = core.json_array { set }, stream = 0, device = 0 }
end

local function judged(one, mode)
  local arrays = outputs_of(one)
  local said = asked(("lines['run'](%s, json.loads(%s))"):format(python.literal(ARM),
    python.literal(core.json_encode(request_of(one, arrays, mode)))))
  if said ~= "" then return { ok = false, reason = said } end
  return validate.run(one, arrays, POISON)
end

local passed, failed = 0, 0

local function check(task, mode)
  local worst
  for index = 1, params.check_count(task.params, {}) do
    local p = task:resolve { purpose = "check", index = index, set = {} }
    local result = judged(case.make(task, p, 100 + index), mode)
    if not result.ok then
      failed = failed + 1
      print(("not ok %s %s, %s: %s"):format(task.name, mode, task:brief(p, "default"),
        result.reason))
      return
    end
    for _, one in ipairs(result.checks) do worst = math.max(worst or 0, one.error or 0) end
  end
  passed = passed + 1
  print(("ok %s %s: error at most %.1e"):format(task.name, mode, worst or 0))
end

local function wanted(task)
  for _, name in ipairs(arg) do
    if task.name == name then return true end
  end
  return #arg == 0
end

for _, task in ipairs((pg.catalogue.all())) do
  if task.torch and wanted(task) then
    for _, mode in ipairs(GPU_ONLY[task.name] and {} or { "eager", "traced" }) do
      check(task, mode)
    end
    if GPU_ONLY[task.name] then
      print(("# SKIP %s: a GPU alone has %s"):format(task.name, GPU_ONLY[task.name]))
    end
  end
end
print(("%d passed, %d failed"):format(passed, failed))
os.exit(failed == 0 and 0 or 1)
