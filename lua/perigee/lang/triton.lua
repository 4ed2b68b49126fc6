--- Triton kernels: a Python source with @triton.jit functions, compiled ahead of time by the user's
-- Python (triton_ptx.py beside this file). The PTX starts with the argument map: what each kernel
-- takes, in which order, and with how many warps.
-- @module perigee.lang.triton

local core = require "perigee.core"
local files = require "perigee.files"
local worker = require "perigee.worker"

local triton = {}

local HINT = "make deps-triton, or set PERIGEE_PYTHON to a Python that has it: pip install triton"

--- A source and the Python files beside it that it imports: {name, text} each, the source first.
function triton.sources(source, path)
  local list, seen = { { name = files.basename(path), text = source } }, {}
  local folder, at = files.dirname(path), 1
  local function add(name)
    local file = name .. ".py"
    if seen[file] or not files.lies_in(files.join(folder, file), folder) then return end
    seen[file] = true
    list[#list + 1] = { name = file, text = files.read(files.join(folder, file)) }
  end
  while list[at] do
    for line in list[at].text:gmatch("[^\n]+") do
      local name = line:match("^%s*from%s+([%w_]+)%s+import") or line:match("^%s*import%s+([%w_]+)")
      if name then add(name) end
    end
    at = at + 1
  end
  return list
end

-- The version, then every folder that Python and its modules lie in.
local PROBE = "import importlib.metadata as m, sys; print(m.version('triton'), sys.prefix, "
  .. "sys.base_prefix, *[p for p in sys.path if p], sep='\\n')"

local python -- {path, version, folders} of this process, once found

-- The virtual environment of `make deps-triton` first, then what is on the path.
local function find()
  if python then return python end
  local process = worker.start "compiler"
  local named, reason = os.getenv "PERIGEE_PYTHON", nil
  local list = named and { named }
    or { files.join(core.home or ".", "build/deps/triton/bin/python"), "python3" }
  for _, path in ipairs(list) do
    local reply = process:call({ op = "tool", argv = core.json_array { path, "-c", PROBE } }, 60)
    if reply and reply.ok and reply.status == 0 then
      local lines = {}
      for line in reply.output:gmatch("[^\n]+") do lines[#lines + 1] = line end
      python = { path = path, version = "Triton " .. lines[1],
        folders = table.move(lines, 2, #lines, 1, {}) }
      break
    end
    reason = reply and reply.ok and ("%s has no module triton"):format(path) or reason
  end
  process:kill()
  if python then return python end
  return nil, { code = "environment", message = reason or "there is no Python with Triton",
    hint = HINT }
end

--- Version of the Triton that would compile. @treturn string|nil, and an error table
function triton.version()
  local found, e = find()
  return found and found.version, e
end

--- What a compiler worker runs. @treturn table request, or nil and an error table
function triton.tool(request, arch)
  local found, e = find()
  if not found then return nil, e end
  local sources = {}
  for _, file in ipairs(triton.sources(request.source, request.path)) do
    sources[file.name] = file.text
  end
  local script = files.join(core.home or ".", "lua/perigee/lang/triton_ptx.py")
  local argv = { found.path, script, files.basename(request.path), arch:match("%d+") }
  table.move(request.options, 1, #request.options, #argv + 1, argv)
  local toolchain = { script, table.unpack(found.folders) }
  return { op = "tool", files = sources, argv = core.json_array(argv),
    toolchain = core.json_array(toolchain) }
end

--- The result of `tool`'s request. @treturn table {ptx, log, compiler}, or nil and an error table
function triton.result(reply)
  if reply.status ~= 0 then
    local file, line, text = reply.log:match "%f[^\n\0]([^\n]-)%((%d+)%): error: ([^\n]+)"
    local where = file and ("%s:%s"):format(file, line)
    return nil, { code = "compile_error", log = reply.log, where = where,
      message = where and ("%s: %s"):format(where, text)
        or reply.log:match("([^\n]+)%s*$") or "Python failed" }
  end
  return { ptx = reply.output, log = reply.log, lowered = {},
    compiler = reply.output:match("// compiler: ([^\n]+)") or "Triton" }
end

--- The argument map of a PTX text that Triton made: kernel -> {args = names in order (null: a
-- scratch pointer of Triton's own), num_warps, shared, grid = expression}; nil for other PTX.
function triton.map_of(ptx)
  local text = ptx:match("^// triton: ([^\n]*)") or ptx:match("\n// triton: ([^\n]*)")
  local map = text and core.json_decode(text)
  if type(map) ~= "table" then return nil end
  for _, entry in pairs(map) do
    if type(entry) ~= "table" then return nil end
  end
  return map
end

return triton
