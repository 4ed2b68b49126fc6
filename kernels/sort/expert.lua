--- sort/radix by CUB's device-wide radix sort.
local SOURCE = [[
PG_EXPORT int pg_cub_sort(void *room, size_t *bytes, const unsigned *keys, unsigned *sorted, int n,
                          cudaStream_t stream) {
  return cub::DeviceRadixSort::SortKeys(room, *bytes, keys, sorted, n, 0, 32, stream);
}
]]
local DECLARATION = [[
  int pg_cub_sort(uintptr_t room, size_t *bytes, uintptr_t keys, uintptr_t sorted, int n,
                  uintptr_t stream);
]]

return function(run)
  local cub = require "perigee.lib.cub"
  local library, version = cub.compile(SOURCE, DECLARATION, run.gpu)
  local sort = cub.ready("cub::DeviceRadixSort::SortKeys", function(room, bytes, keys, sorted)
    return library.pg_cub_sort(room, bytes, keys, sorted, run.params.n, run.stream)
  end)
  return function(io) sort(io.keys, io.sorted) end, { library = "CUB", version = version }
end
