--- Launches each kernel of ncu_compare once, and compares what was counted.
--
--     perigee ncu_compare.lua run DEVICE [OUT.json]    launch; on sim:profile write the counters
--     perigee ncu_compare.lua metrics                  names for ncu --metrics
--     perigee ncu_compare.lua table SIM.json [NCU.csv] all metrics; the table of host/sim/README.md

local core = require "perigee.core"
local case = require "perigee.case"
local catalogue = require "perigee.catalogue"
local buffers = require "perigee.buffers"
local files = require "perigee.files"
local impl = require "perigee.impl"
local params = require "perigee.params"
local plan = require "perigee.plan"

local SEED = 20

-- A row of the table: what it is called, the sum of these metrics of ncu, the counter of the
-- simulator or a function of all; for hit rates { hits, misses } and { hits, all }. If judged, how
-- far both may be apart: a part of ncu's, points of a percentage.
local WITHIN, POINTS = 0.05, 10
local ROWS = {
  { "load requests", { "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum" },
    "global_load_requests", WITHIN },
  { "load sectors", { "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum" },
    "global_load_sectors", WITHIN },
  { "store requests", { "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum" },
    "global_store_requests", WITHIN },
  { "store sectors", { "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum" },
    "global_store_sectors", WITHIN },
  -- An atomic whose result nobody reads is `atom` in PTX and RED in machine code.
  { "atomic requests", { "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum" }, "global_atomic_requests", WITHIN },
  { "atomic sectors", { "l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum" }, "global_atomic_sectors", WITHIN },
  { "shared requests", { "smsp__inst_executed_op_shared_ld.sum",
    "smsp__inst_executed_op_shared_st.sum", "smsp__inst_executed_op_shared_atom.sum" },
    "shared_requests" },
  { "shared wavefronts", { "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum" },
    "shared_wavefronts" },
  { "bank conflicts", { "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum" },
    function(c) return c.shared_wavefronts - c.shared_requests end, WITHIN },
  { "warp instructions", { "smsp__inst_executed.sum" }, "warp_instructions" },
  { "active lanes", { "smsp__thread_inst_executed_per_inst_executed.ratio" },
    function(c) return c.thread_instructions / c.warp_instructions end },
  { "L1 hit %", { "l1tex__t_sectors_lookup_hit.sum", "l1tex__t_sectors_lookup_miss.sum" },
    { "l1_hit_sectors", "l1_sectors" }, POINTS },
  -- What multiprocessors ask. lts__t_sector_hit_rate has also the traffic between the halves of L2,
  -- instructions and constants: a thousand sectors even of an empty kernel.
  { "L2 hit %", { "lts__t_sectors_srcunit_tex_lookup_hit.sum",
    "lts__t_sectors_srcunit_tex_lookup_miss.sum" }, { "l2_hit_sectors", "l2_sectors" }, POINTS },
}

-- ---- what is launched ----

local function read_ptx(path)
  return files.read(files.join(core.home, path))
end

local function random(dev, n, stream, how)
  local array = core.array(how and "u32" or "f32", n)
  array:random(how or { seed = SEED, stream = stream, dist = "uniform", low = -1, high = 1 })
  return dev:upload(array)
end

local function zeros(dev, n)
  return dev:upload(core.array("f32", n))
end

-- Rows of 0 to 15 elements, columns anywhere.
local function sparse(dev, rows)
  local start = core.array("i32", rows + 1)
  for i = 1, rows do start[i] = start[i - 1] + core.random_u32(SEED, 40, i) % 16 end
  local column = core.array("i32", start[rows])
  for i = 0, start[rows] - 1 do column[i] = core.random_u32(SEED, 41, i) % rows end
  return dev:upload(start), dev:upload(column), random(dev, start[rows], 42)
end

