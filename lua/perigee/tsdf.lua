--- What the tasks hash/tsdf_allocate, tsdf_update and tsdf_fuse share: parameters, cells, scenes,
-- buffers, scalars of the kernels, and the model that judges a volume. kernels/tsdf/README.md
-- describes the workload.
-- @module perigee.tsdf

local core = require "perigee.core"
local mesh = require "perigee.mesh"

local tsdf = {}

local VOXELS = 512 -- in a block
local PUBLISHED_CAP = 32
local MAX_POINTS = 1 << 24 -- the reference keeps 8 bytes for each of their samples

--- An entry of the table as the kernels see it: 16 bytes.
tsdf.Entry = core.struct("Entry", { { "key", "i64" }, { "block", "i32" }, { "pad", "i32" } })

-- Loaded when first needed: listing tasks must not need it.
local function reference()
  return require "hash.tsdf_reference"
end

local function f32(value)
  return (string.unpack("<f", string.pack("<f", value)))
end

-- ---- parameters ----

--- The points of the published cells are no random ones: a candidate is judged with others, too, at
-- the size that is timed.
tsdf.ALSO = { { jitter = 0.4 } }

--- The parameters, the same for all stages. Defaults are the published cell `base`; `sim` is a
-- hundredth of its points on a quarter of its radius; `check` also has single points and a pool
-- that is too small.
function tsdf.params()
  return {
    scene = {
      default = "sphere", choices = { "sphere", "plane", "scan" },
      doc = "sphere: seen from its centre; plane: z = `distance`; scan: a file under data/scans",
    },
    rows = {
      default = 400, sim = 40, check = { 40, 1, 23, 40 }, min = 1, max = 32768,
      only = { scene = { "sphere", "plane" } }, doc = "sphere: angles theta; plane: points along x",
    },
    cols = {
      default = 800, sim = 80, check = { 80, 1, 37, 80 }, min = 1, max = 32768,
      only = { scene = { "sphere", "plane" } }, doc = "sphere: angles phi; plane: points along y",
    },
    radius = { default = 0.5, sim = 0.125, check = 0.125, min = 0.001, max = 1000.0,
      only = { scene = "sphere" }, doc = "of the sphere, metres" },
    half = { default = 1.0, sim = 0.25, min = 0.001, max = 1000.0,
      only = { scene = "plane" }, doc = "half extent of the plane, metres" },
    distance = { default = 0.5, sim = 0.125, min = 0.001, max = 1000.0,
      only = { scene = "plane" }, doc = "of the plane, metres" },
    file = { default = "", only = { scene = "scan" },
      doc = "of the scan, in data/scans (make data)" },
    points = { default = 320000, sim = 3200, min = 1, max = 1 << 24,
      only = { scene = "scan" }, doc = "of the scan" },
    extent = { default = 1.0, sim = 0.25, min = 0.01, max = 1000.0,
      only = { scene = "scan" }, doc = "longest side of the scan, metres" },
    warm = {
      default = false,
      doc = "the volume holds the blocks of an earlier view of the scene (allocate, fuse)",
    },
    jitter = {
      default = 0.0, sim = 0.0, check = 0.4, min = 0.0, max = 100.0,
      doc = "random displacement of each coordinate, in voxels, either way",
    },
    order = {
      default = "given", choices = { "given", "morton", "shuffled" },
      doc = "of the points in memory: as the scene gives them, along a Morton curve, at random",
    },
    voxel = { default = 0.01, sim = 0.01, check = { 0.01, 0.0125, 0.008, 0.01 }, min = 1e-5,
      max = 100.0, doc = "edge of a voxel, metres" },
    trunc = { default = 4.0, sim = 4.0, check = { 4.0, 2.0, 4.5, 4.0 }, min = 0.5, max = 64.0,
      doc = "truncation distance, voxels" },
    capacity = {
      default = 16384, sim = 1024, check = { 1024, 64, 512, 20 }, min = 1, max = 1 << 20,
      doc = "blocks in the pool",
    },
    table_size = {
      default = 0, check = { 0, 0, 0, 256 }, sim = 0, min = 0, max = 1 << 24,
      doc = "entries, a power of two; 0: the next one from 2 x capacity on",
    },
    threads = { default = 256, choices = { 32, 64, 128, 256, 512, 1024 },
      doc = "in a thread block" },
    weight_cap = {
      default = 0.0, sim = 0.0, check = { 0.0, 0.0, 6.0, 0.0 }, min = 0.0, max = 1e6,
      doc = "a voxel whose weight is seen at this or above takes no more; 0: no cap",
    },
    compat = {
      default = "none", choices = { "none", "published" },
      doc = "published: weights 1, colours 128, weight_cap 32, timed as batches of 8 volumes",
    },
    cam_x = {
      default = 0.0, sim = 0.0, check = { 0.0, 0.31, -0.02, 0.0 }, min = -1000.0, max = 1000.0,
      doc = "camera, metres",
    },
    cam_y = {
      default = 0.0, sim = 0.0, check = { 0.0, -0.17, 0.05, 0.0 }, min = -1000.0, max = 1000.0,
      doc = "camera, metres",
    },
    cam_z = {
      default = 0.0, sim = 0.0, check = { 0.0, 0.08, -0.11, 0.0 }, min = -1000.0, max = 1000.0,
      doc = "camera, metres",
    },
  }
