--- `perigee doctor`
-- @module perigee.cli.doctor

local core = require "perigee.core"
local common = require "perigee.cli.common"
local doctor = require "perigee.doctor"

local command = {}

function command.configure(parser)
  parser:flag("--json", "one JSON object a line on standard output")
end

local function mark(finding)
  if not finding.ok then return "fail" end
  return finding.missing and "-" or "ok"
end

--- @treturn integer 0, or 3 when something that should work does not
function command.main(options)
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
