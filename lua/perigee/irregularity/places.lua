--- What the place of arrays in memory does to a time: kernels/tsdf/places.lua times the same
-- kernels, unchanged, in several processes and places; here is their section of the page.
-- @module perigee.irregularity.places

local core = require "perigee.core"
local report = require "perigee.irregularity.report"
local tables = require "perigee.irregularity.tables"

local places = {}

-- A row is a slice of samples, in a place of its own.
local COLUMNS = { "stage", "cell", "arm", "process", "place", "median_us", "stddev_us" }

--- Write rows as CSV.
function places.write(rows, path)
  local list = {}
  for i, row in ipairs(rows) do
    list[i] = { row.stage, row.cell, row.arm, row.process, row.place,
      ("%.5g"):format(row.median_us), ("%.3g"):format(row.stddev_us) }
  end
  report.csv(path, COLUMNS, list)
end

-- Medians of an arm in a cell, a number a place, and the mean spread of samples within a place.
local function found_of(rows)
  local list, by_name = {}, {}
  for _, row in ipairs(rows) do
    local name = ("%s, %s, %s"):format(row.stage, row.cell, row.arm)
    local one = by_name[name]
    if not one then
      one = { cell = ("%s, %s"):format(row.stage, row.cell), arm = row.arm, us = {}, within = {} }
      by_name[name], list[#list + 1] = one, one
    end
    table.insert(one.us, row.median_us)
    table.insert(one.within, row.stddev_us)
  end
  return list
end

-- Ratios of a place of one arm to a place of the other, every one to every other, ascending.
local function pairs_of(one, base)
  local list = {}
  for _, above in ipairs(one.us) do
    for _, below in ipairs(base.us) do list[#list + 1] = above / below end
  end
  table.sort(list)
  return list
end

-- The ratio over all places, and between which 19 of 20 ratios of a place each lie.
local function ratio_of(one, base, mean)
  local list = pairs_of(one, base)
  local cut = #list // 40
  return ("%.3f"):format(mean / core.summarize(base.us).mean),
    ("%.2f .. %.2f"):format(list[1 + cut], list[#list - cut])
end

--- Each arm over its places, against the first of its cell: a section of the page.
function tables.sections.places(data)
  if not data.places then return nil end
  local lines, first = { { "stage, cell", "arm", "places", "us", "of a place", "place to place",
    "within one", "ratio", "with a place each" } }, nil
  for _, one in ipairs(found_of(data.places.rows)) do
    local s = core.summarize(one.us)
    local line = { one.cell, "`" .. one.arm .. "`", ("%d"):format(#one.us), tables.us(s.mean),
      ("%s .. %s"):format(tables.us(s.min), tables.us(s.max)),
      ("%.1f%%"):format(100 * s.stddev / s.mean),
      ("%.1f%%"):format(100 * core.summarize(one.within).mean / s.mean), "", "" }
    if first and first.cell == one.cell then
      line[1], line[8], line[9] = "", ratio_of(one, first, s.mean)
    else
      first = one
    end
    lines[#lines + 1] = line
  end
  return tables.markdown(lines)
end

return places
