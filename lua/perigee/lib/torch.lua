--- PyTorch for experts: the lines of Python that a task gives (its field `torch`), run as they are,
-- compiled, compiled for little overhead, or as a CUDA graph.
-- @module perigee.lib.torch

local core = require "perigee.core"
local ffi = require "ffi"
local files = require "perigee.files"
local python = require "perigee.lib.python"

local torch = {}

local ROOM = 1 << 16 -- bytes of an answer

local interpreter -- one a process: CPython does not start twice

local function started()
  if not interpreter then
    local run = python.start()
    local path = files.find("lua/perigee/lib/torch_arm.py", { core.home })
    run(("perigee_scope, perigee_kept = {'__name__': 'torch_arm'}, []\n"
      .. "exec(compile(open(%s).read(), %s, 'exec'), perigee_scope)"):format(
      python.literal(path), python.literal(path)))
    interpreter = { run = run, room = ffi.new("char[?]", ROOM) }
  end
  return interpreter
end

--- Import PyTorch ahead of need.
-- @tparam string what words: "compile" for its compiler, too, "libraries" for those of the GPU
function torch.warm(what)
  started().run(("perigee_scope['warm'](%s)"):format(python.literal(what)))
end

local function answer(room)
  return core.json_decode(ffi.string(room))
end

local function prepare(request)
  local it = started()
  local address = ffi.tonumber(ffi.cast("intptr_t", ffi.cast("void *", it.room)))
  it.run(("perigee_scope['prepare'](%s, %d, %d, perigee_kept)"):format(
    python.literal(core.json_encode(request)), address, ROOM))
  return answer(it.room), it.room
end

--- Make an arm ready.
-- @tparam table run what an expert gets, with options {source, mode = "eager", "compile",
--   "overhead" or "graph"}
-- @treturn function enqueue(io, set)
-- @treturn table {library, version}
-- @treturn function finish(io, set), which brings the result into the task's outputs
-- @raise "environment" without Python or PyTorch, "launch_error"
function torch.arm(run)
  local said, room = prepare { name = run.options.name, source = run.options.source,
    mode = run.options.mode, params = run.params, buffers = run.list, sets = run.sets,
    stream = run.stream, device = run.device }
  if said.missing then
    core.error("environment", ("Python (%s) has no PyTorch: %s"):format(
      os.getenv "PERIGEE_PYTHON" or "python3", said.missing),
      "pip install torch, or name an interpreter that has it in PERIGEE_PYTHON")
  end
  if said.error then core.error("launch_error", said.error) end
  local function calling(at)
    local call = ffi.cast("int (*)(int)", ffi.cast("void *", at))
    return function(_, set)
      if call(set) ~= 0 then core.error("launch_error", answer(room).error) end
    end
  end
  return calling(said.enqueue), { library = "PyTorch", version = said.version,
    note = ("%s: %s"):format(run.options.mode, run.options.source) }, calling(said.finish)
end

return torch
