--- Completion and the manual page: both say what the command line itself declares.

local lu = require "luaunit"
local cli = require "perigee.cli"
local complete = require "perigee.complete"
local manual = require "perigee.manual"

TestCompletion = {}

-- Words offered after "perigee" and these.
local function offered(...)
  local names = {}
  for i, item in ipairs(complete.words(cli.parser, cli.COMMANDS, { ... })) do names[i] = item[1] end
  return names
end

function TestCompletion:test_commands()
  lu.assertEquals(#offered "", #cli.COMMANDS)
  lu.assertEquals(offered "re", { "repro" })
  lu.assertEquals(offered "x", {})
  lu.assertEquals(offered "--v", { "--version" })
end

function TestCompletion:test_tasks_and_what_they_have()
  lu.assertEquals(offered("run", "vector/sax"), { "vector/saxpy" })
  lu.assertEquals(offered("run", "graph/bfs", "vector/sax"), { "vector/saxpy" })
  lu.assertEquals(offered("run", "vector/saxpy", "--impl", ""), { "naive", "float4" })
  lu.assertEquals(offered("run", "vector/saxpy", "--set", ""), { "a=", "n=" })
  lu.assertEquals(offered("run", "hash/tsdf_update", "--cell", "bas"), { "base" })
  lu.assertItemsEquals(offered("run", "matmul/f32", "--knob", "B"), { "BK=", "BM=", "BN=" })
  lu.assertEquals(offered("run", "no/such", "--set", ""), {})
end

function TestCompletion:test_options_and_their_values()
  lu.assertEquals(offered("run", "--dev"), { "--device" })
  lu.assertEquals(offered("run", "--device", "sim:"), { "sim:check", "sim:profile" })
  lu.assertEquals(offered("run", "--method", ""), { "cold", "hot", "batch", "graph" })
  lu.assertEquals(offered("list", "vec"), { "vector" })
  lu.assertEquals(offered("list", "--category", "vec"), { "vector" })
  lu.assertEquals(offered("list", "vector", "--j"), { "--json" })
end

function TestCompletion:test_arguments()
  lu.assertEquals(offered("new", ""), { "task", "validator" })
  lu.assertEquals(offered("new", "task", ""), {})
  lu.assertEquals(offered("tune", "gr"), { "grid" })
  lu.assertEquals(offered("tune", "--top", "3", "grid", "matmul/f3"), { "matmul/f32" })
  lu.assertEquals(offered("check", "vector/saxpy", ""), {}) -- files are the shell's
end

-- Every option of every command is offered, and is in the manual page.
function TestCompletion:test_nothing_is_left_out()
  local page = manual.page(cli.parser, cli.COMMANDS)
  for _, command in ipairs(cli.COMMANDS) do
    local _, _, parser = cli.parser(command[1])
    lu.assertStrContains(page, "\n.SS " .. command[1] .. "\n")
    local text = page:match("\n%.SS " .. command[1] .. "\n(.-)\n%.S")
    local names = offered(command[1], "--")
    for _, option in ipairs(parser._options) do
      local name = option._aliases[#option._aliases]
      lu.assertTableContains(names, name)
      if name ~= "--help" then
        lu.assertStrContains(text, "\\fB" .. name:gsub("%-", "\\-") .. "\\fR")
      end
    end
  end
end

local function output(command)
  local pipe <close> = io.popen(command .. " 2>&1")
  return pipe:read "a"
end

local HOME = require "perigee.core".home

-- Bash itself, with a line and TAB at its end.
function TestCompletion:test_bash()
  local function completed(line)
    return output(([[cd '%s'; PATH=$PWD/%s:$PATH bash -c 'source <(perigee completion bash)
      COMP_LINE="%s" COMP_POINT=%d; _perigee 2>/dev/null; echo "${COMPREPLY[*]}"']]):format(HOME,
      os.getenv "BUILD" or "build", line, #line))
  end
  lu.assertEquals(completed "perigee rep", "repro\n")
  lu.assertEquals(completed "perigee run vector/sax", "vector/saxpy\n")
  lu.assertEquals(completed "perigee run vector/saxpy --device sim:p", "profile\n")
  lu.assertEquals(completed "perigee run vector/saxpy --set ", "a= n=\n")
  lu.assertEquals(completed "perigee check vector/saxpy ", "\n")
end

function TestCompletion:test_scripts_are_valid_where_the_shell_is_there()
  for _, shell in ipairs { "bash", "zsh", "fish" } do
    local script = complete.script(shell)
    lu.assertStrContains(script, "completion --words")
    if output("command -v " .. shell) ~= "" then
      local name = os.tmpname()
      assert(require "perigee.core".write_file(name, script))
      lu.assertEquals(output(("%s -n '%s'"):format(shell, name)), "", shell)
      os.remove(name)
    end
  end
end

function TestCompletion:test_roff_has_no_warnings()
  if output "command -v groff" == "" then lu.skip "no groff" end
  local name = os.tmpname()
  assert(require "perigee.core".write_file(name, manual.page(cli.parser, cli.COMMANDS)))
  lu.assertEquals(output("groff -man -ww -z -Tutf8 " .. name), "")
  os.remove(name)
end

os.exit(lu.LuaUnit.run())
