-- Channels to a child of this program, waiting for several, and locks.
local lu = require "luaunit"
local core = require "perigee.core"
local files = require "perigee.files"

local folder = files.temporary()

TestChannel = {}

local function refuses(code, call, ...)
  local ok, e = pcall(call, ...)
  lu.assertFalse(ok)
  lu.assertEquals(type(e) == "table" and e.code or "invalid", code)
end

function TestChannel:test_misuse_is_an_error()
  local channel = core.start("--version")
  refuses("invalid", channel.write, channel, "x", 3)
  refuses("invalid", channel.write, channel, {})
  refuses("invalid", core.poll, { channel }, {}, 1)
  refuses("invalid", core.poll, { channel }, { "r" }, 0 / 0)
  refuses("invalid", core.poll, { "x" }, { "r" }, 0)
  refuses("invalid", core.start)
  refuses("invalid", core.start, "a\0b")
  refuses("invalid", core.connect, "a\0b")
  channel:close()
  refuses("invalid", channel.read, channel)
  channel:close()
end

function TestChannel:test_a_child_is_heard_to_its_end()
  local channel <close> = core.start("--version")
  local text, bytes = ""
  repeat
    lu.assertEquals(core.poll({ channel }, { "r" }, 30)[1]:sub(1, 1), "r")
    bytes = channel:read()
    text = text .. (bytes or "")
  until not bytes
  lu.assertStrContains(text, "perigee " .. core.version)
  lu.assertNil(channel:write("x"))
  lu.assertNotNil(channel:pid())
  channel:kill()
  channel:kill()
  lu.assertNil(channel:pid())
  lu.assertEquals(channel:memory(), 0)
end

function TestChannel:test_nothing_waits_where_nothing_is_there()
  local channel <close> = core.start("serve")
  lu.assertEquals(channel:read(), "")
  lu.assertEquals(core.poll({ channel }, { "r" }, 0), { "" })
  local sent = 0 -- to a child that is not yet reading: what fits is taken, then nothing
  for _ = 1, 1000 do sent = sent + channel:write(("x"):rep(1 << 16)) end
  lu.assertTrue(sent < 1000 << 16)
  lu.assertTrue(channel:memory() >= 0)
end

function TestChannel:test_a_lock_is_held_by_one_until_it_is_closed()
  local path = folder .. "/lock"
  local first = assert(core.lock(path))
  local other, e = core.lock(path)
  lu.assertEquals({ other, e }, {})
  collectgarbage "stop" -- whoever waits for it asks often: that takes no descriptors
  local before = #core.list_dir "/proc/self/fd"
  for _ = 1, 100 do lu.assertNil(core.lock(path)) end
  lu.assertEquals(#core.list_dir "/proc/self/fd", before)
  collectgarbage "restart"
  do local _ <close> = first end
  do
    local _ <close> = core.lock(path)
    os.remove(path) -- who holds it may remove it: the next one makes another
    local _ <close> = assert(core.lock(path))
    lu.assertEquals({ core.lock(path) }, {})
  end
  lu.assertNotNil(core.lock(path))
  other, e = core.lock(folder .. "/none/lock")
  lu.assertNil(other)
  lu.assertEquals(e.code, "not_found")
end

local status = lu.LuaUnit.run()
files.remove(folder)
os.exit(status, true)
