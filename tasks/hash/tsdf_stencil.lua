--- hash/tsdf_stencil7 and tsdf_stencil27: sums over neighbouring voxels of a TSDF volume, across
-- the borders of blocks; and their regular controls, to which the neighbours of each block are
-- given (kernels/tsdf/README.md).

local pg = require "perigee"
local stages = require "perigee.tsdf_stages"
local tsdf = require "perigee.tsdf"

local THREADS = 512 -- one for each voxel of a block

local DOC = [[
%s

The volume has blocks 0 .. min(*block_count, capacity) - 1 of 8 x 8 x 8 voxels. Voxel (x, y, z) of
the space, x = 8 * coord[3 * block] + i with i = 0 .. 7 and so on, is element
block * 512 + i + 8 * j + 64 * k of tsdf. For each of them
  sum[the same element] = tsdf of the voxel + tsdf of its %s
where a voxel whose block is not in the volume counts as 0. Binary32, in any order. What lies in
tsdf behind the blocks in use is left from earlier.

%s]]

local BY_HASH = [[
table[table_mask + 1] knows the blocks as hash/tsdf_allocate says: entries struct Entry { long long
key; int block; int pad; }; linear probing, key -1 in an empty one, and block -2 in those of blocks
that found no place in the pool and are not in the volume.
  key of block (x, y, z)    (x + 2^20) << 42 | (y + 2^20) << 21 | (z + 2^20)
  its first slot            (x * 73856093 ^ y * 19349663 ^ z * 83492791) & table_mask, in uint32]]

local BY_INDEX = [[
neighbor[27 * block + (dx + 1) + 3 * (dy + 1) + 9 * (dz + 1)] is the number of the block at that
offset, -1 to 1 along each axis; -1: not in the volume.]]

local NEIGHBORS = { [7] = "6 neighbours along the axes", [27] = "26 neighbours" }

-- Loaded when first needed: listing tasks must not need it.
local function c_module() return require "hash.tsdf_reference" end

local function neighbor_table(coord, blocks)
  local neighbor = pg.array("i32", { blocks, 27 })
  c_module().neighbors { coord = coord, neighbor = neighbor }
  return neighbor
end

local function blocks_of(p, io) return math.min(io.block_count[0], p.capacity) end

local function inputs(regular)
  return function(p, rng)
    local volume = stages.volume(p, rng)
    local io = { block_count = volume.block_count, coord = volume.coord,
      tsdf = rng:array("f32", { volume.pool, 512 }, { low = -1.0, high = 1.0 }) }
    if regular then
      io.neighbor = neighbor_table(volume.coord, volume.blocks)
    else
      io.table = { dtype = tsdf.Entry, n = p.table_size, init = volume.table }
    end
    return io
  end
end

local function reference(taps)
  return function(p, io)
    local shape = { blocks_of(p, io), 512 }
    local expected = { sum = pg.array("f64", shape), magnitude = pg.array("f64", shape) }
    c_module().stencil { field = io.tsdf, neighbor = neighbor_table(io.coord, shape[1]),
      taps = taps, sum = expected.sum, magnitude = expected.magnitude }
    return expected
  end
end

local function work(p, io)
  local blocks = blocks_of(p, io)
  return { bytes = blocks * (2 * 512 * 4 + 12), items = blocks * 512 }
end

local function impls(kernel)
  local list = {}
  for _, one in ipairs { { "cuda", "cu" }, { "rust", "rs" }, { "triton", "py" } } do
    local language, file = one[1], "kernels/tsdf/stencil." .. one[2]
    list[#list + 1] = { name = language, language, file }
    if language ~= "triton" then
      list[#list + 1] = { name = language .. "-halo", language, file, kernel = kernel .. "_halo" }
    end
  end
  return list
end

local function task(taps, regular)
  local name = "stencil" .. taps .. (regular and "_regular" or "")
  local first = regular
    and ("As hash/tsdf_stencil%d, with each block's neighbours known: its regular control."):format(
      taps)
    or ("Sum %d neighbouring voxels of a hashed volume, across blocks."):format(taps)
  return pg.task {
    name = "hash/tsdf_" .. name, category = "hash", level = "kernel",
    doc = DOC:format(first, NEIGHBORS[taps], regular and BY_INDEX or BY_HASH),
    params = stages.params(), cells = stages.cells(), derive = stages.derive, args = tsdf.args,
    inputs = inputs(regular),
    outputs = function(p, io) return { sum = pg.spec("f32", { blocks_of(p, io), 512 }) } end,
    kernel = regular
      and ("void %s(const int* neighbor, const int* block_count, const float* tsdf, float* sum, "
        .. "int capacity)"):format(name)
      or ("void %s(const Entry* table, const int* coord, const int* block_count, "
        .. "const float* tsdf, float* sum, unsigned int table_mask, int capacity)"):format(name),
    launch = stages.launch(1, THREADS),
    reference = reference(taps),
    validate = { "close", of = "sum", ops = taps - 1, bound = "worst", scale = "magnitude" },
    time = tsdf.time, work = work,
    facts = function(p, io) return { blocks = blocks_of(p, io) } end,
    impls = impls(name),
  }
end

return { task(7, false), task(7, true), task(27, false), task(27, true) }
