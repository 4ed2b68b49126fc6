--- `perigee --join SOCKET`: what an agent under evaluation starts as its server. It hands messages
-- on to a server that runs elsewhere, out of the agent's reach.
-- @module perigee.serve.join

local core = require "perigee.core"

local join = {}

-- Move what waits to where it goes; false when nobody takes it any more.
local function push(way)
  if #way.bytes == 0 then return true end
  local taken = way.to:write(way.bytes)
  if not taken then return false end
  way.bytes = way.bytes:sub(taken + 1)
  return true
end

-- Bytes are taken one load at a time: who does not read is not read from.
local function pull(way)
  if way.ended or #way.bytes > 0 then return end
  local bytes = way.from:read()
  way.ended, way.bytes = bytes == nil, bytes or ""
end

local function wants(way, back)
  local reads = not way.ended and #way.bytes == 0
  return (reads and "r" or "") .. (#back.bytes > 0 and "w" or "")
end

--- @tparam string path of the socket
-- @treturn integer exit status
function join.main(path)
  local server <close> = core.connect(path)
  local client <close> = core.standard_channel()
  local out, back = { from = client, to = server, bytes = "" },
    { from = server, to = client, bytes = "" }
  local told = false
  while not back.ended do
    core.poll({ client, server }, { wants(out, back), wants(back, out) }, -1)
    pull(out)
    pull(back)
    if not push(out) or not push(back) then break end
    if out.ended and #out.bytes == 0 and not told then
      told = true
      server:finish()
    end
  end
  return 0
end

return join
