--- The judge's side of a runner: the process that loads a candidate and runs it (see host/judge).
-- What goes wrong with the candidate comes back as a failure {verdict, reason, hint, findings};
-- what goes wrong with the machine is raised.
-- @module perigee.runner

local core = require "perigee.core"
local errors = require "perigee.errors"
local globals = require "perigee.globals"
local suggest = require "perigee.suggest"
local verdict = require "perigee.verdict"
local worker = require "perigee.worker"

local Runner = {}
Runner.__index = Runner

local runner = {}

local function null_free(value)
  if value == core.null then return nil end
  return value
end

local OPEN_S, LOAD_S, MOVE_S, TIME_S = 120, 120, 300, 30
local PREPARE_S = 300 -- a library may compile and try
local HELLO_S = 5
local GRACE_S = 10 -- the simulator keeps its own limit and says where the kernel hung
local ALIGN = 256

local unconfined = false -- whether this machine's driver starts only so

--- Start a runner and let it open the device; `ready` waits for that.
-- @tparam string spec "cuda:0", "sim:check", "sim:check,seed=7", ...
-- @tparam table how {timeout = seconds a kernel may run}
-- @tparam[opt] string role "trusted" for one that calls libraries for a task's own expert
-- @tparam[opt] string warm module that a trusted one loads ahead of need
function runner.start(spec, how, role, warm)
  local self = setmetatable({ spec = spec, warm = warm, trusted = role == "trusted",
    timeout = how.timeout, sim = spec:match("^sim") ~= nil }, Runner)
  self:open(role or self.sim and "simulator" or unconfined and "unconfined" or "runner")
  return self
end

function Runner:open(role)
  self.worker = worker.start(role)
  self.worker:post({ op = "open", device = self.spec, limit_s = self.timeout,
    warm = self.warm }, OPEN_S)
end

-- What the runner answered to "open": the device's information, or nil and an error table.
function Runner:opened()
  local reply, e = self.worker:take()
  e = e or (not reply.ok and reply.error) or nil
  return not e and reply.info or nil, e
end

-- A driver may need what a confined process lacks, and no candidate is there yet: try without.
function Runner:open_unconfined()
  if self.sim or not suggest.has(self:sandbox(), "landlock")
    and not suggest.has(self:sandbox(), "seccomp") then return nil end
  self.worker:kill()
  self:open("unconfined")
  local info = self:opened()
  unconfined = info ~= nil
  return info
end

--- Wait until the device is open. @treturn table its information
-- @raise "environment" when it cannot be opened
function Runner:ready()
  if self.info then return self.info end
  local info, e = self:opened()
  info = info or self:open_unconfined()
  if not info then
    self:close()
    local code = (e.code == "timeout" or e.code == "crashed") and "environment" or e.code
    core.error(code, e.message, e.hint, e.where or self.spec)
  end
  self.info = info
  return info
end

-- One exchange. Returns the reply, or nil and a failure; a process that died or a GPU that faulted
-- is `dead`.
function Runner:request(request, deadline)
  local reply, e = self.worker:call(request, deadline)
  if reply and reply.ok then return reply end
  if not reply then self.dead = true end
  e = e or reply.error
  local fault = reply and reply.fault or nil
  if fault == core.null then fault = nil end
  if fault and not self.sim then self.dead = true end
  local failure = verdict.of_error(e, fault, reply and null_free(reply.findings))
  if not failure then core.error(e.code, e.message, e.hint, e.where) end
  return nil, failure
end

local LARGE = 1 << 30 -- bytes of variables that no machine is to blame for

-- A module whose variables have no room: the candidate's fault when they are that large.
local function too_large(ptx, failure)
  if failure.verdict == "environment" and globals.bytes(ptx) >= LARGE then
    failure.verdict = "launch_error"
    failure.reason = "its variables are too large: " .. failure.reason
  end
  return failure
end

--- Load PTX, replacing the module before.
-- @tparam string ptx
-- @tparam string name for messages
-- @tparam[opt] table variables names of those that are put back before every timed sample
-- @treturn table list of kernels {name, params, registers, ...}; or nil and a failure
-- @treturn table names of variables that were not found
function Runner:load(ptx, name, variables)
  local reply, failure = self:request({ op = "load", image = ptx, name = name,
    globals = variables and core.json_array(variables) }, LOAD_S)
  if not reply then
    if failure.verdict == "launch_error" and not failure.findings[1] then
      failure.verdict = "compile_error"
    end
    return nil, too_large(ptx, failure)
  end
  return reply.kernels, reply.globals_missing
end

local function starts_as_given(buffer)
  return buffer.role == "input" or buffer.role == "state"
end

-- The contents of buffer number i in each version, one when they are all the same.
local function contents_of(list, others, i)
  local contents, same = { list[i].array }, true
  for number, other in ipairs(others) do
    contents[number + 1] = other[i].array
    same = same and rawequal(other[i].array, list[i].array)
  end
  return same and { list[i].array } or contents
end

