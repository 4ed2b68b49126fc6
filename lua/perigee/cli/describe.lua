--- `perigee describe TASK`
-- @module perigee.cli.describe

local core = require "perigee.core"
local catalogue = require "perigee.catalogue"
local common = require "perigee.cli.common"
local describe = require "perigee.describe"
local describe_text = require "perigee.describe_text"

local command = {}

function command.configure(parser)
  parser:argument("task", "name of a task (see perigee list) or a task file")
  parser:option("--set", "the contract for these parameters (a variant: --set dtype=f16)")
    :argname("NAME=VALUE"):count("*")
  parser:flag("--skeleton", "print only a CUDA C++ file to start from")
  parser:flag("--json", "one JSON object a line on standard output")
end

--- @treturn integer 0
function command.main(options)
  local set = common.sets(options.set)
  for i, task in ipairs(catalogue.find(options.task)) do
    if options.json then
      common.out(core.json_encode(describe.table(task, set)))
    elseif options.skeleton then
      io.stdout:write(describe.table(task, set).skeleton)
    else
      if i > 1 then common.out("") end
      describe_text.print(task, common.out, set)
    end
  end
  return 0
end

return command
