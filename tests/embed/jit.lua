-- lua/perigee/jit.lua, whose path is the argument: each test prints `ok - NAME`. LuaJIT runs it,
-- and Perigee, whose ffi has the same names.
local pg = dofile(arg[1])

local function say(name, good, why)
  print((good and "ok - " or "not ok - ") .. name)
  if not good then print("# " .. tostring(why)) end
end

-- Raises an error table of this code whose message has this part.
local function fails(name, code, part, call, ...)
  local ok, e = pcall(call, ...)
  say(name, not ok and type(e) == "table" and e.code == code
    and tostring(e):find(part, 1, true), e)
end

local PTX = [[
.version 7.0
.target sm_80
.address_size 64
.visible .entry fill(.param .u64 to, .param .u32 value) {
.reg .b64 %a<3>; .reg .b32 %r<3>;
ld.param.u64 %a1, [to]; ld.param.u32 %r1, [value];
mov.u32 %r2, %tid.x; mul.wide.u32 %a2, %r2, 4;
add.s64 %a1, %a1, %a2; st.global.u32 [%a1], %r1; ret; }
]]

local a, b = pg.array("f32", { 3, 5 }), pg.array("f64", 15)
a[7], b[7] = 1.5, 1
local d = pg.compare(b, a, { atol = 0.25 })
say("one difference", d.bad == 1 and d.first_bad == 7 and d.max_abs == 0.5 and d.count == 15)
say("no difference", pg.compare(b, a, { rtol = 0.5 }).bad == 0)
fails("an index past the end", "invalid", "15 elements", function() return a[15] end)
fails("an index past the end is not written", "invalid", "15 elements", function() a[15] = 1 end)
fails("an unknown dtype", "not_found", "f33", pg.array, "f33", 1)
fails("an index between two", "invalid", "index 0.5", function() return a[0.5] end)
fails("an index that is no number", "invalid", "15 elements", function() a[0 / 0] = 1 end)
fails("an element that is none", "invalid", "expected number, got string", function()
  a[0] = "x"
end)
fails("an integer that does not fit", "invalid", "i8 does not hold 300", function()
  pg.array("i8", 1)[0] = 300
end)
fails("a dtype that is no text", "invalid", "dtype: expected string, got 5", pg.array, 5, 3)
fails("no shape", "invalid", "shape: expected number or list", pg.array, "f32", {})
fails("an unknown distribution", "invalid", "dist: expected", a.random, a, { dist = "foo" })
fails("an unknown option", "invalid", "unknown option 'sed' (options: seed", a.random, a,
  { sed = 1 })
fails("a seed that is no number", "invalid", "seed: expected number", a.random, a, { seed = "x" })
fails("no array to compare", "invalid", "got: expected array, got 5", pg.compare, a, 5)
fails("a tolerance that is none", "invalid", "unknown option 'rtoll'", pg.compare, a, b,
  { rtoll = 1 })
fails("integers need a last", "invalid", "'last'", a.random, a, { dist = "integer" })

local dev = pg.open "sim:check"
local kernel = dev:load(PTX):kernel "fill"
local buffer, got = dev:alloc(128), pg.array("u32", 32)
kernel:launch { block = 32, args = { buffer, 42 } }
say("a launch", buffer:download(got)[31] == 42)
-- Often enough for LuaJIT to compile the loop, which a call that comes back must survive.
for i = 1, 200 do
  dev:measure(function() kernel:launch { block = 32, args = { buffer, i } } end)
end
say("measured again and again", buffer:download(got)[31] == 200)
fails("a wrong count", "invalid", "takes 2 arguments, got 1", kernel.launch, kernel,
  { block = 32, args = { buffer } })
fails("a wrong type", "invalid", "argument #2: a string", kernel.launch, kernel,
  { block = 32, args = { buffer, "x" } })
fails("a value that does not fit", "invalid", "argument #2: 4294967296 does not fit in 4 bytes",
  kernel.launch, kernel, { args = { buffer, 4294967296 } })
fails("a hole in the arguments", "invalid", "argument #1: a nil", kernel.launch, kernel,
  { args = { nil, 1 } })
fails("out of bounds", "launch_error", "out of bounds", function()
  kernel:launch { block = 64, args = { buffer, 1 } }
  dev:sync()
end)
fails("a grid of half", "invalid", "grid: expected", kernel.launch, kernel,
  { grid = 0.5, args = { buffer, 1 } })
fails("a launch without options", "invalid", "options: expected table, got nil", kernel.launch,
  kernel)
fails("an option of a launch", "invalid", "unknown option 'blocks'", kernel.launch, kernel,
  { blocks = 3, args = { buffer, 1 } })
fails("no size", "invalid", "bytes: expected size, got -1", dev.alloc, dev, -1)
fails("no array to upload", "invalid", "array: expected array, got table", dev.upload, dev, { 1 })
fails("no source", "invalid", "source: expected string, got nil", dev.compile, dev, {})
fails("an option that is no text", "invalid", "option #2: expected string, got 5", dev.compile, dev,
  { source = "", options = { "-DX", 5 } })
fails("a module without the kernel", "not_found", "fil", function() dev:load(PTX):kernel "fil" end)
local module = dev:load(PTX)
local other = module:kernel "fill"
module:unload()
module:unload()
fails("a module that was unloaded", "invalid", "unloaded", module.kernel, module, "fill")
fails("its kernel", "invalid", "unloaded", other.launch, other, { args = { buffer, 1 } })
kernel:launch { block = 32, args = { buffer, 7 } }
say("the others go on", buffer:download(got)[31] == 7)
fails("no body", "invalid", "body: expected function", dev.measure, dev)
fails("a method", "invalid", "method: expected", dev.measure, dev, print, { method = "warm" })
fails("more than a buffer holds", "invalid", "128", buffer.download, buffer, pg.array("u32", 33))
local ok, e = pcall(dev.measure, dev, function() error("mine", 0) end)
say("an error of the body comes through", not ok and e == "mine", e)
fails("an unknown device", "not_found", "did you mean sim", pg.open, "sum")
dev:close()
dev:close()
fails("a closed device", "invalid", "closed", dev.info, dev)
fails("no candidate", "invalid", "candidate: expected string, got nil", pg.check, "vector/saxpy")
local record = pg.check("vector/saxpy", arg[2], { "--device", "sim:check" })
say("a verdict", record:find('"verdict":"passed"', 1, true), record)
print "done"
