-- Workers from Lua: a process that answers JSON, memory shared as arrays, deaths as values.
local lu = require "luaunit"
local core = require "perigee.core"

TestWorker = {}

local function spawn(role)
  return core.worker(role or "runner")
end

local function caught(f, ...)
  local ok, e = pcall(f, ...)
  lu.assertFalse(ok)
  lu.assertEquals(type(e), "table")
  return e
end

function TestWorker:test_hello()
  local w <close> = spawn()
  local reply = core.json_decode(w:call('{"op":"hello"}', 60))
  lu.assertTrue(reply.ok)
  lu.assertEquals(reply.role, "runner")
  lu.assertEquals(reply.pid, w:pid())
  -- The judge adds what it does itself.
  table.insert(reply.sandbox, "memory-watch")
  lu.assertEquals(w.sandbox, reply.sandbox)
  lu.assertTableContains(w.sandbox, "no-new-privs")
end

function TestWorker:test_errors_of_the_worker_are_replies()
  local w <close> = spawn("compiler")
  local reply = core.json_decode(w:call("{", 60))
  lu.assertFalse(reply.ok)
  lu.assertEquals(reply.error.code, "syntax")
end

-- A compiler that was prepared compiles as any other; one that finds no library says so only then.
function TestWorker:test_a_compiler_can_be_prepared()
  local w <close> = spawn("compiler")
  lu.assertTrue(core.json_decode(w:call('{"op":"prepare"}', 60)).ok)
  local request = { op = "compile", name = "k.cu", cache = false,
    source = 'extern "C" __global__ void k() {}' }
  local reply = core.json_decode(w:call(core.json_encode(request), 60))
  if core.compiler_info() then
    lu.assertStrContains(reply.ptx, ".entry k")
  else
    lu.assertEquals(reply.error.code, "environment")
  end
end

function TestWorker:test_stop_does_not_wait_and_kill_does()
  local w <close> = spawn()
  w:stop()
  local reply, e = w:call('{"op":"hello"}', 60)
  lu.assertNil(reply)
  lu.assertEquals(e.code, "crashed")
  w:kill()
  lu.assertNil(w:pid())
end

function TestWorker:test_misuse_is_raised()
  lu.assertEquals(caught(core.worker, "gardener").code, "invalid")
  lu.assertEquals(caught(core.worker).code, "invalid")
  local w <close> = spawn()
  lu.assertEquals(caught(w.call, w, 7, 1).code, "invalid")
  lu.assertEquals(caught(w.call, w, "{}").code, "invalid")
  lu.assertEquals(caught(w.call, w, "{}\0{}", 1).code, "invalid")
  lu.assertEquals(caught(w.share, w, 0).code, "invalid")
  lu.assertEquals(caught(w.share, w, 1 << 50).code, "out_of_memory")
  lu.assertEquals(caught(w.view, w, "f32", 1).code, "invalid") -- nothing is shared yet
end

function TestWorker:test_deaths_are_values()
  local w = spawn()
  local reply, e = w:call("{}", -1)
  lu.assertNil(reply)
  lu.assertEquals(e.code, "range")
  w:kill()
  lu.assertNil(w:pid())
  reply, e = w:call("{}", 1)
  lu.assertNil(reply)
  lu.assertEquals(e.code, "crashed")
  lu.assertStrContains(e.message, "killed on request")
  w:kill()
  w:close()
  lu.assertEquals(caught(w.call, w, "{}", 1).code, "invalid")
end

function TestWorker:test_two_at_a_time()
  local a <close> = spawn()
  lu.assertTrue(a:post('{"op":"hello"}', 60))
  local other <close> = spawn()
  lu.assertTrue(other:post('{"op":"hello"}', 60))
  local again, e = a:post('{"op":"hello"}', 60)
  lu.assertNil(again)
  lu.assertEquals(e.code, "invalid")
  lu.assertEquals(core.json_decode(a:take()).pid, a:pid())
  lu.assertEquals(core.json_decode(other:take()).pid, other:pid())
  again, e = a:take()
  lu.assertNil(again)
  lu.assertEquals(e.code, "invalid")
end

function TestWorker:test_views_of_shared_memory()
  local w = spawn()
  w:share(4096)
  local x = w:view("f32", 16, 64)
  local bytes = w:view("u8", 4096)
  lu.assertEquals(x.count, 16)
  x:fill(1)
  lu.assertEquals(bytes[64 + 3], 0x3f)
  lu.assertEquals(bytes[63], 0)
  lu.assertEquals(w:view("f32", { 4, 4 }, 64).shape, { 4, 4 })
  lu.assertEquals(caught(w.view, w, "f32", 1024, 4).code, "range")
  lu.assertEquals(caught(w.view, w, "f32", 1, 2).code, "range") -- not aligned
  lu.assertEquals(caught(w.view, w, "f32", 1, -4).code, "range")
  lu.assertEquals(caught(w.view, w, "f32", { 1 << 40, 1 << 40 }, 0).code, "range")
  lu.assertEquals(caught(w.view, w, "f32", 1, 0.5).code, "invalid")
end

function TestWorker:test_views_outlive_the_worker()
  local w = spawn()
  w:share(4096)
  local x = w:view("i32", 1024)
  x:fill(7)
  w:share(8192)
  collectgarbage()
  lu.assertEquals(w:view("i32", 2048)[0], 0)
  w:close()
  lu.assertEquals(x:sum(), 7 * 1024)
end

function TestWorker:test_collected_workers_are_killed()
  local status = ("/proc/%d/stat"):format(spawn():pid()) -- nobody holds the worker
  collectgarbage()
  collectgarbage()
  lu.assertNil(core.file_info(status))
end

os.exit(lu.LuaUnit.run "-v")
