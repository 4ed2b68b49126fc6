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

local function above(value, limit, text)
  return value and value > limit and text or nil
end

local function quotient(a, b)
  return b and b > 0 and a / b or nil
end

local function per_request(c, kind)
  return quotient(c["global_" .. kind .. "_sectors"], c["global_" .. kind .. "_requests"])
end

local function used(c, kind)
  return quotient(c["global_" .. kind .. "_bytes"], 32 * c["global_" .. kind .. "_sectors"])
end

-- Accesses so rare that nothing is gained from mending them.
local function few(c, kind)
  local share_of = quotient(c["global_" .. kind .. "_requests"], c.warp_instructions)
  return share_of and share_of < 0.005 and "too few of them to matter" or nil
end

-- Many sectors a request are right for wide accesses, which use all of each.
local function scattered(c, kind)
  return (per_request(c, kind) or 0) > 8 and (used(c, kind) or 1) < 0.7
end

local WASTED = "neighbouring threads read or write far apart: let thread i touch element i, or "
  .. "stage a tile in shared memory"

-- {name, value(c), what it suggests (c)}: rows without a value are left out.
local ROWS = {
  { "warp instructions", function(c) return units.count(c.warp_instructions) end,
    function(c)
      local memory = c.global_load_requests + c.global_store_requests + c.global_atomic_requests
      return above(quotient(c.warp_instructions, memory), 50,
        "many instructions for each access of memory: arithmetic or addressing is the cost")
        or above(quotient(memory, c.warp_instructions), 0.2,
        "one instruction in five is an access of memory: wider ones (float4) need fewer")
        or "what arithmetic, addressing and control cost together"
    end },
  { "active lanes / instruction",
    function(c) return ratio(c.thread_instructions, c.warp_instructions) end,
    function(c)
      local lanes = quotient(c.thread_instructions, c.warp_instructions) or 32
      return lanes < 24 and "lanes idle: give a warp work of one kind and length"
        or "nearly all lanes work"
    end },
  { "branch efficiency",
    function(c) return share(c.branches - c.divergent_branches, c.branches) end,
    function(c)
      return above(quotient(c.divergent_branches, c.branches), 0.1,
        "warps split at branches: branch on what all lanes of a warp share, or use a select")
        or "warps stay together"
    end },
  { "global load sectors / request",
    function(c) return ratio(c.global_load_sectors, c.global_load_requests) end,
    function(c)
      return few(c, "load") or scattered(c, "load") and "loads are scattered: " .. WASTED
        or "coalesced: 4 sectors are the least for 32 values of 4 bytes, 16 for float4"
    end },
  { "  bytes asked / bytes moved",
    function(c) return share(c.global_load_bytes, 32 * c.global_load_sectors) end,
    function(c)
      return few(c, "load") or (used(c, "load") or 1) < 0.7
        and "sectors are fetched for a part of them: " .. WASTED or "what is fetched is used"
    end },
  { "global store sectors / request",
    function(c) return ratio(c.global_store_sectors, c.global_store_requests) end,
    function(c)
      return few(c, "store")
        or scattered(c, "store") and "stores are scattered: " .. WASTED or "coalesced"
    end },
  { "  bytes asked / bytes moved",
    function(c) return share(c.global_store_bytes, 32 * c.global_store_sectors) end,
    function(c)
      return few(c, "store") or (used(c, "store") or 1) < 0.7
        and "sectors are written in part: " .. WASTED or "whole sectors are written"
    end },
  { "global atomic sectors / request",
    function(c) return ratio(c.global_atomic_sectors, c.global_atomic_requests) end,
    function() return "each atomic goes to L2: combine within a warp or block first" end },
  { "  lanes that collide",
    function(c) return share(c.global_atomic_collisions, c.global_atomic_lanes) end,
    function(c)
      return above(quotient(c.global_atomic_collisions, c.global_atomic_lanes), 0.1,
        "lanes of a warp update one address in turn: add within the warp first (shuffle, redux)")
        or "lanes rarely meet"
    end },
  { "shared wavefronts / request",
    function(c) return ratio(c.shared_wavefronts, c.shared_requests) end,
    function(c)
      return above(quotient(c.shared_wavefronts, c.shared_requests), 1.5,
        "bank conflicts, unless accesses are wider than 4 bytes: pad rows by one element, or "
          .. "permute columns")
        or "few bank conflicts"
    end },
  { "barrier waits of warps", function(c) return c.barriers > 0 and units.count(c.barriers) end,
    function(c)
      return above(quotient(c.barriers, c.warp_instructions), 0.02,
        "a barrier every few instructions: more work between two, or warp-level exchange")
        or "few barriers"
    end },
  { "local sectors", function(c)
    local n = c.local_load_sectors + c.local_store_sectors
    return n > 0 and units.count(n)
  end, function()
    return "arrays indexed at run time or spills live in memory: unroll, or keep fewer values"
  end },
  { "L1 hit rate (model)", function(c) return share(c.l1_hit_sectors, c.l1_sectors) end,
    function() return "low is right for data that is used once, high for data used again" end },
  { "L2 hit rate (model)", function(c) return share(c.l2_hit_sectors, c.l2_sectors) end,
    function() return "what misses here comes from memory" end },
}

--- The counters of a record in words.
-- @tparam table rec a record with complete counters
-- @treturn table list of {name, value, suggests = a sentence on what it means for the kernel}
function profile.rows(rec)
  local list = core.json_array {}
  for _, row in ipairs(ROWS) do
    local value = row[2](rec.counters)
    if value then
      list[#list + 1] = { name = row[1]:match "^%s*(.*)", value = value,
        suggests = row[3](rec.counters) }
    end
  end
  return list
end

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

--- The lines of source that cost most.
-- @tparam table rec a record with counters by line
-- @tparam integer most how many
-- @treturn table list of {file, line, text, instructions, share, sectors_per_request}
function profile.hottest(rec, most)
  local lines, list = table.move(rec.lines or {}, 1, #(rec.lines or {}), 1, {}), core.json_array {}
  table.sort(lines, function(a, b)
    if a.warp_instructions ~= b.warp_instructions then
      return a.warp_instructions > b.warp_instructions
    end
    return a.line < b.line
  end)
  for i = 1, math.min(most, #lines) do
    local c = lines[i]
    local requests = (c.global_load_requests or 0) + (c.global_store_requests or 0)
    local moved = (c.global_load_sectors or 0) + (c.global_store_sectors or 0)
    list[i] = { file = c.file, line = c.line, instructions = c.warp_instructions,
      share = c.warp_instructions / rec.counters.warp_instructions,
      sectors_per_request = quotient(moved, requests) }
  end
  return list
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
