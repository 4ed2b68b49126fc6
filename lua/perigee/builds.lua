--- The compilations of a session: each source with its options once, several at a time, while the
-- judge does something else.
-- @module perigee.builds

local core = require "perigee.core"
local compile = require "perigee.compile"
local errors = require "perigee.errors"
local experts = require "perigee.experts"
local impl = require "perigee.impl"
local verdict = require "perigee.verdict"

local Builds = {}
Builds.__index = Builds

local builds = {}

local CANDIDATE_S = 60 -- a stranger's source that takes longer is a bomb, unless the user says more

--- @tparam string arch "compute_90"
-- @tparam function progress called with a text
-- @tparam[opt] table how {trust = compile candidates in languages whose compilers run code of
--   theirs, also where this kernel cannot confine that; timeout = seconds that a candidate may take
--   if that is more than a minute}
function builds.new(arch, progress, how)
  how = how or {}
  return setmetatable({ arch = arch, progress = progress, trust = how.trust,
    limit_s = math.max(CANDIDATE_S, how.timeout or 0), done = {} }, Builds)
end

local function key_of(request, arch)
  return core.json_encode { arch, request.path, request.lang, core.sha256(request.source),
    table.concat(request.options, "\n"), table.concat(request.expressions, "\n") }
end

-- An error of a source or a compiler as a failure of the arm.
local function failure_of(e)
  local word = (e.code == "environment" or e.code == "unsupported") and e.code or "compile_error"
  return {
    verdict = word, reason = e.message, hint = e.hint, log = e.log,
    findings = { { kind = word, text = e.message, where = e.where } },
  }
end

-- What the arm compiles. A source that cannot be read is the candidate's fault, not the end of the
-- run.
local function prepare(self, arm)
  arm.request, arm.key, arm.source_sha = nil, nil, nil
  if arm.impl.broken then
    arm.failure = verdict.of_plan(arm.impl.broken, "compile_error")
    return
  end
  local ok, request = errors.catch("io", impl.request, arm.impl, arm.p)
  if not ok and (request.code == "io" or request.code == "range") and not arm.impl.is_data then
    arm.failure = failure_of(request)
    return
  end
  if not ok and arm.impl.is_data then
    arm.failure = verdict.of_plan(request, "compile_error")
    return
  end
  if not ok then errors.again(request, arm.impl.where) end
  arm.request = request
  request.foreign = arm.impl.foreign and not self.trust
  request.limit_s = request.foreign and self.limit_s or nil
  arm.source_sha = core.sha256(request.source)
  arm.key = key_of(request, self.arch)
end

-- Start what is new among arms[first..last]. @treturn table list of builds under way
function Builds:start(arms, first, last)
  local started = {}
  for i = first, last do
    local arm = arms[i]
    prepare(self, arm)
    if arm.key and not experts.is(arm.impl) and not self.done[arm.key] then
      self.progress("compiling " .. arm.impl.shown)
      self.done[arm.key] = { job = compile.start(arm.request, self.arch, self.spare,
        self.progress) }
      self.spare = nil
      started[#started + 1] = self.done[arm.key]
    end
  end
  return started
end

--- Compile what the arms need; each gets request, key, source_sha, and built and ptx or failure.
-- @tparam table arms
-- @tparam[opt] function meanwhile called while the first compilers work
function Builds:compile(arms, meanwhile)
  local window = math.max(1, core.cpu_count())
  for first = 1, #arms, window do
    local started = self:start(arms, first, math.min(#arms, first + window - 1))
    if first == 1 and meanwhile then meanwhile() end
    for _, built in ipairs(started) do built.result, built.error = compile.finish(built.job) end
  end
  for _, arm in ipairs(arms) do
    local built = arm.key and self.done[arm.key]
    if built then
      arm.built, arm.failure = built.result, built.error and failure_of(built.error) or nil
      arm.ptx = built.result and built.result.ptx
      arm.map = arm.ptx and compile.argument_map(arm.ptx)
    end
  end
end

--- Have a compiler ready for what comes next.
function Builds:prepare()
  self.spare = self.spare or compile.spare()
end

function Builds:close()
  if self.spare then self.spare:kill() end
  self.spare = nil
end

return builds
