--- `perigee new task|validator NAME`
-- @module perigee.cli.new

local core = require "perigee.core"
local catalogue = require "perigee.catalogue"
local common = require "perigee.cli.common"
local files = require "perigee.files"
local template = require "perigee.template"

local new = {}

function new.configure(parser)
  parser:argument("kind", "what to write"):choices { "task", "validator" }
  parser:argument("name", "category/name of a task, or name of a validator")
  parser:option("--from-kernel", "a task for the first kernel of this file"):argname("FILE.cu")
end

-- All that is to be written, or nothing: an existing file is never touched.
local function write_all(list)
  for _, one in ipairs(list) do
    if core.file_info(one.path) then
      core.error("invalid", ("'%s' is already there"):format(one.path),
        "choose another name, or remove it first")
    end
  end
  for _, one in ipairs(list) do
    files.make_folder(files.dirname(one.path))
    files.write(one.path, one.text)
    common.out("wrote " .. one.path)
  end
end

local function new_task(options)
  local name = options.name
  if not name:match("^[%a_][%w_%-]*/[%a_][%w_%-]*$") and not name:match("^[%a_][%w_%-]*$") then
    core.error("invalid", ("'%s' is no name for a task"):format(name),
      "write category/name, for example: perigee new task vector/scale")
  end
  for _, task in ipairs((catalogue.all())) do
    if task.name == name then
      core.error("invalid", ("there is a task '%s': %s"):format(name, files.shown(task.file)),
        "choose another name")
    end
  end
  write_all(options.from_kernel and template.task_of_kernel(name, options.from_kernel)
    or template.task(name))
  common.out(("try it: perigee run %s"):format(name))
end

local function new_validator(options)
  local name = options.name
  if options.from_kernel then
    core.error("invalid", "--from-kernel makes tasks",
      "perigee new task NAME --from-kernel FILE.cu")
  end
  if not name:match("^[%a_][%w_%-]*$") then
    core.error("invalid", ("'%s' is no name for a validator"):format(name),
      "letters, digits and _, for example: perigee new validator sorted")
  end
  write_all(template.validator(name))
  common.out(('use it in a task: validate = "%s"'):format(name))
end

--- @treturn integer 0
function new.main(options)
  if options.kind == "task" then new_task(options) else new_validator(options) end
  return 0
end

return new
