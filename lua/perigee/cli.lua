--- The command line: picks the command, parses its options, returns the exit status. Errors are
-- raised as tables; the host prints them and turns their code into the status.
-- @module perigee.cli

local core = require "perigee.core"
local suggest = require "perigee.suggest"

local cli = {}

--- Every command: {name, what it does}.
cli.COMMANDS = {
  { "run", "run implementations of tasks: compile, validate, time, compare" },
  { "check", "compile a candidate for a task, validate it, time it where a clock is meaningful" },
  { "tune", "search the knobs of an implementation for the fastest configuration" },
  { "compare", "two sets of records side by side, with intervals; a regression exits 1" },
  { "drift", "where a series of attempts reached correctness by falling back" },
  { "repro", "run one record again from what it stores: source, plan, parameters, seed" },
  { "serve", "tool server for agents (Model Context Protocol on standard input and output)" },
  { "eval", "let an agent work at tasks and score it" },
  { "query", "what the results store holds; JSONL out and in" },
  { "list", "the catalogue of tasks" },
  { "describe", "everything one needs to write a candidate for a task" },
  { "new", "write a task or a validator to start from" },
  { "doctor", "what this machine has and lacks, with the fix" },
  { "completion", "completion for a shell (bash, zsh, fish), or the manual page" },
}

-- Processes of other commands: a lane of perigee serve and eval, and of an evaluation who looks
-- after an agent and what an agent starts as its server.
local INNER = { ["--tools"] = "perigee.serve.worker", ["--agent"] = "perigee.agent",
  ["--join"] = "perigee.serve.join" }

local EXAMPLES = [[
examples:
  perigee list
  perigee run vector/saxpy
  perigee describe vector/saxpy
  perigee check vector/saxpy mine.cu
  perigee examples/hello.lua

exit status: 0 all passed, 1 a verdict failed, 2 bad usage, 3 the machine lacks something]]

local function names()
  local list = {}
  for i, command in ipairs(cli.COMMANDS) do list[i] = command[1] end
  return list
end

--- A parser with every command's name but only the wanted one's options: the others are not even
-- loaded.
-- @tparam[opt] string wanted a command
-- @return argparse's parser, the command's module, and the command's own parser
function cli.parser(wanted)
  local argparse = require "argparse"
  local parser = argparse("perigee",
    "GPU kernel lab: compiles, checks, times and explains kernels.")
  parser:epilog(EXAMPLES)
  parser:flag("--version", "print the version and exit")
  parser:require_command(true)
  parser:command_target("command")
  local module, wanted_parser
  for _, command in ipairs(cli.COMMANDS) do
    local sub = parser:command(command[1], command[2])
    if command[1] == wanted then
      module = require("perigee.cli." .. wanted)
      module.configure(sub)
      wanted_parser = sub
    end
  end
  return parser, module, wanted_parser
end

-- The nearest of the choices that a refused value was not one of; nil when none is near.
local function nearest_choice(message, args)
  local list = message:match("must be one of (.+)$")
  if not list then return nil end
  local choices = {}
  for choice in list:gmatch "'([^']+)'" do choices[#choices + 1] = choice end
  for _, given in ipairs(args) do
    local value = given:match "^%-%-[^=]+=(.*)$" or given
    local near = not suggest.has(choices, value) and core.nearest(value, choices)
    if near then return ("did you mean '%s'?"):format(near) end
  end
end

local function usage_error(message, command, args)
  local number = message:match("^unknown option '(%-[%d.][^']*)")
  if number then
    core.error("invalid", ("'%s' looks like an option"):format(number),
      ("a value that begins with '-' is joined to its option: --option=%s"):format(number))
  end
  local text, tip = message:match("^(.-)\n(.*)$")
  core.error("invalid", text or message, tip or nearest_choice(message, args)
    or ("see perigee %s--help"):format(command and command
    .. " " or ""))
end

local function is_script(name)
  return name:match("%.lua$") ~= nil
end

-- What a task file prints must not stand between the objects of --json.
local function to_stderr(...)
  local parts = table.pack(...)
  for i = 1, parts.n do parts[i] = tostring(parts[i]) end
  io.stderr:write(table.concat(parts, "\t"), "\n")
end

--- Options of a script, with usage errors as commands have them.
-- @param parser argparse's
-- @tparam table args what the script was given; args[0] is its name
-- @treturn table options
-- @raise "invalid"
function cli.options(parser, args)
  local ok, result = parser:pparse(args)
  return ok and result or usage_error(result, args[0], args)
end

--- Run the command line.
-- @tparam table args strings, without the program's name
-- @treturn integer exit status
-- @raise error tables
function cli.main(args)
  local first = args[1]
  if first == nil then return require("perigee.cli.repl").main() end
  if is_script(first) then return require("perigee.cli.script").main(args) end
  if first == "completion" and args[2] == "--words" then
    return require("perigee.cli.completion").words(cli, table.move(args, 3, #args, 1, {}))
  end
  if INNER[first] then return require(INNER[first]).main(args[2]) end
  if first == "help" then return cli.main { args[2] or "--help", args[2] and "--help" } end
  local known = false
  for _, name in ipairs(names()) do known = known or name == first end
  if not known and first:sub(1, 1) ~= "-" then
    core.error("invalid", ("unknown command '%s'"):format(first),
      suggest.hint(first, names(), "commands"))
  end
  local parser, module = cli.parser(known and first or nil)
  local ok, result = parser:pparse(args)
  if not ok then usage_error(result, known and first or nil, args) end
  if result.json then print = to_stderr end -- luacheck: ignore 121
  return module.main(result)
end

return cli
