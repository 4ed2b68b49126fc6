-- The Lua binding of devices, on PERIGEE_TEST_DEVICE or the default one: what a script relies on,
-- checked against formulas in binary64. tests/lua/test_device.lua runs the same on the simulator.
local lu = require "luaunit"
local core = require "perigee.core"

io.stdout:setvbuf "line" -- whoever stops it sees how far it came
local SPEC = os.getenv("PERIGEE_TEST_DEVICE") or core.default_device()

local SAXPY = [[
extern "C" __global__ void saxpy(const float *x, float *y, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += a * x[i];
}]]

-- Writes each parameter where it can be read back.
local KINDS = [[
struct Pair { float a; int b[2]; };
extern "C" __global__ void kinds(double *out, signed char c, unsigned short h, int i, long long l,
                                 unsigned long long u, float f, double d, bool t, Pair s) {
  out[0] = c, out[1] = h, out[2] = i, out[3] = (double)l, out[4] = (double)u;
  out[5] = f, out[6] = d, out[7] = t, out[8] = s.a, out[9] = s.b[0], out[10] = s.b[1];
}
extern "C" __global__ void nothing() {}]]

local TestDevice = {}
local dev, saxpy_module

local function need_nvrtc()
  if not core.compiler_info() then lu.skip("no NVRTC on this machine") end
end

local function compiled(source, name)
  need_nvrtc()
  local info = dev:info()
  return core.compile { source = source, name = name,
    arch = ("compute_%d%d"):format(info.cc_major, info.cc_minor) }
end

local function kernel(source, name)
  return dev:load(compiled(source, name .. ".cu").ptx, name .. ".ptx"):kernel(name)
end

local function saxpy()
  saxpy_module = saxpy_module or dev:load(compiled(SAXPY, "saxpy.cu").ptx, "saxpy.ptx")
  return saxpy_module:kernel "saxpy"
end

local function raises(code, pattern, f, ...)
  local ok, e = pcall(f, ...)
  lu.assertFalse(ok)
  lu.assertEquals(type(e), "table", tostring(e))
  lu.assertEquals(e.code, code, e.message)
  lu.assertStrContains(e.message .. "\n" .. (e.hint or ""), pattern)
  return e
end

function TestDevice:setUp()
  dev = core.device(SPEC)
end

function TestDevice:tearDown()
  saxpy_module = nil
  dev:close()
end

