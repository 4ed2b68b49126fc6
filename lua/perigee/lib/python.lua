--- CPython inside this process, through ffi: the user's interpreter with its packages, for experts
-- whose library is a Python package. $PERIGEE_PYTHON says whose (python3 if not set).
-- @module perigee.lib.python

local core = require "perigee.core"
local ffi = require "ffi"
local files = require "perigee.files"
local shell = require "perigee.shell"

local python = {}

ffi.cdef [[
  void Py_InitializeEx(int signals);
  int PyRun_SimpleString(const char *text);
  int setenv(const char *name, const char *value, int overwrite);
  int unsetenv(const char *name);
]]

-- What the interpreter says of itself, a line each; then the folders of its packages.
local ASK = "import sys, sysconfig; v = sysconfig.get_config_var; print(v('LIBDIR'), "
  .. "v('INSTSONAME'), sys.base_prefix, sys.executable, *sys.path[1:], sep=chr(10))"

local function ask(program)
  local pipe = io.popen(("%s -c \"%s\" 2>/dev/null"):format(shell.quoted(program), ASK), "r")
  local lines = {}
  for line in pipe:lines() do lines[#lines + 1] = line end
  if not pipe:close() or #lines < 4 then
    core.error("environment", ("no Python: '%s' does not run"):format(program),
      "name an interpreter in PERIGEE_PYTHON")
  end
  return { folder = lines[1], file = lines[2], prefix = lines[3], executable = lines[4],
    path = table.move(lines, 5, #lines, 1, {}) }
end

local function load(about, program)
  for _, name in ipairs { files.join(about.folder, about.file),
    files.join(about.prefix, "lib/" .. about.file), about.file } do
    local ok, library = pcall(ffi.load, name, true) -- its extensions look for its symbols
    if ok then return library end
  end
  core.error("environment", ("the library of '%s', %s, is not here"):format(program, about.file),
    "Debian: apt-get install libpython3-dev; or name another interpreter in PERIGEE_PYTHON")
end

--- A text as a literal of Python.
function python.literal(text)
  local hex = text:gsub(".", function(c) return ("%02x"):format(c:byte()) end)
  return ('bytes.fromhex("%s").decode()'):format(hex)
end

--- Start the interpreter.
-- @treturn function (text) that runs lines of Python
-- @raise "environment" when there is no interpreter, or none with a shared library
function python.start()
  local program = os.getenv "PERIGEE_PYTHON" or "python3"
  local about = ask(program)
  local library = load(about, program)
  ffi.C.setenv("PYTHONHOME", about.prefix, 1)
  library.Py_InitializeEx(0)
  ffi.C.unsetenv "PYTHONHOME" -- programs that it starts find their own
  local function run(text)
    if library.PyRun_SimpleString(text) ~= 0 then
      core.error("launch_error", "Python raised an error", "it is on the standard error output")
    end
  end
  local folders = {}
  for i, folder in ipairs(about.path) do folders[i] = python.literal(folder) end
  run(("import sys\nsys.path[:] = [%s]\nsys.executable = %s\n"):format(
    table.concat(folders, ", "), python.literal(about.executable)))
  return run
end

return python
