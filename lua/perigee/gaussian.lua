--- Gaussian process regression for a few dozen points: what a search believes about configurations
-- that it has not evaluated (Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006,
-- algorithm 2.1, and section 5.4.1 for the marginal likelihood). Points are lists of numbers.
-- @module perigee.gaussian

local Model = {}
Model.__index = Model

local gaussian = {}

local ROOT5 = math.sqrt(5)

-- Matern kernel, nu = 5/2, of the distance with a length scale for each dimension.
local function kernel(a, b, inverse)
  local sum = 0
  for d = 1, #inverse do
    local difference = (a[d] - b[d]) * inverse[d]
    sum = sum + difference * difference
  end
  local r = ROOT5 * math.sqrt(sum)
  return (1 + r + r * r / 3) * math.exp(-r)
end

-- Lower triangle L with L L' = K; nil when K is not positive definite.
local function cholesky(k)
  local l = {}
  for i = 1, #k do
    local row = {}
    l[i] = row
    for j = 1, i do
      local other, sum = l[j], k[i][j]
      for m = 1, j - 1 do sum = sum - row[m] * other[m] end
      if i == j then
        if sum <= 1e-12 then return nil end
        row[j] = math.sqrt(sum)
      else
        row[j] = sum / other[j]
      end
    end
  end
  return l
end

-- x with L x = b.
local function forward(l, b)
  local x = {}
  for i = 1, #l do
    local row, sum = l[i], b[i]
    for j = 1, i - 1 do sum = sum - row[j] * x[j] end
    x[i] = sum / row[i]
  end
  return x
end

-- x with L' x = b.
local function backward(l, b)
  local x = {}
  for i = #l, 1, -1 do
    local sum = b[i]
    for j = i + 1, #l do sum = sum - l[j][i] * x[j] end
    x[i] = sum / l[i][i]
  end
  return x
end

-- Mean and standard deviation of values; the deviation of equal ones is 1.
local function moments(values)
  local sum, squares = 0, 0
  for _, value in ipairs(values) do sum = sum + value end
  local mean = sum / #values
  for _, value in ipairs(values) do squares = squares + (value - mean) ^ 2 end
  local deviation = math.sqrt(squares / #values)
  return mean, deviation > 1e-12 and deviation or 1
end

--- Fit with given length scales and noise.
-- @tparam table points list of lists of numbers
-- @tparam table values list of numbers
-- @tparam table scales a length for each dimension
-- @tparam number noise variance of a value about its mean, in units of the values' variance
-- @treturn table|nil a model; nil when the matrix is not positive definite
function gaussian.fit(points, values, scales, noise)
  local inverse, k = {}, {}
  for d, scale in ipairs(scales) do inverse[d] = 1 / scale end
  for i = 1, #points do
    k[i] = {}
    for j = 1, i do k[i][j] = kernel(points[i], points[j], inverse) end
    k[i][i] = k[i][i] + noise
  end
  local l = cholesky(k)
  if not l then return nil end
  local mean, deviation = moments(values)
  local y = {}
  for i, value in ipairs(values) do y[i] = (value - mean) / deviation end
  local half = forward(l, y)
  local fit, determinant = 0, 0
  for i = 1, #y do
    fit = fit + half[i] * half[i]
    determinant = determinant + math.log(l[i][i])
  end
  return setmetatable({
    points = points, inverse = inverse, l = l, weights = backward(l, half), mean = mean,
    deviation = deviation, scales = scales, noise = noise,
    likelihood = -0.5 * fit - determinant,
  }, Model)
end

--- Mean and standard deviation of the value at a point.
function Model:at(point)
  local k, sum = {}, 0
  for i, known in ipairs(self.points) do
    k[i] = kernel(point, known, self.inverse)
    sum = sum + k[i] * self.weights[i]
  end
  local v, variance = forward(self.l, k), 1
  for i = 1, #v do variance = variance - v[i] * v[i] end
  return self.mean + self.deviation * sum, self.deviation * math.sqrt(math.max(variance, 1e-12))
end

local LENGTHS = { 0.2, 0.4, 0.8, 1.6, 3.2, 8 }
local NOISES = { 1e-4, 1e-3, 1e-2, 5e-2 }

--- Fit with the length scales and the noise that make the values most likely, one after the other.
-- @tparam table points
-- @tparam table values
-- @tparam[opt] table from {scales, noise} of an earlier fit, where to begin
function gaussian.learn(points, values, from)
  local scales, noise = {}, from and from.noise or 1e-3
  for d = 1, #points[1] do scales[d] = from and from.scales[d] or 0.8 end
  local best = gaussian.fit(points, values, scales, noise)
  local function try(changed, with)
    local model = gaussian.fit(points, values, changed, with)
    if model and (not best or model.likelihood > best.likelihood + 1e-9) then best = model end
  end
  for _ = 1, from and 1 or 2 do
    for d = 1, #scales do
      local base = best and best.scales or scales
      for _, length in ipairs(LENGTHS) do
        local changed = table.move(base, 1, #base, 1, {})
        changed[d] = length
        try(changed, best and best.noise or noise)
      end
    end
    for _, with in ipairs(NOISES) do try(best and best.scales or scales, with) end
  end
  return best
end

return gaussian
