--- What this machine has and lacks: a list of findings {name, ok, text, fix}.
-- `ok` is false only for what stops something from working; a missing GPU is said, not failed.
-- @module perigee.doctor

local core = require "perigee.core"
local catalogue = require "perigee.catalogue"
local ceilings = require "perigee.ceilings"
local device = require "perigee.device"
local errors = require "perigee.errors"
local runner = require "perigee.runner"
local suggest = require "perigee.suggest"
local units = require "perigee.units"

local doctor = {}

-- Open a device in a process of its own, so that its driver cannot harm this one. The third value
-- is the names of the restrictions that the process had.
local function probe(spec)
  local one = runner.start(spec, { timeout = 10 })
  local ok, info = errors.catch("environment", one.ready, one)
  one:close()
  return ok, info, one:sandbox()
end

-- A finding from what errors.catch returned: the text that `describe` makes, or the error with its
-- fix.
local function finding(name, ok, value, describe)
  if ok then return { name = name, ok = true, text = describe(value) } end
  return { name = name, ok = false, text = value.message, fix = value.hint }
end

local function describe_gpu(info)
  return ("%s, compute capability %d.%d, %d multiprocessors, %s, driver %s"):format(info.name,
    info.cc_major, info.cc_minor, info.multiprocessors, units.bytes(info.memory_bytes), info.driver)
end

-- What a GPU was measured to do, in a line; where the driver is another by now, that is said.
local function summary(known, info)
  local parts = {}
  local function add(key, text)
    if known[key] then parts[#parts + 1] = text:format(known[key]) end
  end
  add("copy", "copy %.0f GB/s")
  add("f32", "fp32 %.0f Gflop/s")
  add("random_reads", "random reads %.1f G/s")
  add("launch_us", "launch %.1f us")
  parts[#parts + 1] = "measured " .. known.at:sub(1, 10)
  if known.driver ~= info.driver then parts[#parts + 1] = "with driver " .. known.driver end
  return table.concat(parts, ", ")
end

local function measured(info)
  local known, why = ceilings.load(info.name)
  if known then
    return { name = "ceilings", ok = true, text = summary(known, info), ceilings = known }
  end
  return { name = "ceilings", ok = true, missing = true, text = why or "not measured",
    fix = "perigee doctor --measure: results are then shown as a share of the limit" }
end

--- Measure the ceilings of a device and store them.
-- @tparam string spec its name
-- @tparam function progress called with what is being done
-- @treturn table the ceilings @treturn string the file
-- @raise "unsupported" for a simulator, "environment" when there is no such GPU
function doctor.measure(spec, progress)
  local dev <close> = device.open(spec)
  local found = require "perigee.ceilings_measure"(dev, progress)
  return found, ceilings.save(found)
end

-- Returns the restrictions of a runner of the last GPU; nil without GPU.
local function gpus(findings)
  local count, why = core.cuda_count()
  local held
  if count == 0 then
    findings[#findings + 1] = {
      name = "GPU", missing = true, ok = true, text = "none: " .. (why or "no CUDA device"),
      fix = "kernels run on the simulator (sim); for a GPU install NVIDIA's driver",
    }
  end
  for i = 0, count - 1 do
    local spec = ("cuda:%d"):format(i)
    local ok, info, names = probe(spec)
    findings[#findings + 1] = finding(spec, ok, info, describe_gpu)
    if ok then
      findings[#findings + 1] = measured(info)
      held = names
    end
  end
  return held
end

local function simulator(findings)
  local ok, info, names = probe("sim:check")
  findings[#findings + 1] = finding("simulator", ok, info, function(i) return i.name end)
  return ok and names or {}
end

local function compiler(findings)
  local info, e = core.compiler_info()
  findings[#findings + 1] = info and {
    name = "compiler", ok = true, text = ("%s, %s"):format(info.version, info.path),
  } or {
    name = "compiler", missing = true, ok = true, fix = e.hint,
    text = e.message .. "; the committed PTX of perigee's own kernels is used",
  }
end

local function language(findings, name, version)
  local text, e = version()
  findings[#findings + 1] = text and { name = name, ok = true, text = text } or {
    name = name, missing = true, ok = true, text = e.message, fix = e.hint,
  }
end

-- In the order of lua/README.md: a module of perigee.lib, and what it calls.
local LIBRARIES = {
  { "blas", "BLAS" }, { "lapack", "LAPACK" }, { "fft", "FFTW" }, { "gsl", "GSL" },
}

local function libraries(findings)
  local here, lacking = {}, {}
  for _, one in ipairs(LIBRARIES) do
    local list = require("perigee.lib." .. one[1]).available() and here or lacking
    list[#list + 1] = one[2]
  end
  local missing = #lacking > 0 or nil
  findings[#findings + 1] = { name = "libraries", ok = true, missing = missing,
    text = (#here > 0 and table.concat(here, ", ") or "none")
      .. (missing and "; not here: " .. table.concat(lacking, ", ") or ""),
    fix = missing and "only scripts that call them need them; the error names the package" or nil }
end

-- What confines a stranger's host code, and what to do where it is missing.
local CONFINING = {
  landlock = "Landlock: Linux 5.13 or newer, started with landlock among lsm=",
  seccomp = "seccomp filters: a kernel with CONFIG_SECCOMP_FILTER",
}

local function missing_of(list)
  local missing = {}
  if os.getenv "PERIGEE_SANDBOX" == "off" then return "unset PERIGEE_SANDBOX" end
  for name, fix in pairs(CONFINING) do
    if not suggest.has(list, name) then missing[#missing + 1] = fix end
  end
  table.sort(missing)
  if #missing == 0 then return nil end
  return table.concat(missing, "; ") .. "; without, candidates in Rust or Triton need --trust"
end

local function sandbox(findings, held)
  findings[#findings + 1] = { name = "sandbox", ok = true, text = table.concat(held, ", "),
    fix = missing_of(held) }
end

local function tasks(findings)
  local list, failed = catalogue.all()
  local folders = catalogue.folders() -- in full: several may be called tasks
  local where = #folders > 0 and table.concat(folders, ", ") or "no folder"
  findings[#findings + 1] = { name = "tasks", ok = true, text = ("%d, in %s"):format(#list, where) }
  for _, e in ipairs(failed) do
    local place = e.where and (" (%s)"):format(e.where) or ""
    findings[#findings + 1] = { name = "task file", ok = false, text = e.message .. place,
      fix = e.hint }
  end
end

--- Look at everything. @treturn table list of {name, ok, missing, text, fix}
function doctor.examine()
  local findings = {
    { name = "perigee", ok = true, text = ("%s, home %s"):format(core.version, core.home or "?") },
    { name = "processor", ok = true, text = ("%d cores"):format(core.cpu_count()) },
  }
  local of_gpu = gpus(findings)
  local of_simulator = simulator(findings)
  compiler(findings)
  language(findings, "Rust", require("perigee.lang.rust").version)
  language(findings, "Triton", require("perigee.lang.triton").version)
  libraries(findings)
  sandbox(findings, of_gpu or of_simulator)
  tasks(findings)
  return findings
end

return doctor
