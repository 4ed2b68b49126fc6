--- reduce/sum by CUB's device-wide sum.
local SOURCE = [[
PG_EXPORT int pg_cub_sum(void *room, size_t *bytes, const float *x, float *y, int n,
                         cudaStream_t stream) {
  return cub::DeviceReduce::Sum(room, *bytes, x, y, n, stream);
}
]]
local DECLARATION = [[
  int pg_cub_sum(uintptr_t room, size_t *bytes, uintptr_t x, uintptr_t y, int n, uintptr_t stream);
]]

return function(run)
  local cub, ffi = require "perigee.lib.cub", require "ffi"
  local library, version = cub.compile(SOURCE, DECLARATION, run.gpu)
  local n, bytes = run.params.n, ffi.new "size_t[1]"
  cub.check(library.pg_cub_sum(0, bytes, 0, 0, n, run.stream), "cub::DeviceReduce::Sum")
  local room = require("perigee.lib.cuda").allocate(math.max(1, ffi.tonumber(bytes[0])))
  return function(io)
    cub.check(library.pg_cub_sum(room.at, bytes, io.x, io.y, n, run.stream),
      "cub::DeviceReduce::Sum")
  end, { library = "CUB", version = version }
end
