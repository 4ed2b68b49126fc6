--- Numbers with units, at the precision a reader can use.
-- @module perigee.units

local units = {}

-- Three significant digits or more, without an exponent.
local function digits(value)
  local size = math.abs(value)
  if size >= 100 then return ("%.0f"):format(value) end
  if size >= 10 then return ("%.1f"):format(value) end
  return ("%.2f"):format(value)
end

local function scaled(value, step, names, unit)
  local i = 1
  while math.abs(value) >= step and i < #names do
    value = value / step
    i = i + 1
  end
  return digits(value) .. " " .. names[i] .. unit
end

--- Microseconds in us, ms or s, with four significant digits.
function units.time(us)
  local value, unit = us, "us"
  if us >= 1e6 then
    value, unit = us / 1e6, "s"
  elseif us >= 1e3 then
    value, unit = us / 1e3, "ms"
  end
  local places = value >= 1000 and 0 or value >= 100 and 1 or value >= 10 and 2 or 3
  return ("%." .. places .. "f %s"):format(value, unit)
end

--- Bytes in powers of 1000: "50.3 MB".
function units.bytes(bytes)
  if bytes < 1000 then return ("%d bytes"):format(bytes) end
  return scaled(bytes, 1000, { "", "k", "M", "G", "T" }, "B")
end

--- A count: exact with separators below ten million, else "16.8 M".
function units.count(n)
  local whole = math.tointeger(n)
  if not whole then return digits(n) end
  if math.abs(whole) >= 10000000 then return scaled(whole, 1000, { "", "k", "M", "G", "T" }, "") end
  return units.grouped(whole)
end

--- An integer, exactly: "1,048,576".
function units.grouped(whole)
  local sign, rest = ("%d"):format(whole):match("^(%-?)(%d+)$")
  local grouped = rest:reverse():gsub("(%d%d%d)", "%1,"):reverse():gsub("^,", "")
  return sign .. grouped
end

--- So many of something that has an s when it is not one: "1 sample", "1,024 samples".
function units.counted(count, noun)
  return ("%s %s%s"):format(units.grouped(count), noun, count == 1 and "" or "s")
end

--- GB/s or Gflop/s.
function units.rate(value)
  return digits(value)
end

--- A ratio: "1.03x".
function units.ratio(value)
  return ("%.2fx"):format(value)
end

--- A share of 1 as "12.5 %".
function units.percent(value)
  return ("%.1f %%"):format(100 * value)
end

return units
