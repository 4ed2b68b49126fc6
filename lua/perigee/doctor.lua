--- What this machine has and lacks: a list of findings {name, ok, text, fix}.
-- `ok` is false only for what stops something from working; a missing GPU is said, not failed.
-- @module perigee.doctor

local core = require "perigee.core"
local catalogue = require "perigee.catalogue"
local errors = require "perigee.errors"
local files = require "perigee.files"
local runner = require "perigee.runner"
local units = require "perigee.units"
local worker = require "perigee.worker"

local doctor = {}

-- Open a device in a process of its own, so that its driver cannot harm this one.
local function probe(spec)
  local one = runner.start(spec, { timeout = 10 })
  local ok, info = errors.catch("environment", one.ready, one)
  one:close()
  return ok, info
end

local function gpu(findings)
  local count, why = core.cuda_count()
  if count == 0 then
    findings[#findings + 1] = { name = "GPU", missing = true, ok = true,
      text = "none: " .. (why or "no CUDA device"),
      fix = "kernels run on the simulator (sim); for a GPU install NVIDIA's driver" }
    return
  end
  for i = 0, count - 1 do
    local spec = ("cuda:%d"):format(i)
    local ok, info = probe(spec)
    findings[#findings + 1] = ok and {
      name = spec, ok = true,
      text = ("%s, compute capability %d.%d, %d multiprocessors, %s, driver %s"):format(
        info.name, info.cc_major, info.cc_minor, info.multiprocessors,
          units.bytes(info.memory_bytes), info.driver),
    } or { name = spec, ok = false, text = info.message, fix = info.hint }
  end
end

local function simulator(findings)
  local ok, info = probe("sim:check")
  findings[#findings + 1] = ok and { name = "simulator", ok = true, text = info.name }
    or { name = "simulator", ok = false, text = info.message, fix = info.hint }
end

local function compiler(findings)
  local ok, info, e = errors.catch("environment", core.compiler_info)
  if ok and info then
    findings[#findings + 1] = { name = "compiler", ok = true,
      text = ("%s, %s"):format(info.version, info.path) }
    return
  end
  e = ok and e or info
  findings[#findings + 1] = {
    name = "compiler", missing = true, ok = true, text = (e and e.message or "no NVRTC")
      .. "; the committed PTX of perigee's own kernels is used", fix = e and e.hint,
  }
end

local function sandbox(findings)
  local ok, list = errors.catch("environment", function()
    local one = worker.start("runner")
    local names = one:sandbox()
    one:kill()
    return names
  end)
  findings[#findings + 1] = ok and { name = "sandbox", ok = true,
    text = #list > 0 and table.concat(list, ", ") or "this system offers no restriction" }
    or { name = "sandbox", ok = false, text = list.message, fix = list.hint }
end

local function tasks(findings)
  local list, failed = catalogue.all()
  local folders = {}
  for i, folder in ipairs(catalogue.folders()) do folders[i] = files.shown(folder) end
  findings[#findings + 1] = { name = "tasks", ok = true,
    text = ("%d, in %s"):format(#list, #folders > 0 and table.concat(folders, ", ")
      or "no folder") }
  for _, e in ipairs(failed) do
    findings[#findings + 1] = { name = "task file", ok = false,
      text = e.message .. (e.where and " (" .. e.where
      .. ")" or ""), fix = e.hint }
  end
end

--- Look at everything. @treturn table list of {name, ok, missing, text, fix}
function doctor.examine()
  local findings = {
    { name = "perigee", ok = true, text = ("%s, home %s"):format(core.version, core.home or "?") },
    { name = "processor", ok = true, text = ("%d cores"):format(core.cpu_count()) },
  }
  gpu(findings)
  simulator(findings)
  compiler(findings)
  sandbox(findings)
  tasks(findings)
  return findings
end

return doctor
