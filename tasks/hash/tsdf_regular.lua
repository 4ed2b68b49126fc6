--- hash/tsdf_allocate_regular, hash/tsdf_update_regular and hash/tsdf_update_dense: the stages of
-- the hash-blocked TSDF workload without its hash table, as regular controls
-- (kernels/tsdf/README.md).

local pg = require "perigee"
local tsdf = require "perigee.tsdf"

local SUMS = "float* tsdf, float* weight, float* r, float* g, float* b"
local WALK = [[int n, int steps, float voxel, float inv_voxel, float trunc, %sfloat cam_x,
    float cam_y, float cam_z, int first_x, int first_y, int first_z, int wide, int high]]
local LATTICE = [[
Block (x, y, z) has the place ((z - first_z) * high + y - first_y) * wide + x - first_x in a dense
grid, which holds every block that a point can touch.]]

-- The volume that a task starts from is empty.
local function params()
  local all = tsdf.params()
  all.warm = nil
  return all
end

local function cells(fits)
  local list = {}
  for _, cell in ipairs(tsdf.cells()) do
    if not cell.set.warm and (not fits or fits(cell.set)) then
      cell.set.warm = nil
      list[#list + 1] = cell
    end
  end
  return list
end

local function args(p)
  local all = tsdf.args(p)
  for name, value in pairs(tsdf.lattice(p)) do all[name] = value end
  return all
end

-- ---- allocate ----

local function put(entries, coord, number, x, y, z)
  local mask = entries.count - 1
  local slot = tsdf.home(mask, x, y, z)
  while entries[slot].key ~= -1 do slot = slot + 1 & mask end
  local bias = 1 << 20
  entries[slot] = { key = x + bias << 42 | y + bias << 21 | z + bias, block = number, pad = 0 }
  coord[3 * number], coord[3 * number + 1], coord[3 * number + 2] = x, y, z
end

-- Places that are marked; the first value that is no mark.
local function marked(present)
  local list = {}
  for place = 0, present.count - 1 do
    local mark = present[place]
    if mark ~= 0 and mark ~= 1 then return nil, place end
    if mark == 1 then list[#list + 1] = place end
  end
  return list
end

-- The volume that the marks stand for.
local function volume_of(p, list)
  local lattice, size = tsdf.lattice(p), 2
  while size < 2 * #list do size = size * 2 end
  local entries = pg.array(tsdf.Entry, size):fill_bytes(0xFF)
  local coord = pg.array("i32", { math.max(1, #list), 3 })
  for number, place in ipairs(list) do
    local row = place // lattice.wide
    put(entries, coord, number - 1, place % lattice.wide + lattice.first_x,
      row % lattice.high + lattice.first_y, row // lattice.high + lattice.first_z)
  end
  return { table = entries, coord = coord, capacity = math.max(1, #list),
    block_count = pg.array("i32", 1, #list), drop_count = pg.array("u64", 1, 0) }
end

local function judge_marks(ctx)
  local list, wrong = marked(ctx.state.present)
  if not list then
    return { ok = false, verdict = "wrong_result",
      reason = ("present[%d] = %d: expected 0 or 1"):format(wrong, ctx.state.present[wrong]) }
  end
  local judged = ctx.expected.model:verify(volume_of(ctx.params, list))
  local reason
  for _, check in ipairs(judged.checks) do
    if not check.ok then reason = reason or ("%s: %s"):format(check.name, check.detail) end
  end
  return { ok = judged.ok, verdict = not judged.ok and "wrong_result" or nil, reason = reason,
    checks = judged.checks, facts = { blocks = judged.facts.blocks } }
end

-- ---- update ----

-- For each place of the lattice the number of its block; -1: none.
local function index_of(lattice, entries)
  local index = pg.array("i32", lattice.count, -1)
  tsdf.each_entry(entries, function(_, key, block)
    index[tsdf.place(lattice, tsdf.block_of(key))] = block
  end)
  return index
end

-- What the judge needs to know: which block has which key. By input arrays, which the case keeps.
local tables = setmetatable({}, { __mode = "k" })

local function update_inputs(p, rng)
  local io = tsdf.fuse_inputs(p, rng)
  local entries = tsdf.volume(p, tsdf.reference(p, io).model, true).table
  tables[io.points] = entries
  io.index = index_of(tsdf.lattice(p), entries)
  return io
end

-- The same where a block's number is its place.
local function dense_inputs(p, rng)
  local io, lattice = tsdf.fuse_inputs(p, rng), tsdf.lattice(p)
  local entries = tsdf.volume(p, tsdf.reference(p, io).model, true).table
  tsdf.each_entry(entries, function(slot, key)
    entries[slot] = { key = key, block = tsdf.place(lattice, tsdf.block_of(key)), pad = 0 }
  end)
  tables[io.points] = entries
  return io
end

local function reference(p, io)
  return { model = tsdf.reference(p, io).model, table = tables[io.points] }
end

local function in_every_language(kernel)
  local impls = {}
  for language, extension in pairs { cuda = "cu", rust = "rs", triton = "py" } do
    impls[#impls + 1] = { name = language, language, "kernels/tsdf/regular." .. extension,
      kernel = kernel }
  end
  table.sort(impls, function(a, b) return a.name < b.name end)
  return impls
end

local UPDATE = [[
Add depth points to the voxels along their rays: hash/tsdf_update without its table.

Points, samples and sums are those of hash/tsdf_update. %s
%s]]

local function update(fields)
  fields.category, fields.level, fields.cells = "hash", "kernel", fields.cells or cells()
  fields.also = tsdf.ALSO
  fields.params, fields.args, fields.launch = params(), args, tsdf.launch
  fields.state = function(p) return tsdf.voxel_state(p, {}) end
  fields.reference, fields.validate = reference, { "tsdf_volume", sums = true }
  fields.time, fields.facts = tsdf.time, tsdf.facts
  fields.work = function(p, _, expected) return tsdf.work(p, expected, false, true) end
  return pg.task(fields)
end

return {
  pg.task {
    name = "hash/tsdf_allocate_regular",
    category = "hash",
    level = "kernel",
    doc = [[
Mark the 8 x 8 x 8 blocks that depth points touch: hash/tsdf_allocate without its table.

Points and samples are those of hash/tsdf_allocate. ]] .. LATTICE .. "\n" .. [[
present[place] becomes 1 for every block that a sample touches which counts; the others stay 0.]],
    params = params(),
    cells = cells(),
    also = tsdf.ALSO,
    derive = tsdf.derive,
    inputs = tsdf.allocate_inputs,
    state = function(p) return { present = { dtype = "i32", n = tsdf.lattice(p).count } } end,
    kernel = ("void allocate_regular(const float* points, int* present, " .. WALK .. ")"):format "",
    args = args,
    launch = tsdf.launch,
    reference = tsdf.reference,
    validate = judge_marks,
    time = tsdf.time,
    work = function(p, _, expected)
      return { bytes = p.n * 12 + expected.model:facts().blocks * 4,
        items = p.n * (2 * p.steps + 1) }
    end,
    facts = tsdf.facts,
    impls = in_every_language "allocate_regular",
  },
  update {
    name = "hash/tsdf_update_regular",
    doc = UPDATE:format(LATTICE, [[
index[place] is the number of that block in the five arrays; below 0: it has no voxels, and its
samples are left out.]]),
    derive = tsdf.derive,
    inputs = update_inputs,
    kernel = ("void update_regular(const float* points, const float* point_weight, "
      .. "const unsigned char* point_color, const int* index, " .. SUMS .. ", " .. WALK
      .. ", float weight_cap)"):format "float inv_trunc, ",
    impls = in_every_language "update_regular",
  },
  update {
    name = "hash/tsdf_update_dense",
    doc = UPDATE:format(LATTICE, "The number of a block is its place."),
    -- Ten kilobytes a block, used or not.
    cells = cells(function(set) return (set.radius or 0) <= 1 and (set.extent or 0) <= 2 end),
    derive = function(p)
      tsdf.derive(p)
      p.capacity = tsdf.lattice(p).count
      return p
    end,
    inputs = dense_inputs,
    kernel = ("void update_dense(const float* points, const float* point_weight, "
      .. "const unsigned char* point_color, " .. SUMS .. ", " .. WALK
      .. ", float weight_cap)"):format "float inv_trunc, ",
    impls = in_every_language "update_dense",
  },
}
