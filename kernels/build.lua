--- Builds the PTX that stands beside each CUDA C++ source, for machines without a compiler.
-- tests/classics needs the headers of a CUDA toolkit (CUB, cooperative groups).
--
--     build/perigee kernels/build.lua            compile what is out of date
--     build/perigee kernels/build.lua --all      compile everything
--     build/perigee kernels/build.lua --check    only look: name what is out of date, exit 1
--
-- Each PTX begins with where it comes from: compiler, options, the SHA-256 of its source with all
-- that this includes, and that of the PTX itself. A line `// ptx-arch: compute_90` in a source
-- names the architecture; else it is compute_80, which every GPU since can run.

local pg = require "perigee"
local core = require "perigee.core"
local compile = require "perigee.compile"
local files = require "perigee.files"

local function add(list, folder)
  for _, name in ipairs(files.is_folder(folder) and core.list_dir(folder) or {}) do
    if files.extension(name) == "cu" then list[#list + 1] = files.join(folder, name) end
  end
end

local function sources()
  local list = {}
  for _, family in ipairs(core.list_dir(files.join(pg.home, "kernels"))) do
    add(list, files.join(pg.home, "kernels/" .. family))
  end
  add(list, files.join(pg.home, "tests/classics"))
  local classics = files.join(pg.home, "tests/gpu/classics.cu") -- what tests/gpu/ncu_compare counts
  if core.file_info(classics) then list[#list + 1] = classics end
  return list
end

local function ptx_path(path)
  return (path:gsub("%.cu$", ".ptx"))
end

-- The line that says what a PTX is made of.
local function origin(path, source)
  return ("// source-sha256: %s\n"):format(compile.digest(source, path))
end

-- Why a PTX is out of date, nil when it is not.
local function stale(path)
  local ptx = core.read_file(ptx_path(path))
  if not ptx then return "missing" end
  if not ptx:find(origin(path, files.read(path)), 1, true) then return "made of other sources" end
  local sha, body = ptx:match("// ptx%-sha256: (%x+)\n\n(.*)$")
  if not sha or sha ~= core.sha256(body) then return "not as it was built" end
  return nil
end

-- No folders of the machine that compiled it, and none of the constants of the vendor's headers
-- that nothing refers to: NVRTC keeps hundreds of them.
local function tidy(ptx)
  ptx = ptx:gsub('(\n\t%.file\t%d+ )"/[^"\n]*/([^/"\n]+)"', '%1"%2"')
  local names = {}
  for name in ptx:gmatch "[%w_$]+" do names[name] = (names[name] or 0) + 1 end
  local constant = "\n%.global %.align %d+ %.[%a%d]+ ([%w_$]+)[^\n;]*;%f[\n]"
  return (ptx:gsub(constant, function(name) return names[name] == 1 and "" or nil end))
end

local function build(path)
  local source = files.read(path)
  local arch = source:match("//%s*ptx%-arch:%s*(compute_%w+)") or "compute_80"
  local built = compile.here { source = source, path = path, name = files.shown(path), arch = arch }
  local ptx = tidy(built.ptx)
  local head = ("// %s, for machines without NVRTC. Made by kernels/build.lua, do not edit.\n"
    .. "// compiler: %s\n// options: --gpu-architecture=%s\n%s// ptx-sha256: %s\n\n"):format(
    files.shown(path), built.compiler, arch, origin(path, source), core.sha256(ptx))
  local ok, e = core.write_file(ptx_path(path), head .. ptx)
  if not ok then core.error(e.code, e.message, e.hint, e.where) end
end

local mode = arg[1]
if mode and mode ~= "--check" and mode ~= "--all" then
  core.error("invalid", ("unknown argument '%s'"):format(mode),
    "expected --check, --all or nothing")
end

local outdated = false
for _, path in ipairs(sources()) do
  local reason = stale(path) or (mode == "--all" and "built again") or nil
  if reason then
    print(("%s: %s"):format(files.shown(ptx_path(path)), reason))
    if mode ~= "--check" then build(path) end
    outdated = true
  end
end
return mode == "--check" and outdated and 1 or 0
