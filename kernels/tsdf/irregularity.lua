--- What irregularity costs, by language: every stage of the TSDF workload in every cell and arm, in
-- one run, judged, timed and counted.
--
--     perigee kernels/tsdf/irregularity.lua                       all cells, three passes
--     perigee kernels/tsdf/irregularity.lua --cell base,r-2.0 --passes 1
--     perigee kernels/tsdf/irregularity.lua --published           as published, beside the figures
--     perigee kernels/tsdf/irregularity.lua --count               counters on sim:profile, no times
--     ... --csv out.csv --json out.jsonl --charts folder
--
-- An arm is compared with the CUDA C++ arm of the same levers, in the same run, cell and pass.
-- README.md in this folder explains the workload and the arms.

local argparse = require "argparse"
local pg = require "perigee"
local columns = require "perigee.columns"
local units = require "perigee.units"

local STAGES = { "allocate", "update", "fuse", "compact", "dense_update", "stencil" }
-- Arms of other names than "language-lever": whose levers they have.
local PEERS = { triton = "cuda-ray", ["triton-published"] = "cuda" }
-- Arms as the published table names them.
local PUBLISHED = { cuda = "cuda", rust = "rust", ["triton-published"] = "triton" }

local parser = argparse("irregularity.lua", "What irregularity costs, by language.")
parser:option("--device", "cuda:N, sim, ..."):argname("D")
parser:option("--cell", "only these cells"):argname("A,B")
parser:option("--stage", "only these stages"):argname("A,B")
parser:option("--impl", "only these arms, and those they are compared with"):argname("A,B")
parser:option("--passes", "times that everything is run"):argname("N"):convert(math.tointeger)
parser:option("--seed", "of the inputs"):argname("N"):convert(math.tointeger)
parser:flag("--published", "weights, colours, cap and timing as published")
parser:flag("--count", "counters on sim:profile in place of times")
parser:option("--csv", "the table as CSV"):argname("FILE")
parser:option("--json", "every record, one a line"):argname("FILE")
parser:option("--charts", "SVG charts, by gnuplot"):argname("FOLDER")
local options = parser:parse(arg)

