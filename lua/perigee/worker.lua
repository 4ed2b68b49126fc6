--- A helper process that answers JSON requests (see host/judge/worker.h), with requests and replies
-- as tables. `post` sends a request and returns at once, `take` waits for its reply: two workers
-- can work at a time.
-- @module perigee.worker

local core = require "perigee.core"

local Worker = {}
Worker.__index = Worker

local worker = {}

--- Start a process.
-- @tparam string role "runner", "simulator" (a runner that opens no other device), "unconfined" (a
--   runner for a driver that does not start under Landlock and seccomp) or "compiler"
function worker.start(role)
  return setmetatable({ raw = core.worker(role), role = role }, Worker)
end

-- Empty texts in an error say nothing.
local function tidy(reply)
  for _, field in ipairs { "hint", "where" } do
    if reply.error and reply.error[field] == "" then reply.error[field] = nil end
  end
  return reply
end

local function decode(text)
  local reply, message = core.json_decode(text)
  if type(reply) == "table" then return tidy(reply) end
  return nil, { code = "crashed", message = "a worker answered with no JSON: "
    .. tostring(message) }
end

--- Send a request; its reply is fetched by `take`. One request may be under way.
-- @tparam table request
-- @tparam number deadline seconds until the process is killed
function Worker:post(request, deadline)
  assert(not self.posted, "a request is under way")
  self.posted = { raw = self.raw:post(core.json_encode(request), deadline) }
end

--- Wait for the reply to the request under way.
-- @treturn table reply, or nil and an error table (timeout, crashed)
function Worker:take()
  self.posted = nil
  local text, e = self.raw:take()
  if not text then return nil, e end
  return decode(text)
end

--- post and take in one.
function Worker:call(request, deadline)
  self:post(request, deadline)
  return self:take()
end

--- Memory that both processes see; a larger request replaces it.
function Worker:share(bytes)
  if not self.shared or self.shared < bytes then
    self.raw:share(bytes)
    self.shared = bytes
  end
end

--- An array over the shared memory.
function Worker:view(dtype, shape, offset)
  return self.raw:view(dtype, shape, offset)
end

--- Whether the process still runs. @treturn boolean
function Worker:alive()
  return self.raw:alive()
end

--- Its process id, nil once it has ended.
function Worker:pid()
  return self.raw:pid()
end

function Worker:sandbox()
  return self.raw.sandbox
end

--- Kill the process without waiting for its end; `kill` waits.
function Worker:stop()
  if self.raw then self.raw:stop() end
end

--- Kill the process; allowed twice.
function Worker:kill()
  if self.raw then self.raw:kill() end
end

return worker
