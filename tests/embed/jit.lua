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
fails("out of bounds", "launch_error", "out of bounds", function()
  kernel:launch { block = 64, args = { buffer, 1 } }
  dev:sync()
end)
fails("more than a buffer holds", "invalid", "128", buffer.download, buffer, pg.array("u32", 33))
local ok, e = pcall(dev.measure, dev, function() error("mine", 0) end)
say("an error of the body comes through", not ok and e == "mine", e)
fails("an unknown device", "not_found", "did you mean sim", pg.open, "sum")
dev:close()
dev:close()
fails("a closed device", "invalid", "closed", dev.info, dev)
local record = pg.check("vector/saxpy", arg[2], { "--device", "sim:check" })
say("a verdict", record:find('"verdict":"passed"', 1, true), record)
print "done"