local function words(text)
  local list = {}
  for word in (text or ""):gmatch "[^,]+" do list[#list + 1] = word end
  return text and list or nil
end

local function opened(path, mode)
  local file, why = io.open(path, mode)
  return file or pg.error("io", ("cannot write '%s': %s"):format(path, why))
end

-- The CUDA C++ arm with the same levers, nil for CUDA C++ itself and where there is none.
local function peer_of(task, name)
  local levers = name:match("^[^-]+(.*)$")
  local peer = PEERS[name] or "cuda" .. levers
  if name:match("^cuda") then return nil end
  for _, known in ipairs(task:impl_names()) do
    if known == peer then return peer end
  end
  return nil
end

-- The arms to run: those asked for with their peers, else all, those of the published program too.
local function arms_of(task)
  local wanted, list, seen = words(options.impl), {}, {}
  local function add(name)
    if name and not seen[name] then
      seen[name] = true
      list[#list + 1] = name
    end
  end
  for _, name in ipairs(task:impl_names()) do
    local asked = not wanted
    for _, one in ipairs(wanted or {}) do asked = asked or one == name end
    if asked then
      add(peer_of(task, name))
      add(name)
    end
  end
  return list
end

local function median(list)
  table.sort(list)
  local half = #list // 2
  return #list % 2 == 1 and list[half + 1] or (list[half] + list[half + 1]) / 2
end

-- ---- running ----

local results, order = {}, {} -- "stage cell arm" -> {stage, cell, arm, peer, passes = {record...}}

local function keep(stage, task, record)
  local key = ("%s %s %s"):format(stage, record.cell, record.impl)
  if not results[key] then
    results[key] = { stage = stage, cell = record.cell, arm = record.impl, passes = {},
      peer = peer_of(task, record.impl) }
    order[#order + 1] = results[key]
  end
  table.insert(results[key].passes, record)
end

local function run(stage, task, json)
  local how = {
    device = options.count and "sim:profile" or options.device, cells = words(options.cell),
    impls = arms_of(task), seed = options.seed,
    set = options.published and { compat = "published" } or nil,
  }
  if #how.impls == 0 then return end
  for _, record in ipairs(pg.run(task, how)) do
    keep(stage, task, record)
    if json then json:write(pg.json.encode(record), "\n") end
  end
end

-- ---- figures ----

local function time_of(record)
  return record.verdict == "passed" and record.time and record.time.median_us or nil
end

-- Median over the passes, and the ratio to the peer's of the same pass: median, least, most.
local function times_of(one)
  local peer = one.peer and results[("%s %s %s"):format(one.stage, one.cell, one.peer)]
  local times, ratios = {}, {}
  for pass, record in ipairs(one.passes) do
    local mine = time_of(record)
    local other = peer and peer.passes[pass] and time_of(peer.passes[pass])
    times[#times + 1] = mine
    if mine and other then ratios[#ratios + 1] = mine / other end
  end
  one.us = #times > 0 and median(times) or nil
  if #ratios > 0 then
    one.ratio, one.low, one.high = median(ratios), math.min(table.unpack(ratios)),
      math.max(table.unpack(ratios))
  end
end

local function verdict_of(one)
  for _, record in ipairs(one.passes) do
    if record.verdict ~= "passed" then return record.verdict, record.reason end
  end
  return "passed"
end

local function published_of(one)
  local arm = PUBLISHED[one.arm]
  if not arm then return nil end
  local file = io.open(pg.home .. "/kernels/tsdf/published.csv")
  if not file then return nil end
  local found
  for line in file:lines() do
    local gpu, cell, name, stage, us = line:match("^([^,]+),([^,]+),([^,]+),([^,]+),([%d.]+)$")
    if gpu == "h200" and cell == one.cell and name == arm and stage == one.stage then
      found = tonumber(us)
    end
  end
  file:close()
  return found
end

-- ---- tables ----

local function time_row(one)
  local verdict, reason = verdict_of(one)
  if verdict ~= "passed" then
    return { one.stage, one.cell, one.arm, verdict, "", (reason or ""):sub(1, 60) }
  end
  local row = { one.stage, one.cell, one.arm, one.us and units.time(one.us) or "passed",
    one.ratio and ("%.2f (%.2f .. %.2f)"):format(one.ratio, one.low, one.high) or "",
    one.peer and "of " .. one.peer or "" }
  local published = options.published and published_of(one)
  if published and one.us then
    row[7] = ("%.2f of %.1f us"):format(one.us / published, published)
  end
  return row
end

local function print_times()
  local rows = {}
  for i, one in ipairs(order) do rows[i] = time_row(one) end
  print(columns.text({ { title = "stage" }, { title = "cell" }, { title = "arm" },
    { title = "median", right = true }, { title = "ratio (passes)" }, { title = "" },
    { title = options.published and "published" or "" } }, rows, { indent = 0 }))
end

-- Counters that say where irregularity costs, for each sample of a ray.
local COUNTED = {
  { "instructions", function(c, n) return c.thread_instructions / n end },
  { "lanes", function(c) return c.thread_instructions / math.max(1, c.warp_instructions) end },
  { "load sectors", function(c, n) return c.global_load_sectors / n end },
  { "sectors/request", function(c) return c.global_load_sectors / math.max(1,
    c.global_load_requests) end },
  { "atomics", function(c, n) return c.global_atomic_lanes / n end },
  { "collisions", function(c, n) return c.global_atomic_collisions / n end },
  { "L1 hit %", function(c) return 100 * c.l1_hit_sectors / math.max(1, c.l1_sectors) end },
  { "L2 hit %", function(c) return 100 * c.l2_hit_sectors / math.max(1, c.l2_sectors) end },
}

local function print_counters()
  local heads, rows = { { title = "stage" }, { title = "cell" }, { title = "arm" } }, {}
  for i, column in ipairs(COUNTED) do heads[3 + i] = { title = column[1], right = true } end
  for i, one in ipairs(order) do
    local record = one.passes[1]
    local samples = record.facts and record.facts.samples or record.params and record.params.n or 1
    rows[i] = { one.stage, one.cell, one.arm }
    for k, column in ipairs(COUNTED) do
      rows[i][3 + k] = record.verdict ~= "passed" and (k == 1 and record.verdict or "")
        or ("%.2f"):format(column[2](record.counters, samples))
    end
  end
  print(columns.text(heads, rows, { indent = 0 }))
  print("instructions, load sectors, atomics, collisions: of all threads, for each sample")
end

local function write_csv(path)
  local file <close> = opened(path, "w")
  file:write("stage,cell,arm,verdict,median_us,compared_with,ratio,ratio_low,ratio_high\n")
  for _, one in ipairs(order) do
    file:write(table.concat({ one.stage, one.cell, one.arm, (verdict_of(one)), one.us or "",
      one.peer or "", one.ratio or "", one.low or "", one.high or "" }, ","), "\n")
  end
end

-- ---- charts ----

-- Bars of the ratio to CUDA C++, one chart a stage; cells along x.
local function chart(folder, stage)
  local cells, arms, value = {}, {}, {}
  for _, one in ipairs(order) do
    if one.stage == stage and one.ratio then
      if not cells[one.cell] then cells[one.cell], cells[#cells + 1] = true, one.cell end
      if not arms[one.arm] then arms[one.arm], arms[#arms + 1] = true, one.arm end
      value[one.cell .. " " .. one.arm] = one.ratio
    end
  end
  if #cells == 0 then return end
  local pipe <close> = io.popen("gnuplot", "w")
    or pg.error("environment", "no gnuplot", "apt install gnuplot-nox")
  pipe:write(("set terminal svg size 1000,420\nset output '%s/%s.svg'\n"):format(folder, stage),
    "set style data histograms\nset style fill solid\nset logscale y 2\nset grid y\n",
    ("set title '%s: time against CUDA C++ with the same levers'\n"):format(stage),
    "set xtics rotate by -40\nset key outside\n$data << EOD\ncell")
  for _, arm in ipairs(arms) do pipe:write(' "', arm, '"') end
  for _, cell in ipairs(cells) do
    pipe:write("\n", cell)
    for _, arm in ipairs(arms) do pipe:write(" ", value[cell .. " " .. arm] or "NaN") end
  end
  pipe:write("\nEOD\nplot for [i=2:", #arms + 1, "] $data using i:xtic(1) title columnheader(i)\n")
end

-- ---- all of it ----

local json <close> = options.json and opened(options.json, "w") or nil
local known, wanted = {}, options.stage and {} or nil
for _, task in ipairs((pg.catalogue.all())) do known[task.name] = task end
for _, stage in ipairs(words(options.stage) or {}) do
  if not known["hash/tsdf_" .. stage] then
    pg.error("not_found", ("there is no stage '%s'"):format(stage),
      "stages: " .. table.concat(STAGES, ", "))
  end
  wanted[stage] = true
end
for _ = 1, options.count and 1 or options.passes or 3 do
  for _, stage in ipairs(STAGES) do
    if known["hash/tsdf_" .. stage] and (not wanted or wanted[stage]) then
      run(stage, known["hash/tsdf_" .. stage], json)
    end
  end
end
for _, one in ipairs(order) do times_of(one) end
if options.count then print_counters() else print_times() end
if options.csv then write_csv(options.csv) end
if options.charts then
  for _, stage in ipairs(STAGES) do chart(options.charts, stage) end
end
for _, one in ipairs(order) do
  if verdict_of(one) ~= "passed" and not one.arm:match("published$") then return 1 end
end
return 0
