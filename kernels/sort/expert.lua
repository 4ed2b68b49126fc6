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
  local cub, ffi = require "perigee.lib.cub", require "ffi"
  local library, version = cub.compile(SOURCE, DECLARATION, run.gpu)
  local n, bytes = run.params.n, ffi.new "size_t[1]"
  cub.check(library.pg_cub_sort(0, bytes, 0, 0, n, run.stream), "cub::DeviceRadixSort::SortKeys")
  local room = require("perigee.lib.cuda").allocate(math.max(1, ffi.tonumber(bytes[0])))
  return function(io)
    cub.check(library.pg_cub_sort(room.at, bytes, io.keys, io.sorted, n, run.stream),
      "cub::DeviceRadixSort::SortKeys")
  end, { library = "CUB", version = version }
end