function TestDevice:test_info()
  local info = dev:info()
  lu.assertEquals(info.spec, SPEC)
  lu.assertEquals(info.kind, SPEC:match("^%a+"))
  lu.assertTrue(#info.name > 0)
  lu.assertTrue(info.cc_major >= 5)
  lu.assertTrue(info.multiprocessors >= 1)
  lu.assertTrue(info.max_threads_per_block >= 256)
  lu.assertEquals(#info.max_grid, 3)
  lu.assertEquals(info.gpu_clock, info.kind == "cuda")
end

function TestDevice:test_upload_and_download_keep_dtype_and_shape()
  local a = core.array("i32", { 3, 5 })
  for i = 0, 14 do a[i] = i * i - 7 end
  local buffer = dev:upload(a, "squares")
  lu.assertEquals(buffer.nbytes, 60)
  lu.assertEquals(buffer.dtype, "i32")
  lu.assertEquals(buffer.shape, { 3, 5 })
  local back = buffer:download()
  lu.assertEquals(back.dtype, "i32")
  lu.assertEquals(back.shape, { 3, 5 })
  lu.assertTrue(back:equal_bits(a))
  local into = core.array("u8", 60)
  lu.assertEquals(buffer:download(into):tostring(), a:tostring())
end

function TestDevice:test_fill_copy_and_overwrite()
  local a, b = dev:alloc(100, "a"), dev:alloc(40, "b")
  a:fill(0x5A)
  b:fill(0):copy_from(a)
  lu.assertEquals(b:download():tostring(), ("\x5A"):rep(40))
  local words = core.array("u16", 20)
  words:fill(513)
  lu.assertEquals(b:upload(words):download():tostring(), ("\1\2"):rep(20))
  raises("range", "the array has 40 bytes, the buffer 100", a.upload, a, words)
  raises("range", "the array has 40 bytes, the buffer 100", a.download, a, words)
  raises("invalid", "byte from 0 to 255", a.fill, a, 256)
end

function TestDevice:test_saxpy_against_binary64()
  local n = 100003
  local x = core.array("f32", n):random { seed = 1, dist = "normal" }
  local y = core.array("f32", n):random { seed = 2, dist = "normal" }
  local dx, dy = dev:upload(x, "x"), dev:upload(y, "y")
  saxpy():launch { grid = (n + 255) // 256, block = 256, args = { dx, dy, 2.5, n } }
  local got = dy:download()
  for i = 0, n - 1, 97 do
    local want = y[i] + 2.5 * x[i]
    local bound = 2 ^ -22 * math.max(1, math.abs(want), math.abs(2.5 * x[i])) -- two roundings
    lu.assertAlmostEquals(got[i], want, bound)
  end
  lu.assertTrue(dx:download():equal_bits(x))
end

function TestDevice:test_every_kind_of_argument_arrives()
  local k = kernel(KINDS, "kinds")
  local out = dev:upload(core.array("f64", 11), "out")
  local pair = core.array(core.struct("Pair", { { "a", "f32" }, { "b", "i32", 2 } }), 1)
  pair[0] = { a = 0.5, b = { 11, -12 } }
  local function check(args, want)
    k:launch { grid = 1, block = 1, args = args }
    lu.assertEquals(out:download():totable(), want)
  end
  check({ out, -7, 65535, -(1 << 31), -(1 << 53), 1 << 53, 1.5, 0.1, true, pair },
    { -7.0, 65535.0, -2147483648.0, -9007199254740992.0, 9007199254740992.0, 1.5, 0.1, 1.0, 0.5,
      11.0, -12.0 })
  check({ out.ptr, 3.0, 1, (1 << 32) - 1, 5, 6, 7, 8, false, string.pack("<fi4i4", 2.5, 1, 2) },
    { 3.0, 1.0, -1.0, 5.0, 6.0, 7.0, 8.0, 0.0, 2.5, 1.0, 2.0 })
end

function TestDevice:test_kernel_info_tells_parameters()
  local info = kernel(KINDS, "kinds"):info()
  lu.assertEquals(info.name, "kinds")
  lu.assertEquals(#info.params, 10)
  local offsets, sizes = {}, {}
  for i, p in ipairs(info.params) do offsets[i], sizes[i] = p.offset, p.size end
  lu.assertEquals(offsets, { 0, 8, 10, 12, 16, 24, 32, 40, 48, 52 })
  lu.assertEquals(sizes, { 8, 1, 2, 4, 8, 8, 4, 8, 1, 12 })
  lu.assertEquals(info.params[7].text, "f32")
  lu.assertEquals(info.params[10].kind, "b")
  lu.assertEquals(info.param_bytes, 64)
  local none = dev:load(compiled(KINDS, "k.cu").ptx):kernel("nothing"):info()
  lu.assertEquals(none.params, {})
end

function TestDevice:test_wrong_arguments_say_which_and_what()
  local k, b = saxpy(), dev:alloc(4096)
  local x = core.array("f32", 4)
  local function wrong(pattern, args)
    raises("launch_error", pattern, k.launch, k, { grid = 1, block = 1, args = args })
    raises("launch_error", pattern, k.bind, k, { grid = 1, block = 1, args = args })
  end
  wrong("kernel saxpy takes 4 arguments", { b, b, 2.5 })
  wrong("got 5", { b, b, 2.5, 1, 1 })
  wrong("argument #1 of kernel saxpy: expected pointer", { "x", b, 2.5, 1 })
  wrong("argument #2 of kernel saxpy: expected pointer", { b, x, 2.5, 1 })
  wrong("pass dev:upload(array)", { b, x, 2.5, 1 })
  wrong("argument #3 of kernel saxpy: expected f32, got buffer", { b, b, b, 1 })
  wrong("argument #3 of kernel saxpy: expected f32, got table", { b, b, {}, 1 })
  wrong("argument #4 of kernel saxpy: expected i32, got number 1.5", { b, b, 2, 1.5 })
  wrong("argument #4 of kernel saxpy: expected i32, got 4294967296", { b, b, 2, 1 << 32 })
  wrong("argument #4 of kernel saxpy: expected i32, got -2147483649", { b, b, 2, -(1 << 31) - 1 })
end

function TestDevice:test_wrong_shapes_are_launch_errors()
  local k, b = saxpy(), dev:alloc(4096)
  local function launch(grid, block, shared)
    k:launch { grid = grid, block = block, shared = shared, args = { b, b, 1, 0 } }
    dev:sync()
  end
  raises("launch_error", "grid", launch, 0, 1)
  raises("launch_error", "saxpy", launch, 1, 0)
  raises("launch_error", "saxpy", launch, 1, 1025)
  raises("launch_error", "saxpy", launch, 1, { 32, 32, 2 })
  raises("launch_error", "saxpy", launch, { 1, 70000 }, 1)
  raises("launch_error", "saxpy", launch, 1, 1, 1 << 20)
  raises("range", "out of range", launch, -1, 1)
  raises("invalid", "expected", launch, 1.5, 1)
  raises("invalid", "expected", launch, {}, 1)
  raises("invalid", "expected", launch, { 1, 1, 1, 1 }, 1)
  raises("invalid", "unknown option", k.launch, k, { grid = 1, blocks = 1 })
  raises("invalid", "table", k.launch, k)
  launch({ 2, 2 }, { 8, 8, 2 }, 1024) -- and a right one still runs
end

function TestDevice:test_bind_packs_once()
  local n = 1000
  local dx, dy = dev:upload(core.array("f32", n, 1), "x"), dev:upload(core.array("f32", n, 0), "y")
  local step = saxpy():bind { grid = 4, block = 256, args = { dx, dy, 1, n } }
  for _ = 1, 10 do step() end
  lu.assertEquals(dy:download():sum(), 10.0 * n)
  dx = nil -- luacheck: ignore 311 (the binding must keep the buffer and the module alive by itself)
  saxpy_module = nil
  collectgarbage()
  collectgarbage()
  step()
  lu.assertEquals(dy:download():sum(), 11.0 * n)
end

function TestDevice:test_a_freed_buffer_is_refused()
  local b, other = dev:alloc(4096), dev:alloc(4096)
  local step = saxpy():bind { grid = 1, block = 1, args = { b, other, 1, 0 } }
  b:free()
  b:free()
  raises("invalid", "freed", step)
  raises("invalid", "freed", b.download, b)
  raises("invalid", "freed", saxpy().launch, saxpy(),
    { grid = 1, block = 1, args = { b, other, 1, 0 } })
end

function TestDevice:test_modules_name_their_kernels()
  local m = dev:load(compiled(KINDS, "kinds.cu").ptx, "kinds.ptx")
  local names = m:kernels()
  table.sort(names)
  lu.assertEquals(names, { "kinds", "nothing" })
  local e = raises("not_found", "kinds", m.kernel, m, "kindz")
  lu.assertStrContains(e.message, "kindz")
end

function TestDevice:test_what_is_no_ptx_is_refused()
  local e = raises("syntax", "", dev.load, dev, "this is no PTX", "bad.ptx")
  lu.assertStrContains(e.where, "bad.ptx")
  local ptx = compiled(SAXPY, "saxpy.cu").ptx
  local broken = ptx:gsub("ld.global.f32", "lod.global.f32", 1)
  lu.assertNotEquals(broken, ptx)
  local ok, broke = pcall(dev.load, dev, broken, "broken.ptx")
  lu.assertFalse(ok)
  lu.assertStrContains(broke.where, "broken.ptx:")
end

-- tests/gpu/run makes a cubin of the saxpy above where there is an nvcc, and names it.
function TestDevice:test_a_cubin_runs()
  local file = os.getenv "PERIGEE_TEST_CUBIN"
  lu.skipIf(not file, "no cubin given in PERIGEE_TEST_CUBIN")
  local m = dev:load(core.read_file(file), "saxpy.cubin")
  lu.assertEquals(m:kernels(), { "saxpy" })
  local k = m:kernel "saxpy"
  lu.assertEquals(#k:info().params, 4)
  local x, y = dev:upload(core.array("f32", 64, 3)), dev:upload(core.array("f32", 64, 1))
  k:launch { grid = 1, block = 64, args = { x, y, 2.0, 64 } }
  lu.assertEquals(y:download():sum(), 7.0 * 64)
end

function TestDevice:test_template_instances()
  need_nvrtc()
  local r = core.compile {
    source = "template <typename T, int N> __global__ void fill(T *p) { p[threadIdx.x] = N; }",
    name = "fill.cu", expressions = { "fill<int, 42>" },
  }
  local out = dev:upload(core.array("i32", 8), "out")
  dev:load(r.ptx):kernel(r.lowered[1]):launch { grid = 1, block = 8, args = { out } }
  lu.assertEquals(out:download():totable(), { 42, 42, 42, 42, 42, 42, 42, 42 })
end

function TestDevice:test_compile_errors_carry_the_log()
  need_nvrtc()
  local e = raises("compile_error", "nothing_here", core.compile,
    { source = "\n__global__ void k() { nothing_here; }", name = "dir/k.cu" })
  lu.assertEquals(e.where, "dir/k.cu:2")
  lu.assertStrContains(e.log, "1 error detected")
  raises("invalid", "option 'source'", core.compile, { name = "k.cu" })
  raises("invalid", "option 'options'", core.compile, { source = "", options = { 1 } })
end

function TestDevice:test_events_measure()
  local b = dev:alloc(1 << 20)
  b:fill(0)
  local start, stop = dev:event(), dev:event()
  start:record()
  saxpy():launch { grid = 1024, block = 256, args = { b, b, 1, 1 << 18 } }
  stop:record()
  local us = start:elapsed(stop)
  lu.assertTrue(us > 0 and us < 10e6, tostring(us))
  raises("invalid", "event", start.elapsed, start, b)
end

function TestDevice:test_memory_that_nobody_holds_is_collected_when_it_is_short()
  if dev:info().kind ~= "cuda" then return end -- the simulator's memory is the host's
  local size = dev:info().memory_bytes // 5
  for _ = 1, 12 do dev:alloc(size, "dropped") end -- more than twice what the GPU has
  local e = raises("out_of_memory", "no room", dev.alloc, dev, dev:info().memory_bytes * 2)
  lu.assertStrContains(e.message, "free")
end

function TestDevice:test_devices_that_nobody_holds_are_collected()
  if dev:info().kind ~= "sim" then return end -- each reserves a terabyte of the 128 there are
  collectgarbage "stop"
  for _ = 1, 300 do core.device "sim" end
  collectgarbage "restart"
end

function TestDevice:test_a_closed_device_makes_its_objects_unusable()
  local b, k, event = dev:alloc(64), saxpy(), dev:event()
  local step = k:bind { grid = 1, block = 1, args = { b, b, 1, 0 } }
  dev:close()
  dev:close()
  raises("invalid", "closed", dev.info, dev)
  raises("invalid", "closed", b.download, b)
  raises("invalid", "closed", k.launch, k, { grid = 1, block = 1, args = { b, b, 1, 0 } })
  raises("invalid", "closed", step)
  raises("invalid", "closed", event.record, event)
  b:free()
end

function TestDevice:test_objects_of_two_devices_do_not_mix()
  local other <close> = core.device(SPEC)
  local b, foreign, k = dev:alloc(64), other:alloc(64), saxpy()
  raises("invalid", "different devices", k.launch, k,
    { grid = 1, block = 1, args = { b, foreign, 1, 0 } })
  raises("invalid", "same device", b.copy_from, b, foreign)
end

function TestDevice:test_wrong_devices_suggest()
  raises("not_found", "did you mean sim:check?", core.device, "sim:chekc")
  raises("not_found", "devices:", core.device, "")
  raises("invalid", "expected string", core.device, 7)
  raises("invalid", "expected device", dev.info, {})
end

function TestDevice:test_counters_and_health()
  local counters = dev:counters(true)
  lu.assertEquals(math.type(counters.launches), "integer")
  lu.assertEquals(type(counters.complete), "boolean")
  local health = dev:health()
  for _, value in pairs(health) do lu.assertTrue(value >= 0) end
  if dev:info().kind == "cuda" then
    lu.assertTrue(health.temperature_c > 0 and health.temperature_c < 120)
    lu.assertTrue(health.sm_clock_mhz > 100)
  end
end

-- Last: a fault ends a CUDA context, and with it what this process can do on the GPU.
local function test_a_fault_is_an_error_and_is_told()
  need_nvrtc()
  lu.assertNil(dev:fault())
  local b = dev:alloc(4096, "y")
  local ok, e = pcall(function()
    saxpy():launch { grid = 1, block = 32, args = { b, b.ptr + (1 << 46), 1, 32 } }
    dev:sync()
  end)
  lu.assertFalse(ok)
  lu.assertEquals(e.code, "launch_error")
  local fault = dev:fault()
  lu.assertEquals(fault.kind, "out_of_bounds")
  lu.assertEquals(fault.kernel, "saxpy")
  lu.assertTrue(#fault.text > 0)
  if fault.located then
    lu.assertEquals(fault.line, 3)
    lu.assertEquals(#fault.thread, 3)
  end
end
TestDevice["test_~a_fault_is_an_error_and_is_told"] = test_a_fault_is_an_error_and_is_told

os.exit(lu.LuaUnit.new():runSuiteByInstances({ { "TestDevice", TestDevice } }))
