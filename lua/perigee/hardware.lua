--- Hardware counters of a candidate's kernels, by NVIDIA's profiler: this program runs a plan once
-- under `ncu`, in a process that knows inputs and no answers. ncu needs leave to read counters.
-- @module perigee.hardware

local core = require "perigee.core"
local files = require "perigee.files"
local ncu = require "perigee.irregularity.ncu"
local units = require "perigee.units"

local hardware = {}

local SECONDS = 90 -- that a profile may take: ncu replays a kernel several times

local METRICS = {
  { "time_ns", { "gpu__time_duration.sum" } },
  { "memory", { "dram__throughput.avg.pct_of_peak_sustained_elapsed" } },
  { "arithmetic", { "sm__throughput.avg.pct_of_peak_sustained_elapsed" } },
  { "warps", { "sm__warps_active.avg.pct_of_peak_sustained_active" } },
  { "bytes", { "dram__bytes.sum" } },
  { "warp_instructions", { "smsp__inst_executed.sum" } },
  { "l2_hit", { "lts__t_sector_hit_rate.pct" } },
}

local function percent(value) return ("%.1f%%"):format(value) end

-- {field, name, value in words, what it suggests}
local ROWS = {
  { "time_ns", "time under the profiler", function(v) return units.time(v * 1e-3) end,
    function() return "one run, for shares alone: see time for the time" end },
  { "memory", "of the memory's throughput", percent, function(v)
    return v > 75 and "memory is the limit: move fewer bytes" or "memory is not the limit"
  end },
  { "arithmetic", "of the multiprocessors' throughput", percent, function(v)
    return v > 75 and "instructions are the limit: do fewer, or use tensor cores"
      or "instructions are not the limit"
  end },
  { "warps", "of the warps that fit are active", percent, function(v)
    return v < 40 and "few warps hide latency: fewer registers or less shared memory a block, or "
      .. "more blocks" or "enough warps to hide latency"
  end },
  { "bytes", "bytes of memory", units.bytes, function()
    return "beside the work that must be done: more is traffic to save"
  end },
  { "warp_instructions", "warp instructions", units.count, function()
    return "what the simulator counts, too, at another size"
  end },
  { "l2_hit", "L2 hit rate", percent, function()
    return "what misses here comes from memory"
  end },
}

-- Why a plan's steps cannot be run by a script; nil when they can.
local function refusal(steps)
  for _, step in ipairs(steps) do
    if not (step.launch or step.memset and step.offset == 0) then
      return "the plan has more than launches and fills"
    end
    if step.cluster then return "the plan launches clusters" end
    for _, argument in ipairs(step.args or {}) do
      if not (argument.i or argument.f or argument.u) and (not argument.buffer
        or argument.offset) then return "the plan has arguments that a script cannot pass" end
    end
  end
  return nil
end

local function kernels_of(steps)
  local names = {}
  for _, step in ipairs(steps) do
    if step.launch then names[#names + 1] = step.launch:match "^[%w_]+" end
  end
  return names
end

local function rows_of(name, counters)
  local rows = {}
  for _, row in ipairs(ROWS) do
    local value = counters[row[1]]
    if value then
      rows[#rows + 1] = { name = ("%s: %s"):format(name, row[2]), value = row[3](value),
        suggests = row[4](value) }
    end
  end
  return rows
end

--- Count on a GPU.
-- @tparam table what {task = its name, file = of the task, set, knobs, candidate = path, ptx, plan
--   = steps of a record, device = "cuda:N"}
-- @tparam string folder for what is handed over
-- @treturn table|nil rows {name = "kernel: counter", value, suggests}, launch by launch
-- @treturn string|nil why there are none
function hardware.counters(what, folder)
  local reason = refusal(what.plan) or not ncu.find() and "no ncu on this machine"
  if reason then return nil, reason end
  local path = files.join(folder, "hardware.json")
  local made, e = core.write_file(path, core.json_encode(what))
  if not made then return nil, e.message end
  local kernels = kernels_of(what.plan)
  local list, why = ncu.run({ files.join(core.home, "lua/perigee/hardware_launch.lua"), path },
    kernels, { metrics = METRICS, seconds = SECONDS })
  if not list then return nil, why end
  local rows = core.json_array {}
  for i, counters in ipairs(list) do
    table.move(rows_of(kernels[i], counters), 1, #ROWS, #rows + 1, rows)
  end
  return rows
end

return hardware
