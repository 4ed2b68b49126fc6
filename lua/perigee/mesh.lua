--- Meshes and point clouds: reading PLY, OFF and XYZ files, sampling surfaces, scaling into metres.
--
--     local mesh = require "perigee.mesh"
--     local bunny = mesh.read "data/scans/bunny.off"
--     local points = mesh.fit(mesh.sample(bunny, 320000, { seed = 1 }), { extent = 1.0 })
--
-- @module perigee.mesh

local core = require "perigee.core"
local files = require "perigee.files"
local text = require "perigee.mesh.text"

local mesh = {}

local READERS = {
  ply = "perigee.mesh.ply", off = "perigee.mesh.off",
  xyz = "perigee.mesh.xyz", pwn = "perigee.mesh.xyz",
}

--- Read a mesh or a point cloud; the extension tells the format (.ply, .off, .xyz, .pwn).
-- Polygons become fans of triangles.
-- @tparam string path
-- @tparam[opt] table options {fields = names of further vertex properties of a PLY file}
-- @treturn table {points = f64[n][3], faces = i32[m][3], nil for a cloud, fields = {name = f64[n]}}
-- @raise "not_found", "io"; "syntax" with file and line or byte; "unsupported"
function mesh.read(path, options)
  local extension = path:match("%.([^./]*)$")
  local reader = READERS[(extension or ""):lower()]
  if not reader then
    core.error("unsupported", ("cannot tell the format of '%s'"):format(path),
      "expected a name that ends in .ply, .off, .xyz or .pwn", path)
  end
  return require(reader).parse(files.read(path), path, options and options.fields or {})
end

-- Cumulated areas of the triangles; the last is the whole surface.
local function cumulated_areas(points, faces)
  local p, f, areas, total = points:totable(), faces:totable(), {}, 0.0
  for i = 1, #f, 3 do
    local a, b, c = 3 * f[i], 3 * f[i + 1], 3 * f[i + 2]
    local ux, uy, uz = p[b + 1] - p[a + 1], p[b + 2] - p[a + 2], p[b + 3] - p[a + 3]
    local vx, vy, vz = p[c + 1] - p[a + 1], p[c + 2] - p[a + 2], p[c + 3] - p[a + 3]
    local x, y, z = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    total = total + 0.5 * math.sqrt(x * x + y * y + z * z)
    areas[#areas + 1] = total
  end
  return areas, p, f
end

local function sample_surface(shape, n, options)
  local areas, p, f = cumulated_areas(shape.points, shape.faces)
  local total = areas[#areas] or 0.0
  if not (total > 0 and total < math.huge) then
    core.error("invalid", ("the surface has area %g: nothing to sample"):format(total), nil,
      options.where)
  end
  local seed, stream = options.seed or 1, options.stream or 0
  local r = core.array("f64", 3 * n):random { seed = seed, stream = stream }:totable()
  local column, face = text.column("d", "f64"), 1
  for i = 0, n - 1 do
    local target = (i + r[3 * i + 1]) / n * total
    while areas[face] < target and face < #areas do face = face + 1 end
    -- Uniform over the triangle: Osada et al., "Shape Distributions" (2002), section 4.2.
    local root, v = math.sqrt(r[3 * i + 2]), r[3 * i + 3]
    local wa, wb, wc = 1 - root, root * (1 - v), root * v
    local a, b, c = 3 * f[3 * face - 2], 3 * f[3 * face - 1], 3 * f[3 * face]
    column.push3(wa * p[a + 1] + wb * p[b + 1] + wc * p[c + 1],
      wa * p[a + 2] + wb * p[b + 2] + wc * p[c + 2],
      wa * p[a + 3] + wb * p[b + 3] + wc * p[c + 3])
  end
  return column.array(3)
end

-- n of the points of a cloud, evenly spread over the file's order.
local function sample_cloud(shape, n, options)
  local count = shape.points.shape[1]
  if n > count then
    core.error("range", ("the cloud has %d points, %d were asked for"):format(count, n),
      "a cloud has no surface to sample more from: ask for fewer", options.where)
  end
  if n == count then return shape.points:copy() end
  local p, column = shape.points:totable(), text.column("d", "f64")
  for i = 0, n - 1 do
    local at = 3 * (i * count // n)
    column.push3(p[at + 1], p[at + 2], p[at + 3])
  end
  return column.array(3)
end

--- Exactly n points of a mesh's surface, or of a cloud. Surface: by area and stratified (point i
-- lies in the i'th n-th of the area, in the order of the faces), so equal areas get equal numbers
-- of points, within one. Cloud: n of its points in its order.
-- @tparam table shape what `read` returned
-- @tparam integer n
-- @tparam[opt] table options {seed =, stream =: of the random numbers}
-- @treturn array f64[n][3]
-- @raise "range" (fewer points in the cloud), "invalid" (no area)
function mesh.sample(shape, n, options)
  options = options or {}
  if math.type(n) ~= "integer" or n < 1 then
    core.error("range", ("cannot sample %s points"):format(tostring(n)), "ask for at least one",
      options.where)
  end
  if shape.faces then return sample_surface(shape, n, options) end
  return sample_cloud(shape, n, options)
end

local function check_finite(p, low, high)
  if low - low == 0 and high - high == 0 then return end
  for i, v in ipairs(p) do
    if v - v ~= 0 then
      core.error("range", ("point %d has the coordinate %s"):format((i - 1) // 3, tostring(v)),
        "every coordinate must be a finite number")
    end
  end
end

-- Lowest and highest coordinate of one axis (1, 2, 3). What is not finite makes low or high so.
local function bounds(p, axis)
  local low, high, sum = p[axis], p[axis], 0
  for i = axis, #p, 3 do
    local v = p[i]
    if v < low then low = v end
    if v > high then high = v end
    sum = sum + v
  end
  check_finite(p, low + (sum - sum), high)
  return low, high
end

--- Move and scale points so that the longest side of their bounding box is `extent` and its middle
-- is `centre`.
-- @tparam array points f64[n][3], any unit
-- @tparam table options {extent = metres, centre = {x, y, z} in metres, default the origin}
-- @treturn array,number f64[n][3] in metres, and the factor
-- @raise "range" when the points have no extent or are not finite
function mesh.fit(points, options)
  local p = points:totable()
  if #p == 0 then core.error("range", "no points to fit") end
  local centre = options.centre or { 0, 0, 0 }
  local low_x, high_x = bounds(p, 1)
  local low_y, high_y = bounds(p, 2)
  local low_z, high_z = bounds(p, 3)
  local side = math.max(high_x - low_x, high_y - low_y, high_z - low_z)
  if side == 0 then core.error("range", "all points are the same: nothing to scale") end
  local factor, column = options.extent / side, text.column("d", "f64")
  local mx, my, mz = 0.5 * (low_x + high_x), 0.5 * (low_y + high_y), 0.5 * (low_z + high_z)
  for i = 1, #p, 3 do
    column.push3((p[i] - mx) * factor + centre[1], (p[i + 1] - my) * factor + centre[2],
      (p[i + 2] - mz) * factor + centre[3])
  end
  return column.array(3), factor
end

return mesh
