--- Builds the PTX that stands beside each kernel source, for machines without its compiler.
-- tests/classics needs the headers of a CUDA toolkit (CUB, cooperative groups).
--
--     build/perigee kernels/build.lua            compile what is out of date
--     build/perigee kernels/build.lua --all      compile everything
--     build/perigee kernels/build.lua --check    only look: name what is out of date, exit 1
--     build/perigee kernels/build.lua --compare  compile everything, name what differs from what is
--                                                committed, exit 1; writes nothing
--
-- Each PTX begins with where it comes from: compiler, options, the SHA-256 of its source with all
-- that this includes, and that of the PTX itself. A line `// ptx-arch: compute_90` in a source
-- names the architecture; else it is compute_80, which every GPU since can run. Triton sources are
-- built for compute_80 and compute_90.
-- A line `// ptx-lines: own` leaves out those of inlined functions.

local pg = require "perigee"
local core = require "perigee.core"
local compile = require "perigee.compile"
local files = require "perigee.files"
local impl = require "perigee.impl"

-- Files of an extension that hold kernels; others are included by them.
local HAS_KERNELS = {
  cu = function() return true end,
  rs = function(text) return text:find('extern "ptx-kernel"', 1, true) end,
  py = function(text) return text:find("\nLAUNCH%s*=") end,
}

local function add(list, folder)
  for _, name in ipairs(files.is_folder(folder) and core.list_dir(folder) or {}) do
    local path, has = files.join(folder, name), HAS_KERNELS[files.extension(name)]
    if has and has(files.read(path)) then list[#list + 1] = path end
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

-- What is built: {path, source, arch, target} each.
local function products()
  local list = {}
  for _, path in ipairs(sources()) do
    local source = files.read(path)
    local archs = files.extension(path) == "py" and { "compute_80", "compute_90" }
      or { source:match("//[/!]?%s*ptx%-arch:%s*(compute_%w+)") or "compute_80" }
    for _, arch in ipairs(archs) do
      list[#list + 1] = { path = path, source = source, arch = arch,
        target = compile.committed_path(path, arch) }
    end
  end
  return list
end

-- The line that says what a PTX is made of.
local function origin(one)
  return ("// source-sha256: %s\n"):format(compile.digest(one.source, one.path))
end

-- Why a PTX is out of date, nil when it is not.
local function stale(one)
  local ptx = core.read_file(one.target)
  if not ptx then return "missing" end
  if not ptx:find(origin(one), 1, true) then return "made of other sources" end
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

-- Without the lines of inlined functions, which in templates are most of the text: what they did is
-- then put down to the line before.
local function own_lines(ptx)
  ptx = ptx:gsub("\n\t%.loc\t[^\n]*inlined_at[^\n]*", "")
  return (ptx:gsub("\n\t%.section\t%.debug_str%s*%b{}", ""))
end

local function compiled(one)
  local request = impl.request({ lang = impl.language_of(one.path), path = one.path,
    shown = files.shown(one.path) }, {})
  request.anew = true
  local built, e = compile.finish(compile.start(request, one.arch, nil, print))
  if not built then core.error(e.code, e.message .. "\n" .. (e.log or ""), e.hint, one.path) end
  if built.committed then
    core.error("environment", ("no compiler for %s"):format(files.shown(one.path)),
      "make deps-nvrtc, make deps-rust, make deps-triton")
  end
  return built
end

-- The whole text of a PTX file. Triton's argument map stays its first line.
local function text_of(one)
  local built = compiled(one)
  local map = built.ptx:match("^// triton: [^\n]*\n") or ""
  local body = tidy(built.ptx:sub(#map + 1))
  if one.source:find "\n// ptx%-lines: own\n" then body = own_lines(body) end
  return ("%s// %s, for machines without its compiler. Made by kernels/build.lua, do not edit.\n"
    .. "// compiler: %s\n// options: --gpu-architecture=%s\n%s// ptx-sha256: %s\n\n%s"):format(map,
    files.shown(one.path), built.compiler, one.arch, origin(one), core.sha256(body), body)
end

local function write(one) files.write(one.target, text_of(one)) end

-- Mode -> why a product is named, nil when it is not; and whether it is then built.
local MODES = {
  ["--check"] = { stale },
  ["--compare"] = { function(one)
    return text_of(one) ~= core.read_file(one.target) and "differs from what is built now" or nil
  end },
  ["--all"] = { function(one) return stale(one) or "built again" end, write },
  [""] = { stale, write },
}

local mode = MODES[arg[1] or ""] or core.error("invalid", ("unknown argument '%s'"):format(arg[1]),
  "expected --check, --compare, --all or nothing")
local reason_of, act = mode[1], mode[2]
local found = false
for _, one in ipairs(products()) do
  local reason = reason_of(one)
  if reason then
    print(("%s: %s"):format(files.shown(one.target), reason))
    if act then act(one) end
    found = true
  end
end
return not act and found and 1 or 0