-- Places in the shared memory: initial contents of arrays, then room for what is read back.
local function lay_out(list, others, fresh)
  local at = 0
  local function place(bytes)
    local here = at
    at = at + (bytes + ALIGN - 1) // ALIGN * ALIGN
    return here
  end
  local places = {}
  for i, buffer in ipairs(list) do
    local sent = starts_as_given(buffer) and buffer.array and not buffer.fill
    local fetched = buffer.role ~= "input" and not buffer.scratch
    places[i] = { init = {}, contents = sent and contents_of(list, others, i) or {} }
    for number = 1, #places[i].contents do places[i].init[number] = place(buffer.bytes) end
    if sent and fresh and not rawequal(fresh[i].array, buffer.array) then
      places[i].fresh = place(buffer.bytes)
    end
    places[i].back = fetched and place(buffer.bytes) or nil
  end
  return places, math.max(at, ALIGN)
end

-- Leave a place open behind those of `count` versions, which may share one.
local function blank(at, count)
  for number = #at + 1, count do at[number] = at[1] end
  at[count + 1] = core.null
end

--- Make the buffers of a case, `sets` copies of state and outputs.
-- @tparam table list buffers in normal form (see perigee.buffers)
-- @tparam integer sets
-- @tparam[opt] table others the same lists for further versions of the case: set s starts from
--   version s modulo their number
-- @tparam[opt] table fresh the same list for one more version, whose contents come with a request
--   for time
-- @treturn boolean true; or nil and a failure
function Runner:setup(list, sets, others, fresh)
  local places, bytes = lay_out(list, others or {}, fresh)
  local shared, e = errors.catch("out_of_memory", self.worker.share, self.worker, bytes)
  if not shared then return nil, verdict.of_error(e) end
  local described = core.json_array {}
  for i, buffer in ipairs(list) do
    local item = { name = buffer.name, bytes = buffer.bytes, role = buffer.role,
      judged = places[i].back ~= nil }
    if #places[i].init > 0 then
      item.at = core.json_array(places[i].init)
      for number, array in ipairs(places[i].contents) do
        if buffer.bytes > 0 then
          self.worker:view(buffer.dtype, buffer.shape, item.at[number]):copy_from(array)
        end
      end
      if places[i].fresh then blank(item.at, #(others or {}) + 1) end
    elseif starts_as_given(buffer) then
      item.fill = buffer.fill or 0
    end
    described[i] = item
  end
  self.list, self.places = list, places
  local reply, failure = self:request({ op = "buffers", sets = sets, buffers = described }, MOVE_S)
  if not reply then return nil, failure end
  return true
end

--- Give back the device memory of all buffers. @treturn boolean whether it could
function Runner:clear()
  return self:setup({}, 1) == true
end

--- Have a task's own host code prepare for the buffers (a trusted runner).
-- @tparam table what {name, source, params, buffers, options}, see perigee.trusted
-- @treturn table {library, version}; or nil and a failure
function Runner:prepare(what)
  what.op = "prepare"
  local reply, failure = self:request(what, PREPARE_S)
  if not reply then
    if failure.where and failure.verdict ~= "environment" then
      failure.reason = ("%s: %s"):format(failure.where, failure.reason)
    end
    return nil, failure
  end
  return { library = reply.library, version = reply.version, note = reply.note }
end

-- The contents of a version that setup left open, put where the runner takes them from: what a
-- request for time says of it. `how`: {sample = number, version = number, list = its buffers}.
local function renewal(self, how)
  local items = core.json_array {}
  for i, buffer in ipairs(how.list) do
    local at = self.places[i] and self.places[i].fresh
    if at and buffer.bytes > 0 then
      self.worker:view(buffer.dtype, buffer.shape, at):copy_from(buffer.array)
      items[#items + 1] = { index = i - 1, at = at }
    end
  end
  return { sample = how.sample, version = how.version, buffers = items }
end

-- Writes outside a buffer or to an input, seen after the run.
local function damage(reply)
  local canary = null_free(reply.canary)
  if canary then
    local found = { kind = "out_of_bounds", text = canary.text }
    if canary.side ~= "master" then -- which belongs to no buffer that the candidate knows
      found.allocation = canary.buffer
      found.distance = canary.side == "before" and -canary.offset or canary.offset
    end
    return { verdict = "out_of_bounds", reason = canary.text, findings = { found } }
  end
  local changed = null_free(reply.inputs_changed)
  if changed and #changed > 0 then
    local text = ("the candidate changed its input %s"):format(table.concat(changed, ", "))
    return { verdict = "input_modified", reason = text, findings = { { kind = "read_only",
      text = text } } }
  end
  return nil
end

local function count(steps)
  local sum = 0
  for _, step in ipairs(steps) do sum = sum + (step.steps and count(step.steps) or 1) end
  return sum
end

-- The simulator keeps the limit of each kernel itself; a GPU's kernels end with their process. A
-- loop gets no more time than its steps once: who needs more says so with --timeout.
function Runner:deadline(steps)
  return self.sim and self.timeout * math.max(1, count(steps)) + GRACE_S or self.timeout
end

--- Reset set `set`, run the plan once.
-- @tparam[opt] table how {lines = count by source line, too (sim:profile), schedule = {seed =,
--   workers =}, how the simulator shuffles, digest = of what it wrote, too}
-- @treturn table {wall_us, counters, findings, profile, digest}; or nil and a failure
function Runner:run(set, steps, poison, how)
  local schedule = how and how.schedule or {}
  local reply, failure = self:request({ op = "run", set = set, plan = steps, poison = poison,
    lines = how and how.lines or false, digest = how and how.digest or false,
    schedule = schedule.seed, workers = schedule.workers },
    self:deadline(steps))
  if not reply then return nil, failure end
  failure = damage(reply)
  if failure then return nil, failure end
  return { wall_us = reply.wall_us, counters = null_free(reply.counters),
    findings = null_free(reply.findings), profile = reply.profile,
    digest = null_free(reply.digest) }
end

--- Bring a set into the task's layout, over inputs that hold `poison` meanwhile.
-- @treturn number microseconds of wall time; or nil and a failure
function Runner:export(set, steps, poison)
  local reply, failure = self:request({ op = "export", set = set, plan = steps, poison = poison },
    self:deadline(steps) + MOVE_S)
  if not reply then return nil, failure end
  failure = damage(reply)
  if failure then return nil, failure end
  return reply.export_us
end

--- Fetch state and outputs of a set.
-- @tparam integer set
-- @tparam[opt] function wants name -> whether to fetch it (default: all)
-- @treturn table name -> array (a view of shared memory, valid until that buffer is read again, or
--   setup); or nil and a failure
function Runner:read(set, wants)
  local wanted, arrays = core.json_array {}, {}
  local function place(i, buffer)
    return (not wants or wants(buffer.name)) and self.places[i].back or nil
  end
  for i, buffer in ipairs(self.list) do
    local at = place(i, buffer)
    if at and buffer.bytes > 0 then wanted[#wanted + 1] = { index = i - 1, at = at } end
  end
  local reply, failure = self:request({ op = "read", set = set, buffers = wanted }, MOVE_S)
  if not reply then return nil, failure end
  local touched = {}
  for i, item in ipairs(wanted) do
    touched[self.list[item.index + 1].name] = null_free((reply.touched or {})[i])
  end
  setmetatable(arrays, { touched = touched })
  for i, buffer in ipairs(self.list) do
    local at = place(i, buffer)
    if at and buffer.bytes > 0 then
      arrays[buffer.name] = self.worker:view(buffer.dtype, buffer.shape, at)
    elseif at then
      arrays[buffer.name] = core.array(buffer.dtype, buffer.shape)
    end
  end
  return arrays
end

--- What is known of arrays that `read` gave: by name, a list of first and end bytes of what differs
-- from the buffer's start. The rest need not be looked at.
function runner.touched(arrays)
  return (getmetatable(arrays) or {}).touched or {}
end

--- Take timing samples: one for each listed set (batch: one for each group of `how.batch`; graph:
-- `how.samples` of the one group).
-- @tparam table how {method, sets, steps, poison, warmup, batch, samples, guards = false: zones and
--   inputs are compared by a later request, move = buffers go to other memory first, unpin = what
--   stays in L2 is given up before every cold sample, not only before the first,
--   right = digests by set, keep = number of a sample, keep_in = the set that gets what it wrote,
--   or what the first wrote that differs from `right`, renew = {sample, version, list = buffers}:
--   inputs that come right before a sample, of a version that setup left open; numbers from 0}
-- @treturn table {us = {...}, health = {...}, late = numbers of samples that were not accepted,
--   inverted = graphs that took no longer for more launches, host_bound = samples that the host was
--   late for whatever was done, clock_mhz = {before, after} or nil, differ = numbers of samples
--   whose digest is another, kept = {sample, set}, starts = times of a kernel that does nothing};
--   numbers from 0; or nil and a failure
function Runner:time(how)
  local reply, failure = self:request({
    op = "time", method = how.method, sets = core.json_array(how.sets), plan = how.steps,
    poison = how.poison, warmup = how.warmup or 0, batch = how.batch or 1, samples = how.samples,
    guards = how.guards, move = how.move, unpin = how.unpin, right = how.right,
    keep = how.keep, keep_in = how.keep_in, renew = how.renew and renewal(self, how.renew),
  }, self:deadline(how.steps) + TIME_S)
  if not reply then return nil, failure end
  failure = damage(reply)
  if failure then return nil, failure end
  return { us = reply.us, health = null_free(reply.health) or {}, late = reply.late,
    inverted = reply.inverted, host_bound = reply.host_bound,
    clock_mhz = null_free(reply.clock_mhz), differ = null_free(reply.differ),
    kept = null_free(reply.kept), starts = reply.starts }
end

--- Whether its process still runs and, once the device is open, answers.
function Runner:answers()
  if not self.info then return self.worker:alive() end
  return self.worker:call({ op = "hello" }, HELLO_S) ~= nil
end

--- Names of the restrictions that the process obtained.
function Runner:sandbox()
  return self.worker:sandbox()
end

--- Kill the process without waiting: it may take its time to give the device back. `close` follows.
function Runner:stop()
  self.dead = true
  self.worker:stop()
end

--- End the process.
function Runner:close()
  self.dead = true
  self.worker:kill()
end

return runner
