--- The manual page perigee(1), made from the declarations that the command line is parsed by.
-- @module perigee.manual

local core = require "perigee.core"

local manual = {}

-- Text as roff takes it: no escapes, no line that begins with a request, hyphens as typed.
local function plain(text)
  text = text:gsub("\\", "\\e"):gsub("%-", "\\-")
  return (("\n" .. text):gsub("\n([.'])", "\n\\&%1"):sub(2))
end

-- But a name is written as it is: "sim:profile", "cuda:N".
local function capital(text)
  return text:match "^%l+:" and text or (text:gsub("^%l", string.upper))
end

local function label(element)
  local spelling = element._aliases and table.concat(element._aliases, ", ") or element._name
  local name = element._argname or element:_get_default_argname():match "[^<>]+"
  local value = element._aliases and element._maxargs > 0
    and (" \\fI%s\\fR"):format(plain(tostring(name))) or ""
  return ("\\fB%s\\fR%s"):format(plain(spelling), value)
end

local function description(element)
  local text = capital(element:_get_description())
  local choices = element._choices and " One of: " .. table.concat(element._choices, ", ") .. "."
  return plain(text .. "." .. (choices or ""))
end

local function add_elements(add, list)
  for _, element in ipairs(list) do
    if not element._hidden and element._name ~= "-h" then
      add(".TP", label(element), description(element))
    end
  end
end

local function usage(parser)
  return plain((parser:get_usage():gsub("^Usage: ", ""):gsub("%s+", " "):gsub("%[%-h%] ", "")))
end

local function add_command(add, command, parser)
  add(".SS " .. command[1], usage(parser), ".PP", plain(capital(command[2]) .. "."))
  add_elements(add, parser._arguments)
  add_elements(add, parser._options)
end

local TEXT = [[
.SH FILES
.TP
\fI~/.local/share/perigee/results.db\fR
The results store.
.TP
\fI~/.local/share/perigee/ceilings/\fR
What each GPU was measured to do.
.TP
\fI~/.local/share/perigee/history\fR
Lines of interactive mode.
.TP
\fI~/.cache/perigee/\fR
Compiled kernels.
.SH ENVIRONMENT
.TP
.B PERIGEE_TASKS
Folders with tasks, separated by colons.
.TP
.B PERIGEE_DB
Results store in which run and check keep their records.
.TP
.B PERIGEE_CACHE
Folder of compiled kernels; "off" for none.
.TP
.B PERIGEE_NVRTC
The library of NVRTC to compile with.
.TP
.B XDG_DATA_HOME, XDG_CACHE_HOME
Instead of \fI~/.local/share\fR and \fI~/.cache\fR.
]]

--- The page.
-- @tparam function parser_for command's name or nil -> its argparse parser
-- @tparam table commands list of {name, summary}
-- @treturn string roff
function manual.page(parser_for, commands)
  local lines = {}
  local function add(...)
    for _, line in ipairs { ... } do lines[#lines + 1] = line end
  end
  local root = parser_for(nil)
  add((".TH PERIGEE 1 \"\" \"perigee %s\""):format(core.version), ".SH NAME",
    "perigee \\- " .. plain(root._description:gsub("%.$", "")), ".SH SYNOPSIS",
    ".B perigee", "\\fICOMMAND\\fR [\\fIoptions\\fR] ...", ".br", ".B perigee",
    "\\fIFILE.lua\\fR [\\fIarguments\\fR]", ".br", ".B perigee", ".SH DESCRIPTION",
    "With a command it does what is said below; with a Lua file it runs that file; alone it is a",
    "Lua prompt with the library loaded as", ".BR pg .", ".SH COMMANDS")
  for _, command in ipairs(commands) do
    local _, _, sub = parser_for(command[1])
    add_command(add, command, sub)
  end
  local examples, status = root._epilog:match("^examples:\n(.-)\n\nexit status: (.*)$")
  add(".SH EXIT STATUS", plain(status), ".SH EXAMPLES", ".nf", plain(examples), ".fi")
  return table.concat(lines, "\n") .. "\n" .. TEXT
end

return manual
