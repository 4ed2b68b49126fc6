--- Experts: implementations that a task brings as host code in Lua, which calls a library. They run
-- in a trusted runner, which no candidate ever enters, and are judged and timed as kernels are:
-- the same buffers, guards, events and validators; only what is enqueued is a library's.
-- @module perigee.experts

local core = require "perigee.core"

local experts = {}

--- Whether an implementation is one.
-- @tparam table one what impl.resolve or impl.candidate returned
function experts.is(one)
  return one.lang == "lua"
end

-- ---- PyTorch ----

local TORCH = "lua/perigee/lib/torch_arm.lua"
-- Loaded ahead of need, and behind the colon what they get.
local EAGER, COMPILING = "perigee.lib.torch:", "perigee.lib.torch:compile"
local MODES = {
  { "torch", "eager", "PyTorch", EAGER },
  { "torch-compile", "compile", "PyTorch, torch.compile", COMPILING },
  { "torch-overhead", "overhead", "PyTorch, torch.compile with mode reduce-overhead", COMPILING },
  { "torch-graph", "graph", "PyTorch, a CUDA graph", EAGER },
}

--- Whether a declared implementation is one of those that `with_torch` adds.
function experts.is_torch(declared)
  return declared[2] == TORCH
end

--- The implementations that a task declares and, where it has lines for PyTorch, one for each way
-- to run them. These are run when they are asked for: PyTorch takes seconds to start.
-- @tparam table declared what a task's file says, {impls, torch}
function experts.with_torch(declared)
  local impls = declared.impls or {}
  if not declared.torch then return impls end
  local all = {}
  for key, value in pairs(impls) do all[key] = value end
  for _, mode in ipairs(MODES) do
    all[mode[1]] = { name = mode[1], "lua", TORCH, on_request = true, doc = mode[3],
      with = { source = declared.torch, mode = mode[2], name = declared.name,
        warm = mode[4] } }
  end
  return all
end

-- ---- arms ----

--- The plan of one, for the runner.
function experts.steps()
  return core.json_array { { expert = true } }
end

local NO_GPU = "an expert calls a library on a GPU, which a simulator is not"

-- A trusted runner for an arm that has none; it may still be opening.
local function start(session, arm)
  if arm.runner and not arm.runner.dead then return end
  local warm = arm.impl.with and arm.impl.with.warm
  if warm and session.libraries then warm = warm .. " libraries" end
  arm.runner = session.pool:take("trusted", warm)
end

--- Start what the experts among these arms need, so that drivers open side by side.
-- @tparam table session of perigee.judge
-- @tparam table arms
function experts.start(session, arms)
  for _, arm in ipairs(arms) do
    if experts.is(arm.impl) and not session.sim then start(session, arm) end
  end
end

--- A live trusted runner for an arm.
-- @tparam table session of perigee.judge
-- @tparam table arm
-- @treturn table|nil a failure
function experts.load(session, arm)
  if session.sim then return { verdict = "environment", reason = NO_GPU, findings = {} } end
  start(session, arm)
  arm.runner:ready()
  arm.sandbox, arm.kernels, arm.ptx = arm.runner:sandbox(), {}, nil
  return nil
end

--- Prepare the library for the arm's case: handles, plans, workspace, all untimed. `arm.library`
-- is what it says of itself, {library, version, note}, and prepare_ms.
-- @tparam table arm its buffers made
-- @tparam table list buffers in the runner's order
-- @treturn table|nil a failure; "environment" when this machine lacks the library
function experts.prepare(arm, list)
  local buffers = core.json_array {}
  for i, buffer in ipairs(list) do
    buffers[i] = { name = buffer.name, role = buffer.role, dtype = tostring(buffer.dtype),
      bytes = buffer.bytes,
      shape = core.json_array(table.move(buffer.shape, 1, #buffer.shape, 1, {})) }
  end
  local started = core.now()
  local said, failure = arm.runner:prepare { name = arm.impl.shown, source = arm.request.source,
    params = arm.case.p, buffers = buffers, options = arm.impl.with }
  if not said then return failure end
  said.prepare_ms = 1e3 * (core.now() - started)
  arm.library = said
  return nil
end

--- Why an arm is passed over: this machine lacks what it calls, and nobody asked for it by name.
-- @treturn string|nil the reason, and how to mend it
function experts.passed_over(arm, named)
  local failure = arm.failure
  if named or not experts.is(arm.impl) or not failure or failure.verdict ~= "environment" then
    return nil
  end
  return failure.hint and ("%s (%s)"):format(failure.reason, failure.hint) or failure.reason
end

return experts
