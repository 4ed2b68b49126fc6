--- `perigee doctor [--measure]`
-- @module perigee.cli.doctor

local core = require "perigee.core"
local ceilings = require "perigee.ceilings"
local columns = require "perigee.columns"
local common = require "perigee.cli.common"
local device = require "perigee.device"
local doctor = require "perigee.doctor"
local files = require "perigee.files"
local progress = require "perigee.progress"
local units = require "perigee.units"

local command = {}

function command.configure(parser)
  parser:flag("--measure", "measure what the GPU can do at most (bandwidth, arithmetic, random "
    .. "accesses, launches) and keep it: results then say their share of the limit")
  parser:option("--device", "with --measure: the GPU (default: the first)"):argname("D")
  parser:flag("--json", "one JSON object a line on standard output")
end

local function mark(finding)
  if not finding.ok then return "fail" end
  return finding.missing and "-" or "ok"
end

local function print_ceilings(found, path)
  common.out(("%s, driver %s%s"):format(found.gpu, found.driver,
    (found.clock or -1) > 0 and (", %d MHz"):format(found.clock) or ""))
  local rows = {}
  for i, quantity in ipairs(ceilings.QUANTITIES) do
    local value = found[quantity[1]]
    rows[i] = { quantity[2], units.rate(value), quantity[3] }
  end
  common.out(columns.text({ { title = "ceiling" }, { title = "", right = true }, { title = "" } },
    rows))
  common.out("kept in " .. files.shown(path))
end

local function measure(options)
  local line = progress.new(true)
  local found, path = doctor.measure(device.spec(options.device or "cuda:0"),
    function(text) line:say(text) end)
  line:clear()
  if options.json then common.out(core.json_encode(found)) else print_ceilings(found, path) end
  return 0
end

--- @treturn integer 0, or 3 when something that should work does not
function command.main(options)
  if options.measure then return measure(options) end
  if options.device then
    core.error("invalid", "--device goes with --measure", "perigee doctor looks at every device")
  end
  local status = 0
  for _, finding in ipairs(doctor.examine()) do
    if not finding.ok then status = 3 end
    if options.json then
      common.out(core.json_encode(finding))
    else
      common.out(("%-4s  %-10s  %s"):format(mark(finding), finding.name, finding.text))
      if finding.fix and finding.fix ~= "" then common.out(("%18s%s"):format("", finding.fix)) end
    end
  end
  return status
end

return command
