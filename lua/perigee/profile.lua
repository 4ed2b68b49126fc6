--- What sim:profile counted, for people: a table a record, and the source with counters beside it.
-- @module perigee.profile

local core = require "perigee.core"
local files = require "perigee.files"
local units = require "perigee.units"

local profile = {}

local HOT_SHARE = 0.1 -- of the sectors or instructions: such a line is marked

local function ratio(a, b, text)
  if not b or b == 0 then return nil end
  return (text or "%.2f"):format(a / b)
end

local function share(a, b)
  if not b or b == 0 then return nil end
  return ("%.1f%%"):format(100 * a / b)
end

-- {name, value(c)}: rows without a value are left out.
local ROWS = {
  { "warp instructions", function(c) return units.count(c.warp_instructions) end },
  { "active lanes / instruction",
    function(c) return ratio(c.thread_instructions, c.warp_instructions) end },
  { "branch efficiency",
    function(c) return share(c.branches - c.divergent_branches, c.branches) end },
  { "global load sectors / request",
    function(c) return ratio(c.global_load_sectors, c.global_load_requests) end },
  { "  bytes asked / bytes moved",
    function(c) return share(c.global_load_bytes, 32 * c.global_load_sectors) end },
  { "global store sectors / request",
    function(c) return ratio(c.global_store_sectors, c.global_store_requests) end },
  { "  bytes asked / bytes moved",
    function(c) return share(c.global_store_bytes, 32 * c.global_store_sectors) end },
  { "global atomic sectors / request",
    function(c) return ratio(c.global_atomic_sectors, c.global_atomic_requests) end },
  { "  lanes that collide",
    function(c) return share(c.global_atomic_collisions, c.global_atomic_lanes) end },
  { "shared wavefronts / request",
    function(c) return ratio(c.shared_wavefronts, c.shared_requests) end },
  { "barrier waits of warps", function(c) return c.barriers > 0 and units.count(c.barriers) end },
  { "local sectors", function(c)
    local n = c.local_load_sectors + c.local_store_sectors
    return n > 0 and units.count(n)
  end },
  { "L1 hit rate (model)", function(c) return share(c.l1_hit_sectors, c.l1_sectors) end },
  { "L2 hit rate (model)", function(c) return share(c.l2_hit_sectors, c.l2_sectors) end },
}

--- Print the counters of a record.
-- @tparam table rec a record with complete counters
-- @tparam function out called with each line
function profile.counters(rec, out)
  for _, row in ipairs(ROWS) do
    local value = row[2](rec.counters)
    if value then out(("    %-32s %12s"):format(row[1], value)) end
  end
  for _, hot in ipairs(rec.hot_addresses or {}) do
    out(("    atomics collide at 0x%x: %s lanes"):format(hot.address, units.count(hot.collisions)))
  end
end

local function sectors(c)
  return (c.global_load_sectors or 0) + (c.global_store_sectors or 0)
    + (c.global_atomic_sectors or 0)
end

local function requests(c)
  return (c.global_load_requests or 0) + (c.global_store_requests or 0)
    + (c.global_atomic_requests or 0)
end

local function beside(c, all)
  if not c then return "" end
  local hot = c.warp_instructions >= HOT_SHARE * all.warp_instructions
    or (sectors(c) > 0 and sectors(c) >= HOT_SHARE * sectors(all))
  return ("%s%8s %5.1f %8s %6s %6s"):format(hot and ">" or " ", units.count(c.warp_instructions),
    c.thread_instructions / c.warp_instructions, sectors(c) > 0 and units.count(sectors(c)) or "",
    ratio(sectors(c), requests(c), "%.1f") or "",
    ratio(c.shared_wavefronts or 0, c.shared_requests, "%.1f") or "")
end

-- file -> line -> counters
local function by_file(lines)
  local map, names = {}, {}
  for _, line in ipairs(lines or {}) do
    if not map[line.file] then
      map[line.file] = {}
      names[#names + 1] = line.file
    end
    map[line.file][line.line] = line
  end
  table.sort(names)
  return map, names
end

local function text_of(name)
  return core.read_file(name) or core.read_file(files.join(core.home, name))
end

--- Print the source of every file that was counted in; `>` marks lines with a tenth of all or more.
function profile.annotate(rec, out)
  local map, names = by_file(rec.lines)
  if #names == 0 then out "    no lines: the PTX carries none (compile with -lineinfo)" end
  for _, name in ipairs(names) do
    out(("\n  %s\n %8s %5s %8s %6s %6s"):format(name, "instr.", "lanes", "sectors", "s/req",
      "waves"))
    local number, last = 0, 0
    for line in pairs(map[name]) do last = math.max(last, line) end
    local text = text_of(name) or ("\n"):rep(last)
    for line in (text .. (text:sub(-1) == "\n" and "" or "\n")):gmatch "([^\n]*)\n" do
      number = number + 1
      out(("%-39s %4d  %s"):format(beside(map[name][number], rec.counters), number, line))
    end
  end
end

return profile