local function classics(dev, launch)
  local module = dev:load(read_ptx "tests/gpu/classics.ptx", "classics.cu")
  local function go(name, how) launch(module:kernel(name), name, how) end
  local n = 1 << 18
  go("reduce", { grid = n // 512, block = 256, args = { random(dev, n, 1), zeros(dev, 1), n } })
  local x, y = random(dev, 512 * 512, 2), zeros(dev, 512 * 512)
  go("transpose_naive", { grid = { 16, 64 }, block = { 32, 8 }, args = { x, y, 512 } })
  go("transpose_tiled", { grid = { 16, 16 }, block = { 32, 32 }, args = { x, y, 512 } })
  local bits = random(dev, n, 3, { seed = SEED, stream = 3, dist = "bits" })
  go("histogram", { grid = n // 256, block = 256, args = { bits, zeros(dev, 256), n } })
  go("stencil", { grid = { 16, 64 }, block = { 32, 8 }, args = { x, y, 512 } })
  local rows = 1 << 15
  local start, column, value = sparse(dev, rows)
  go("spmv", { grid = rows // 128, block = 128,
    args = { start, column, value, random(dev, rows, 4), zeros(dev, rows), rows } })
  go("matmul", { grid = { 16, 16 }, block = { 16, 16 },
    args = { random(dev, 1 << 16, 5), random(dev, 1 << 16, 6), zeros(dev, 1 << 16), 256 } })
end

local function value_of(argument, held)
  if argument.buffer then return held[argument.buffer + 1] end
  return argument.i or argument.f or argument.u
end

-- One implementation of a task with its parameters for simulators, by the committed PTX. `again`:
-- what a second launch, in memory as the first left it, is called.
local function of_task(dev, launch, name, arm, again)
  local task = catalogue.find(name)[1]
  local p = params.resolve(task.params, { purpose = "sim" })
  if task.derive then task.derive(p) end
  local declared
  for _, one in ipairs(task.impls) do
    if one.name == arm then declared = one end
  end
  local one, made = impl.resolve(task, declared), case.make(task, p, SEED)
  local list, held = made:buffers_for(one), {}
  for i, buffer in ipairs(list) do held[i] = dev:upload(buffers.contents(buffer)) end
  local steps = plan.build(task, one, p, list)
  local module = dev:load(files.read((one.path:gsub("%.cu$", ".ptx"))), one.shown)
  for _, step in ipairs(steps) do
    local args = {}
    for i, argument in ipairs(step.args) do args[i] = value_of(argument, held) end
    local how = { grid = step.grid, block = step.block, shared = step.shared, args = args }
    launch(module:kernel(step.launch), step.launch, how)
    if again then launch(module:kernel(step.launch), again, how) end
  end
end

local function run(spec, out)
  local dev = core.device(spec)
  local results = core.json_array {}
  local function launch(kernel, name, how)
    dev:counters(true)
    kernel:launch(how)
    dev:sync()
    results[#results + 1] = { kernel = name, counters = dev:counters(true) }
  end
  of_task(dev, launch, "vector/saxpy", "naive")
  of_task(dev, launch, "hash/tsdf_allocate", "cuda", "allocate, all there")
  of_task(dev, launch, "hash/tsdf_update", "cuda")
  classics(dev, launch)
  if out then assert(core.write_file(out, core.json_encode(results, true))) end
end

-- ---- the table ----

local function csv_fields(line)
  local fields = {}
  for field in line:gmatch '"([^"]*)"' do fields[#fields + 1] = field end
  return fields
end

-- ncu's long form: one line a launch and metric. -> launch, from 0 -> metric -> value
local function read_ncu(path)
  local found, columns = {}, nil
  for line in files.read(path):gmatch "[^\r\n]+" do
    local fields = line:sub(1, 1) == '"' and csv_fields(line) or {}
    if fields[1] == "ID" then
      columns = {}
      for i, name in ipairs(fields) do columns[name] = i end
    elseif columns and fields[columns["Metric Name"]] then
      local launch = tonumber(fields[1])
      found[launch] = found[launch] or {}
      found[launch][fields[columns["Metric Name"]]] =
        tonumber((fields[columns["Metric Value"]]:gsub(",", "")))
    end
  end
  return found
end

-- Points of a percentage, of which nothing is said when there are no sectors.
local function rate(hits, all)
  return hits and all and all > 0 and 100 * hits / all or nil
end

local function ncu_value(row, metrics)
  local first = metrics[row[2][1]]
  if row[4] == POINTS then return first and rate(first, first + metrics[row[2][2]]) end
  local sum
  for _, name in ipairs(row[2]) do
    if metrics[name] then sum = (sum or 0) + metrics[name] end
  end
  return sum
end

local function sim_value(row, counters)
  local what = row[3]
  if row[4] == POINTS then return rate(counters[what[1]], counters[what[2]]) end
  if type(what) == "function" then return what(counters) end
  return counters[what]
end

local function number(value)
  if not value then return "-" end
  return value % 1 == 0 and ("%.0f"):format(value) or ("%.2f"):format(value)
end

local function compared(row, ncu, sim)
  if not ncu or not sim then return "" end
  if row[4] == POINTS then return ("%+.1f"):format(sim - ncu) end
  if ncu == 0 then return sim == 0 and "1.000" or "inf" end
  return ("%.3f"):format(sim / ncu)
end

-- Whether a row that is judged is too far off.
local function is_off(row, ncu, sim)
  if not row[4] or not ncu or not sim then return false end
  return math.abs(sim - ncu) > (row[4] == POINTS and POINTS or WITHIN * ncu)
end

-- "4098", "2467 / 2576 (1.04)", "51.2 / 51.6"
local function cell(row, ncu, sim)
  local nothing = (not ncu or ncu == 0) and (not sim or sim == 0)
  if nothing then return row[4] == POINTS and sim and "0" or "-" end
  if row[4] == POINTS then return ("%s / %.1f"):format(ncu and ("%.1f"):format(ncu) or "-", sim) end
  if ncu == sim or not ncu then return number(sim) end
  return ("%s / %s (%.2f)"):format(number(ncu), number(sim), sim / ncu)
end

-- The table of the README: rows that are judged as columns.
local function show_judged(list, ncu)
  local columns, head = {}, { "kernel" }
  for _, row in ipairs(ROWS) do
    if row[4] then
      columns[#columns + 1] = row
      head[#head + 1] = row[1]
    end
  end
  print(("\n| %s |\n|%s"):format(table.concat(head, " | "), ("---|"):rep(#head)))
  local off = {}
  for i, one in ipairs(list) do
    local words = { one.kernel }
    for _, row in ipairs(columns) do
      local theirs, ours = ncu_value(row, ncu[i - 1] or {}), sim_value(row, one.counters)
      words[#words + 1] = cell(row, theirs, ours)
      if is_off(row, theirs, ours) then off[#off + 1] = one.kernel .. ": " .. row[1] end
    end
    print("| " .. table.concat(words, " | ") .. " |")
  end
  print(("\nover %d%% or %d points apart: %s"):format(100 * WITHIN, POINTS,
    #off > 0 and table.concat(off, "; ") or "nothing"))
end

local function show(sim_path, ncu_path)
  local ncu, list = ncu_path and read_ncu(ncu_path) or {}, core.json_decode(files.read(sim_path))
  print("| kernel | metric | ncu | sim | sim / ncu |\n|---|---|---:|---:|---:|")
  for i, one in ipairs(list) do
    for _, row in ipairs(ROWS) do
      local theirs, ours = ncu_value(row, ncu[i - 1] or {}), sim_value(row, one.counters)
      if (ours and ours ~= 0) or (theirs and theirs ~= 0) then
        print(("| %s | %s | %s | %s | %s |"):format(one.kernel, row[1], number(theirs),
          number(ours), compared(row, theirs, ours)))
      end
    end
  end
  show_judged(list, ncu)
end

local function metrics()
  local names = {}
  for _, row in ipairs(ROWS) do
    for _, name in ipairs(row[2]) do names[#names + 1] = name end
  end
  print(table.concat(names, ","))
end

local verb = arg[1]
if verb == "run" then run(arg[2], arg[3])
elseif verb == "metrics" then metrics()
elseif verb == "table" then show(arg[2], arg[3])
else core.error("invalid", "expected run, metrics or table", "see tests/gpu/ncu_compare") end
