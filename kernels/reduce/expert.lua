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
  local cub = require "perigee.lib.cub"
  local library, version = cub.compile(SOURCE, DECLARATION, run.gpu)
  local sum = cub.ready("cub::DeviceReduce::Sum", function(room, bytes, x, y)
    return library.pg_cub_sum(room, bytes, x, y, run.params.n, run.stream)
  end)
  return function(io) sum(io.x, io.y) end, { library = "CUB", version = version }
end
