-- Transcripts: every command in tests/cli/*.txt is run from the repository's root, and its output
-- and exit status are compared. In expected lines <n> stands for a number, <*> for anything; a line
-- `...` for any lines. `[2]` at the end of a command's output is its exit status. $T is a folder of
-- its own for each file. A file that needs a compiler says so in a line `# needs nvrtc`.
local lu = require "luaunit"
local core = require "perigee.core"

local BINARY = core.realpath((os.getenv("BUILD") or "build") .. "/perigee")

local function read_transcript(path)
  local commands, needs = {}, nil
  for line in io.lines(path) do
    local command = line:match("^%$ (.*)$")
    if command then
      commands[#commands + 1] = { text = command, lines = {}, status = 0 }
    elseif line:match("^# needs nvrtc") then
      needs = true
    elseif line:match("^%[%d+%]$") then
      commands[#commands].status = tonumber(line:match("%d+"))
    elseif #commands > 0 and not line:match("^#") then
      table.insert(commands[#commands].lines, line)
    end
  end
  for _, command in ipairs(commands) do -- blank lines between commands are layout
    while command.lines[#command.lines] == "" do table.remove(command.lines) end
  end
  return commands, needs
end

local function pattern_of(line)
  local pattern = line:gsub("[%^%$%(%)%%%.%[%]%*%+%-%?]", "%%%0")
  pattern = pattern:gsub("<n>", "[%%d%%.,]+"):gsub("<%%%*>", ".*")
  return "^" .. pattern .. "$"
end

-- Whether lines[j..] match expected[i..]; `...` stands for any number of lines.
local function matches(expected, i, lines, j)
  while i <= #expected do
    if expected[i] == "..." then
      for k = j, #lines + 1 do
        if matches(expected, i + 1, lines, k) then return true end
      end
      return false
    end
    if j > #lines or not lines[j]:match(pattern_of(expected[i])) then return false end
    i, j = i + 1, j + 1
  end
  return j > #lines
end

local function run(command, folder)
  local script = ("T=%s; perigee() { '%s' \"$@\"; }\n{ %s\n} </dev/null 2>&1; echo \"[status $?]\"")
    :format(folder, BINARY, command)
  local pipe <close> = io.popen(("bash -c '%s'"):format(script:gsub("'", "'\\''")))
  local text = pipe:read("a")
  local output, status = text:match("^(.*)%[status (%d+)%]\n$")
  local lines = {}
  for line in output:gmatch("([^\n]*)\n") do lines[#lines + 1] = line end
  while lines[#lines] == "" do table.remove(lines) end
  return lines, tonumber(status)
end

local function check(path)
  local commands, needs = read_transcript(path)
  lu.assertTrue(#commands > 0, path)
  if needs and not core.compiler_info() then lu.skip("no NVRTC on this machine") end
  local folder = os.tmpname()
  os.execute(("rm -f %s; mkdir %s"):format(folder, folder))
  local wrong
  for _, command in ipairs(commands) do
    local lines, status = run(command.text, folder)
    if status ~= command.status or not matches(command.lines, 1, lines, 1) then
      wrong = ("%s\n$ %s\n--- expected, status %d\n%s\n--- got, status %d\n%s"):format(path,
        command.text, command.status, table.concat(command.lines, "\n"), status,
        table.concat(lines, "\n"))
      break
    end
  end
  os.execute("rm -rf " .. folder)
  if wrong then lu.fail(wrong) end
end

TestTranscripts = {}

for _, name in ipairs(core.list_dir("tests/cli")) do
  local stem = name:match("^(.*)%.txt$")
  if stem then TestTranscripts["test_" .. stem] = function() check("tests/cli/" .. name) end end
end

TestWildcards = {}

function TestWildcards:test_the_comparison_itself()
  local function same(expected, lines) return matches(expected, 1, lines, 1) end
  lu.assertTrue(same({ "a <n> us" }, { "a 1.5 us" }))
  lu.assertFalse(same({ "a <n> us" }, { "a x us" }))
  lu.assertTrue(same({ "a", "...", "z" }, { "a", "b", "c", "z" }))
  lu.assertTrue(same({ "a", "...", "z" }, { "a", "z" }))
  lu.assertFalse(same({ "a", "..." , "z" }, { "a", "b" }))
  lu.assertFalse(same({ "a" }, { "a", "b" }))
  lu.assertTrue(same({ "x (<*>): y.z" }, { "x (anything): y.z" }))
  lu.assertFalse(same({ "y.z" }, { "yaz" }))
end

os.exit(lu.LuaUnit.run())