end

local function next_power(n)
  local power = 1
  while power < n do power = power * 2 end
  return power
end

--- Add what follows from the parameters: n, steps, table_size, weight_cap.
-- @raise "range" for too many points, or a table_size that is no power of two
function tsdf.derive(p)
  p.n = p.scene == "scan" and p.points or p.rows * p.cols
  if p.n > MAX_POINTS then
    core.error("range", ("rows = %d by cols = %d are %d points"):format(p.rows, p.cols, p.n),
      ("at most %d points"):format(MAX_POINTS))
  end
  p.steps = math.ceil(p.trunc)
  if p.table_size == 0 then p.table_size = next_power(2 * p.capacity) end
  if p.table_size ~= next_power(p.table_size) then
    core.error("range", ("table_size = %d is no power of two"):format(p.table_size),
      ("the nearest are %d and %d"):format(next_power(p.table_size) // 2, next_power(p.table_size)))
  end
  if p.compat == "published" and p.weight_cap == 0 then p.weight_cap = PUBLISHED_CAP + 0.0 end
  return p
end

--- The kernels' scalars, in binary32 where they are.
function tsdf.args(p)
  local voxel, trunc = f32(p.voxel), f32(p.trunc * p.voxel)
  return {
    n = p.n, steps = p.steps, voxel = voxel, inv_voxel = f32(1 / voxel), trunc = trunc,
    inv_trunc = f32(1 / trunc), cam_x = f32(p.cam_x), cam_y = f32(p.cam_y), cam_z = f32(p.cam_z),
    table_mask = p.table_size - 1, capacity = p.capacity, weight_cap = p.weight_cap,
  }
end

--- One thread a point.
function tsdf.launch(p)
  return { grid = (p.n + p.threads - 1) // p.threads, block = p.threads }
end

-- Threads that keep a large GPU busy for about one wave.
local WAVE = 240000

--- Several threads share a ray (rows of the grid) where the points alone do not fill a GPU.
function tsdf.split_launch(p)
  local rows = math.max(1, math.min(2 * p.steps + 1, WAVE // math.max(1, p.n)))
  return { grid = { (p.n + p.threads - 1) // p.threads, rows }, block = p.threads }
end

--- Published: 8 volumes between one pair of events. Else cold caches.
function tsdf.time(p)
  if p.compat == "published" then return { method = "batch", batch = 8, distinct = true } end
  return { method = "cold" }
end

-- ---- cells ----

local function cell(list, axis, name, set, sim)
  list[#list + 1] = { name = name, axis = axis, set = set, sim = sim }
end

-- Capacity as a multiple of the block count: 1160 on the GPU, 64 on sim.
local function load_factors(list)
  for _, one in ipairs { { "lf-hi", 1218, 67 }, { "lf-mid", 2320, 128 }, { "lf-lo", 4640, 256 },
    { "lf-sparse", 18560, 1024 } } do
    cell(list, "loadfactor", one[1], { capacity = one[2] }, { capacity = one[3] })
  end
end

-- A power of two cannot be chosen to fit a count, but the count can be chosen to fit it: the radius
-- is the one whose number of blocks comes nearest to the load. Capacity is that number.
local function loads(list)
  for _, one in ipairs {
    { "load-0.5", 0.464, 1040, 0.222, 256 }, { "load-0.6", 0.508, 1232, 0.256, 304 },
    { "load-0.7", 0.544, 1432, 0.276, 352 }, { "load-0.8", 0.592, 1624, 0.3, 416 },
    { "load-0.9", 0.622, 1832, 0.318, 464 }, { "load-0.95", 0.638, 1944, 0.324, 488 },
  } do
    cell(list, "load", one[1], { radius = one[2], capacity = one[3], table_size = 2048 },
      { radius = one[4], capacity = one[5], table_size = 512 })
  end
end

--- The scans that `make data` unpacks into data/scans: file, points, longest side in metres, and
-- the two for sim. Meshes are sampled; clouds keep their points.
tsdf.SCANS = {
  { name = "bunny", file = "bunny00.off", points = 320000, extent = 2.0, sim = { 3200, 0.2 } },
  { name = "armadillo", file = "armadillo.off", points = 320000, extent = 4.0, sim = { 3200,
    0.25 } },
  { name = "building", file = "building.ply", points = 100000, extent = 6.0, sim = { 3000, 0.5 } },
  { name = "lidar", file = "b9.ply", points = 22300, extent = 4.0, sim = { 2230, 0.5 } },
  { name = "radar", file = "radar.xyz", points = 20950, extent = 2.0, sim = { 2095, 0.25 } },
}

--- Where a scan is, whether it is there or not.
function tsdf.scan_path(file)
  return (core.home or ".") .. "/data/scans/" .. file
end

--- Whether every scan is on this machine.
function tsdf.has_scans()
  for _, scan in ipairs(tsdf.SCANS) do
    if not core.file_info(tsdf.scan_path(scan.file)) then return false end
  end
  return true
end

local function scan_needs()
  return not tsdf.has_scans() and "the scans are not here, `make data` brings them" or nil
end

-- Seen from in front: the middle lies 1.5 extents along z, the camera at the origin.
local function scans(list)
  for _, scan in ipairs(tsdf.SCANS) do
    for _, warm in ipairs { false, true } do
      cell(list, "real", ("scan-%s-%s"):format(scan.name, warm and "warm" or "cold"), {
        scene = "scan", file = scan.file, points = scan.points, extent = scan.extent,
        capacity = 65536, warm = warm,
      }, { points = scan.sim[1], extent = scan.sim[2], capacity = 1024 })
      list[#list].needs = scan_needs
    end
  end
end

--- The cells of the published measurement under their names, the loads and the scans.
function tsdf.cells()
  local list = {}
  cell(list, "baseline", "base", {})
  cell(list, "points", "pts-20k", { rows = 100, cols = 200 }, { rows = 10, cols = 20 })
  cell(list, "points", "pts-80k", { rows = 200, cols = 400 }, { rows = 20, cols = 40 })
  cell(list, "points", "pts-720k", { rows = 600, cols = 1200 }, { rows = 60, cols = 120 })
  cell(list, "points", "pts-1280k", { rows = 800, cols = 1600 }, { rows = 80, cols = 160 })
  cell(list, "extent", "r-0.25", { radius = 0.25 }, { radius = 0.0625 })
  cell(list, "extent", "r-1.0", { radius = 1.0, capacity = 65536 },
    { radius = 0.25, capacity = 4096 })
  cell(list, "extent", "r-2.0", { radius = 2.0, capacity = 131072 },
    { radius = 0.5, capacity = 8192 })
  load_factors(list)
  cell(list, "shape", "plane-320k", { scene = "plane", rows = 566, cols = 566 },
    { rows = 57, cols = 57 })
  loads(list)
  scans(list)
  return list
end

-- ---- scenes ----

local shapes = {} -- path -> mesh: cells and stages share it

local function read_scan(file)
  if file == "" then
    core.error("invalid", "scene = scan needs file = NAME", "the files are in data/scans")
  end
  local path = tsdf.scan_path(file)
  if not core.file_info(path) then
    core.error("environment", ("no scan '%s'"):format(path), "`make data` brings the scans")
  end
  shapes[path] = shapes[path] or mesh.read(path)
  return shapes[path]
end

local function scan_points(p, seed)
  local sampled = mesh.sample(read_scan(p.file), p.points, { seed = seed, where = p.file })
  local fitted = mesh.fit(sampled, { extent = p.extent, centre = { 0, 0, 1.5 * p.extent } })
  return fitted:cast("f32")
end

local function put_in_order(p, points, rng)
  if p.order == "morton" then reference().order { points = points, voxel = p.voxel } end
  if p.order == "shuffled" then
    reference().order { points = points, seed = rng:integer(1, 1 << 52) }
  end
end

--- The points of a scene: f32[n][3], metres.
-- @tparam table p parameters
-- @param rng the task's random source
function tsdf.points(p, rng)
  local points
  if p.scene == "scan" then
    points = scan_points(p, rng:integer(1, 1 << 52))
  else
    points = core.array("f32", { p.n, 3 })
    reference()[p.scene] {
      points = points, rows = p.rows, cols = p.cols, radius = p.radius, half = p.half,
      z = p.distance, cam_x = p.cam_x, cam_y = p.cam_y, cam_z = p.cam_z,
    }
  end
  if p.jitter > 0 then
    reference().displace {
      points = points, noise = rng:array("f32", { p.n, 3 }, { low = -1.0, high = 1.0 }),
      factor = p.jitter * p.voxel,
    }
  end
  put_in_order(p, points, rng)
  return points
end

-- Weights are multiples of 1/256, so that most sums of them are exact and a single lost addition
-- shows.
local function observations(p, rng)
  if p.compat == "published" then
    return core.array("f32", p.n, 1), core.array("u8", { p.n, 3 }, 128)
  end
  local weights = rng:array("f32", p.n, { dist = "integer", first = 64, last = 511 })
  reference().scale { array = weights, factor = 1 / 256 }
  return weights, rng:array("u8", { p.n, 3 }, { dist = "integer", first = 0, last = 255 })
end

-- ---- models ----

-- What belongs to a set of points, for as long as these live: {model, warm}.
local companions = setmetatable({}, { __mode = "k" })

local function model_of(p, points, more)
  local how = tsdf.args(p)
  how.points = points
  for name, value in pairs(more or {}) do how[name] = value end
  local model = reference().model(how)
  local blocks = model:facts().every_block
  if blocks > p.table_size then
    core.error("range",
      ("a table of %d entries cannot hold %d blocks"):format(p.table_size, blocks),
      ("set table_size=%d or more"):format(next_power(blocks)))
  end
  return model
end

--- The reference's own volume.
-- @tparam table p parameters
-- @param model a model
-- @tparam boolean every with all blocks that may occur, rather than those of the plain walk
-- @treturn table {table, coord, block_count = i32[1], drop_count = u64[1]}
function tsdf.volume(p, model, every)
  local volume = { table = core.array(tsdf.Entry, p.table_size), coord = core.array("i32",
    { p.capacity, 3 }) }
  local blocks, drops = model:volume { table = volume.table, coord = volume.coord, every = every }
  volume.block_count = core.array("i32", 1, blocks)
  volume.drop_count = core.array("u64", 1, drops)
  return volume
end

local NEAR = 32 -- places in which a block may change its number with another

--- Give the blocks of a volume other numbers. Of the published points the reference always has the
-- same volume: who knows them would know the number of each block without the table. As a GPU would
-- give them, blocks that are near in space are near in memory.
-- @tparam table volume what tsdf.volume returned
-- @param rng the task's random source
function tsdf.renumber(volume, rng)
  local blocks = math.min(volume.block_count[0], volume.coord.shape[1])
  local place = core.array("i32", blocks)
  local back = rng:array("i32", blocks, { dist = "integer", first = 0, last = NEAR - 1 })
  for b = 0, blocks - 1 do place[b] = b end
  for b = blocks - 1, 1, -1 do
    local other = math.max(0, b - back[b])
    place[b], place[other] = place[other], place[b]
  end
  reference().renumber { table = volume.table, coord = volume.coord, place = place }
end

-- The volume that an earlier view of the scene left.
local function warm_volume(p, rng)
  local volume = tsdf.volume(p, model_of(p, tsdf.points(p, rng)), false)
  if volume.drop_count[0] > 0 then
    core.error("range", ("a pool of %d blocks is too small for a warm volume"):format(p.capacity),
      "set a larger capacity")
  end
  return volume
end

local function companion_of(points)
  return companions[points] or core.error("internal", "these points were not made by perigee.tsdf")
end

--- Inputs of allocate: the points.
function tsdf.allocate_inputs(p, rng)
  local points = tsdf.points(p, rng)
  local warm = p.warm and warm_volume(p, rng) or nil
  companions[points] = { warm = warm, model = model_of(p, points, { initial = warm
    and warm.table }) }
  return { points = points }
end

--- Inputs of fuse: points, weights and colours.
function tsdf.fuse_inputs(p, rng)
  local points = tsdf.points(p, rng)
  local weights, colors = observations(p, rng)
  local warm = p.warm and warm_volume(p, rng) or nil
  companions[points] = {
    warm = warm,
    model = model_of(p, points, { weights = weights, colors = colors, initial = warm
      and warm.table }),
  }
  return { points = points, point_weight = weights, point_color = colors }
end

--- Inputs of update: those of fuse, and a table with every block that may occur.
function tsdf.update_inputs(p, rng)
  local inputs = tsdf.fuse_inputs(p, rng)
  local volume = tsdf.volume(p, companions[inputs.points].model, true)
  tsdf.renumber(volume, rng)
  inputs.table = { dtype = tsdf.Entry, n = p.table_size, init = volume.table }
  return inputs
end

--- The table, empty or warm, and its counters.
function tsdf.table_state(p, io)
  local warm = companion_of(io.points).warm
  return {
    table = { dtype = tsdf.Entry, n = p.table_size, init = warm and warm.table or "empty" },
    coord = { dtype = "i32", shape = { p.capacity, 3 }, init = warm and warm.coord or 0 },
    block_count = { dtype = "i32", n = 1, init = warm and warm.block_count or 0 },
    drop_count = { dtype = "u64", n = 1, init = 0 },
  }
end

--- Add the five voxel arrays, all zero, to a state.
function tsdf.voxel_state(p, state)
  for _, name in ipairs { "tsdf", "weight", "r", "g", "b" } do
    state[name] = { dtype = "f32", shape = { p.capacity, VOXELS }, init = 0 }
  end
  return state
end

-- ---- the regular counterpart ----

local LATTICE_MOST = 1 << 22 -- blocks

-- Half extents of a scene around its middle, and the middle, metres.
local function box_of(p)
  if p.scene == "sphere" then
    return { p.cam_x, p.cam_y, p.cam_z }, { p.radius, p.radius, p.radius }
  elseif p.scene == "plane" then
    return { 0, 0, p.distance }, { p.half, p.half, 0 }
  end
  return { 0, 0, 1.5 * p.extent }, { p.extent / 2, p.extent / 2, p.extent / 2 }
end

--- A dense grid of blocks that holds every block of a scene, and no more than its parameters tell.
-- @tparam table p parameters
-- @treturn table {first_x, first_y, first_z = its first block; wide, high, deep, count = blocks}
-- @raise "range" when it would have more than 4 million
function tsdf.lattice(p)
  local middle, half = box_of(p)
  local margin = (math.ceil(p.trunc) + 2 + p.jitter) * p.voxel
  local first, extent = {}, {}
  for axis = 1, 3 do
    local reach = half[axis] + margin
    first[axis] = math.floor((middle[axis] - reach) / p.voxel / 8)
    extent[axis] = math.floor((middle[axis] + reach) / p.voxel / 8) - first[axis] + 1
  end
  if extent[1] * 1.0 * extent[2] * extent[3] > LATTICE_MOST then
    core.error("range", ("a dense grid of %.3g blocks"):format(extent[1] * 1.0 * extent[2]
      * extent[3]), "set a smaller scene or a larger voxel: at most 4194304")
  end
  return { first_x = first[1], first_y = first[2], first_z = first[3], wide = extent[1],
    high = extent[2], deep = extent[3], count = extent[1] * extent[2] * extent[3] }
end

--- The place of a block in a lattice, from 0.
function tsdf.place(lattice, x, y, z)
  return ((z - lattice.first_z) * lattice.high + y - lattice.first_y) * lattice.wide + x
    - lattice.first_x
end

--- The coordinates of a block, from its key.
function tsdf.block_of(key)
  local mask, bias = (1 << 21) - 1, 1 << 20
  return (key >> 42) - bias, (key >> 21 & mask) - bias, (key & mask) - bias
end

--- The first slot of a block in a table of 2^k entries, mask = 2^k - 1.
function tsdf.home(mask, x, y, z)
  return (x * 73856093 ~ y * 19349663 ~ z * 83492791) & mask
end

--- Call a function with each entry of a table in use: slot, key, block.
function tsdf.each_entry(entries, visit)
  local keys, blocks = entries:field "key", entries:field "block"
  for slot = 0, entries.count - 1 do
    if keys[slot] ~= -1 then visit(slot, keys[slot], blocks[slot]) end
  end
end

--- What is expected: the model, which knows every block and sum.
function tsdf.reference(_, io)
  return { model = companion_of(io.points).model }
end

--- Compulsory work: what any implementation must read and write.
-- @tparam boolean allocates it fills the table
-- @tparam boolean updates it adds to the voxels (counted as one read and one write of each sum)
function tsdf.work(p, expected, allocates, updates)
  local facts = expected.model:facts()
  local bytes = p.n * 12
  if allocates then bytes = bytes + facts.blocks * (16 + 12) end
  if updates then bytes = bytes + p.n * 7 + facts.voxels * 5 * 8 end
  return { bytes = bytes, items = p.n * (2 * p.steps + 1) }
end

--- Numbers to show beside a result.
function tsdf.facts(_, _, expected)
  local facts = expected.model:facts()
  return {
    points = facts.points, samples = facts.samples, optional_samples = facts.optional_samples,
    blocks = facts.blocks,
  }
end

return tsdf
