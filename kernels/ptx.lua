-- Makes the PTX that is committed beside every kernels/*/NAME.cu, for machines without NVRTC:
--   perigee kernels/ptx.lua [--check]
-- The head of each file says what it was made from. With --check nothing is written: a file that is
-- missing or was made from another source is named, and the status is 1.
-- A line `// ptx-arch: compute_90` in a source names the architecture; else it is compute_80, which
-- every GPU since can run.
local pg = require "perigee"
local core = require "perigee.core"
local compile = require "perigee.compile"
local files = require "perigee.files"

local check = arg[1] == "--check"

local function sources()
  local list = {}
  for _, family in ipairs(core.list_dir(files.join(pg.home, "kernels"))) do
    local folder = files.join(pg.home, "kernels/" .. family)
    for _, name in ipairs(files.is_folder(folder) and core.list_dir(folder) or {}) do
      if name:match("%.cu$") then list[#list + 1] = files.join(folder, name) end
    end
  end
  return list
end

local function build(path)
  local source = files.read(path)
  local arch = source:match("//%s*ptx%-arch:%s*(compute_%w+)") or "compute_80"
  local built = compile.here { source = source, path = path, name = files.shown(path), arch = arch }
  local head = ("// %s, for machines without NVRTC; made by `perigee kernels/ptx.lua`.\n"
    .. "// source-sha256: %s\n// compiler: %s, %s\n"):format(files.shown(path),
    compile.digest(source, path), built.compiler, arch)
  local ok, e = core.write_file((path:gsub("%.cu$", ".ptx")), head .. built.ptx)
  if not ok then core.error(e.code, e.message, e.hint, e.where) end
  print(("%s (%s, %s)"):format(files.shown((path:gsub("%.cu$", ".ptx"))), built.compiler, arch))
end

local function is_current(path)
  local ptx = core.read_file((path:gsub("%.cu$", ".ptx")))
  local made_from = ptx and ptx:match("source%-sha256:%s*(%x+)")
  if made_from == compile.digest(files.read(path), path) then return true end
  print(("%s: its PTX is %s"):format(files.shown(path), ptx and "older than it" or "missing"))
  return false
end

local status = 0
for _, path in ipairs(sources()) do
  if check then
    if not is_current(path) then status = 1 end
  else
    build(path)
  end
end
return status
