--- y = a x by a kernel that the expert loads and launches itself, as a library would.
-- `with`: less or more elements than there are, or swapped buffers.

local ffi = require "ffi"
local cuda = require "perigee.lib.cuda"

ffi.cdef [[
  int cuDriverGetVersion(int *version);
]]

local PTX = [[
.version 7.0
.target sm_80
.address_size 64
.visible .entry scale(.param .u64 x, .param .u64 y, .param .f32 a, .param .u32 n) {
  .reg .pred %p; .reg .f32 %f<3>; .reg .b32 %r<5>; .reg .b64 %d<6>;
  mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;
  mad.lo.s32 %r1, %r1, %r2, %r3;
  ld.param.u32 %r4, [n];
  setp.ge.u32 %p, %r1, %r4;
  @%p bra done;
  ld.param.u64 %d1, [x]; ld.param.u64 %d2, [y]; ld.param.f32 %f1, [a];
  mul.wide.u32 %d3, %r1, 4;
  add.s64 %d1, %d1, %d3; add.s64 %d2, %d2, %d3;
  ld.global.f32 %f2, [%d1];
  mul.f32 %f2, %f2, %f1;
  st.global.f32 [%d2], %f2;
done:
  ret;
}
]]

return function(run)
  local driver = cuda.driver()
  local module, entry = ffi.new "void *[1]", ffi.new "void *[1]"
  cuda.check(driver.cuModuleLoadDataEx(module, PTX, 0, nil, nil), "cuModuleLoadDataEx")
  cuda.check(driver.cuModuleGetFunction(entry, module[0], "scale"), "cuModuleGetFunction")
  local version = ffi.new "int[1]"
  cuda.check(driver.cuDriverGetVersion(version), "cuDriverGetVersion")
  local n = run.params.n - (run.options.less or 0) + (run.options.more or 0)
  local x, y = ffi.new "uint64_t[1]", ffi.new "uint64_t[1]"
  local a, count = ffi.new("float[1]", run.params.a), ffi.new("uint32_t[1]", n)
  local params = ffi.new("void *[4]", { x, y, a, count })
  local function enqueue(io)
    x[0], y[0] = io.x, io.y
    if run.options.swapped then x[0], y[0] = io.y, io.x end
    cuda.check(driver.cuLaunchKernel(entry[0], (n + 255) // 256, 1, 1, 256, 1, 1, 0,
      run.stream, params, nil), "cuLaunchKernel")
  end
  return enqueue, { library = "driver", version = tostring(version[0]) }
end
