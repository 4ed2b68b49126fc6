--- Hardware counters of the variants by NVIDIA's profiler: the suite runs itself under `ncu`, which
-- needs leave to read them.
-- @module perigee.irregularity.ncu

local core = require "perigee.core"
local shell = require "perigee.shell"

local ncu = {}

-- Our name -> metrics whose sum it is.
local METRICS = {
  { "time_ns", { "gpu__time_duration.sum" } },
  { "warp_instructions", { "smsp__inst_executed.sum" } },
  { "thread_instructions", { "smsp__thread_inst_executed.sum" } },
  { "global_load_sectors", { "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum" } },
  { "global_store_sectors", { "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum" } },
  { "global_atomic_sectors", { "l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum" } },
}

--- The profiler: $NCU, or where toolkits put it. @treturn string|nil
function ncu.find()
  local given = os.getenv "NCU"
  if given then return given ~= "none" and given or nil end
  local pipe <close> = io.popen("command -v ncu; ls /usr/local/cuda*/bin/ncu "
    .. "/opt/nvidia/nsight-compute/*/ncu 2>/dev/null")
  return pipe and pipe:read "l" or nil
end

local function names_of(metrics)
  local names = {}
  for _, row in ipairs(metrics) do
    for _, name in ipairs(row[2]) do names[#names + 1] = name end
  end
  return table.concat(names, ",")
end

local function fields_of(line)
  local fields = {}
  for field in line:gmatch '"([^"]*)"' do fields[#fields + 1] = field end
  return fields
end

-- ncu's long form, a line for each launch and metric -> list of {kernel, [metric] = value}
local function launches_of(text)
  local list, columns, by_id = {}, nil, {}
  for line in text:gmatch "[^\r\n]+" do
    local fields = line:sub(1, 1) == '"' and fields_of(line) or {}
    if fields[1] == "ID" then
      columns = {}
      for i, name in ipairs(fields) do columns[name] = i end
    elseif columns and fields[columns["Metric Name"]] then
      local id = fields[1]
      if not by_id[id] then
        by_id[id] = { kernel = fields[columns["Kernel Name"]]:match "^[%w_]+" }
        list[#list + 1] = by_id[id]
      end
      by_id[id][fields[columns["Metric Name"]]] =
        tonumber((fields[columns["Metric Value"]]:gsub(",", "")))
    end
  end
  return list
end

local function counters_of(launch, metrics)
  local counters = {}
  for _, row in ipairs(metrics) do
    for _, name in ipairs(row[2]) do
      if launch[name] then counters[row[1]] = (counters[row[1]] or 0) + launch[name] end
    end
  end
  return counters
end

--- Run a script under the profiler.
-- @tparam table arguments of this program: a script and its options, which launches each kernel of
--   `kernels` once, in that order
-- @tparam table kernels names
-- @tparam[opt] table how {metrics = list of {our name, metrics of ncu whose sum it is}, seconds =
--   that it may take}
-- @treturn table list of counters, one for each kernel; nil and why not
function ncu.run(arguments, kernels, how)
  local tool, metrics = ncu.find(), how and how.metrics or METRICS
  if not tool then return nil, "no ncu on this machine" end
  local log, words = os.tmpname(), {}
  for i, argument in ipairs(arguments) do words[i] = shell.quoted(argument) end
  local command = "%s%s --clock-control none --cache-control all --target-processes all --csv "
    .. "--print-units base --log-file %s --metrics %s %s %s 2>&1"
  local limit = how and how.seconds and ("timeout %d "):format(how.seconds) or ""
  local pipe <close> = io.popen(command:format(limit, shell.quoted(tool), shell.quoted(log),
    names_of(metrics), shell.quoted(core.binary()), table.concat(words, " ")))
  local said = pipe:read "a"
  local text = core.read_file(log) or ""
  os.remove(log)
  local list = launches_of(text)
  if #list ~= #kernels then
    return nil, ("ncu saw %d launches, expected %d: %s"):format(#list, #kernels,
      (text .. said):match "==ERROR==[^\n]*" or said:sub(-200))
  end
  for i, launch in ipairs(list) do
    if launch.kernel ~= kernels[i] then
      return nil, ("ncu: launch %d is %s, expected %s"):format(i, launch.kernel, kernels[i])
    end
    list[i] = counters_of(launch, metrics)
  end
  return list
end

return ncu
