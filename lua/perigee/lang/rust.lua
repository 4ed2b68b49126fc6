--- Rust kernels: one crate without std, compiled to PTX by a rustc that knows nvptx64 and has the
-- sources of `core`, which are compiled once and kept in the cache, with the device crate `gpu`
-- (kernels/rust/gpu.rs).
-- @module perigee.lang.rust

local core = require "perigee.core"
local errors = require "perigee.errors"
local files = require "perigee.files"
local worker = require "perigee.worker"

local rust = {}

local DEADLINE_S = 300 -- core alone takes 20 on two idle cores
local TARGET = "nvptx64-nvidia-cuda"
-- MIR's JumpThreading copies calls into branches without regard to what exchanges between lanes.
-- Panics become traps on the spot: no text, no handler, no call that nobody links.
local FLAGS = {
  "--target", TARGET, "--edition", "2024", "-Copt-level=3", "-Ccodegen-units=1",
  "-Zunstable-options", "-Cpanic=immediate-abort", "-Zmir-enable-passes=-JumpThreading",
}
local CORE_ARCH = "sm_80" -- of what is not inlined from core into kernels
local BUILTINS = "#![feature(compiler_builtins)]\n#![compiler_builtins]\n#![no_std]\n"
  .. "#![allow(internal_features)]\n"

-- rustc as a command: features without a nightly, as Debian and rustup ship it.
local function command(rustc, ...)
  local argv = { "env", "RUSTC_BOOTSTRAP=1", rustc }
  for _, part in ipairs { ... } do
    if type(part) == "table" then table.move(part, 1, #part, #argv + 1, argv)
    else argv[#argv + 1] = part end
  end
  return core.json_array(argv)
end

-- Run one command; its output, or nil and an error table.
local function run(process, argv, sources)
  local reply, e = process:call({ op = "tool", argv = argv, files = sources or {} }, DEADLINE_S)
  if not reply then return nil, e end
  if not reply.ok then return nil, reply.error end
  if reply.status == 0 then return reply.output end
  return nil, { code = "environment", message = "rustc failed: "
    .. (reply.log:match("[^\n]+") or ("status %d"):format(reply.status)) }
end

-- ---- the toolchain ----

local HINT = "Debian: apt install rustc-web rust-web-src (make deps-rust); rustup: rustup "
  .. "component add rust-src"

-- {rustc, version, sysroot, library = folder of core's sources}, or nil and an error table.
local function probe(process, rustc)
  local text, e = run(process, command(rustc, "-vV"))
  if not text then return nil, e end
  local sysroot = run(process, command(rustc, "--print", "sysroot"))
  sysroot = (sysroot or ""):gsub("%s+$", "")
  -- Not a shim that chooses among toolchains by files of its own: a candidate's compiler reads its
  -- toolchain only.
  local real = sysroot .. "/bin/rustc"
  if files.basename(rustc) == "rustc" and files.is_file(real) then rustc = real end
  local library = sysroot .. "/lib/rustlib/src/rust/library"
  if not files.is_file(library .. "/core/src/lib.rs") then
    return nil, { code = "environment", message = ("%s has no sources of core"):format(rustc) }
  end
  local targets = run(process, command(rustc, "--print", "target-list"))
  if not (targets or ""):find(TARGET, 1, true) then
    return nil, { code = "environment", message = ("%s does not know %s"):format(rustc, TARGET) }
  end
  local release = text:match("release: (%S+)") or "?"
  return { rustc = rustc, version = "rustc " .. release, id = text, library = library,
    sysroot = sysroot }
end

local function find(process)
  local named = os.getenv "PERIGEE_RUSTC"
  local reason
  for _, rustc in ipairs(named and { named } or { "rustc", "/usr/bin/rustc" }) do
    local found, e = probe(process, rustc)
    if found then return found end
    reason = reason or e
  end
  reason.hint = HINT
  return nil, reason
end

-- Compile one crate into `folder`.
local function crate(process, tools, folder, name, source, sources, ...)
  return run(process, command(tools.rustc, FLAGS, "-Ctarget-cpu=" .. CORE_ARCH, "--crate-type",
    "rlib", "--cap-lints", "allow", "--crate-name", name, "-o", ("%s/lib%s.rlib"):format(folder,
    name), { ... }, source), sources)
end

local function build_core(process, tools, folder)
  local ok, e = crate(process, tools, folder, "core", tools.library .. "/core/src/lib.rs", nil,
    "--remap-path-prefix", tools.library .. "/core/src=core")
  if not ok then return nil, e end
  return crate(process, tools, folder, "compiler_builtins", "builtins.rs",
    { ["builtins.rs"] = BUILTINS }, "--extern", ("core=%s/libcore.rlib"):format(folder), "-L",
    folder)
end

local function build_gpu(process, tools, folder)
  return crate(process, tools, folder, "gpu", "gpu.rs", { ["gpu.rs"] = rust.device_crate() },
    "--extern", ("core=%s/libcore.rlib"):format(tools.core), "-L", tools.core)
end

-- The folder of what `build` makes, in the cache under a digest of `key`; or nil and an error
-- table.
local function cached(cache, key, product, build, process, tools)
  local folder = files.join(cache, core.sha256(key):sub(1, 16))
  if files.is_file(files.join(folder, product)) then return folder end
  local made, problem = core.mkdir_all(cache)
  if not made then return nil, problem end
  local ok, failure = errors.catch("io", files.make, folder, function(part)
    local done, e = core.mkdir_all(part)
    if done then done, e = build(process, tools, part) end
    if not done then error(e, 0) end
  end)
  if not ok then return nil, failure end
  return folder
end

--- Version of the rustc that would compile; builds nothing. @treturn string|nil, and an error table
function rust.version()
  local process = worker.start "compiler"
  local found, e = find(process)
  process:kill()
  return found and found.version, e
end

local ready -- the toolchain of this process, once found

--- The toolchain, its libraries built if need be (20 s, once for each version).
-- @tparam[opt] function progress called with a text before something long
-- @treturn table {rustc, version, core, gpu = folders of the libraries}; or nil and an error table
--   "environment"
function rust.toolchain(progress)
  if ready then return ready end
  local process = worker.start "compiler"
  local tools, e = find(process)
  local cache = tools and files.cache "rust"
  if tools and not cache then
    tools, e = nil, { code = "environment", message = "Rust needs a cache folder for its core "
      .. "library", hint = "set PERIGEE_CACHE to a folder" }
  end
  if tools then
    local key = table.concat({ tools.id, BUILTINS, table.concat(FLAGS, " ") }, "\0")
    tools.core, e = cached(cache, key, "libcompiler_builtins.rlib", function(...)
      if progress then progress("compiling Rust's core library for GPUs, once") end
      return build_core(...)
    end, process, tools)
    if tools.core then
      tools.gpu, e = cached(cache, key .. "\0" .. rust.device_crate(), "libgpu.rlib", build_gpu,
        process, tools)
    end
    tools = tools.gpu and tools
  end
  process:kill()
  ready = tools
  return tools, e
end

-- ---- one source ----

--- The device crate's source.
function rust.device_crate()
  return files.read(files.join(core.home or ".", "kernels/rust/gpu.rs"))
end

--- A source and the modules beside it that it names: {name, text} each, the source first.
function rust.sources(source, path)
  local list, seen = { { name = files.basename(path), text = source } }, {}
  local folder, at = files.dirname(path), 1
  while list[at] do
    for name in list[at].text:gmatch("%f[%w_]mod%s+([%w_]+)%s*;") do
      local file = name .. ".rs"
      if not seen[file] and files.lies_in(files.join(folder, file), folder) then
        seen[file] = true
        list[#list + 1] = { name = file, text = files.read(files.join(folder, file)) }
      end
    end
    at = at + 1
  end
  return list
end

--- What a compiler worker runs. @treturn table request, or nil and an error table
function rust.tool(request, arch, progress)
  local tools, e = rust.toolchain(progress)
  if not tools then return nil, e end
  local sources, settings = {}, {}
  for _, file in ipairs(rust.sources(request.source, request.path)) do
    sources[file.name] = file.text
  end
  for _, pair in ipairs(request.options) do
    table.move({ "--env-set", pair }, 1, 2, #settings + 1, settings)
  end
  return {
    op = "tool", files = sources,
    toolchain = core.json_array { tools.sysroot, tools.core, tools.gpu,
      files.dirname(tools.rustc) },
    argv = command(tools.rustc, FLAGS, "-Ctarget-cpu=" .. arch:gsub("^compute_", "sm_"),
      "-Cdebuginfo=line-directives-only", "--crate-type", "rlib", "--crate-name", "kernel",
      "--emit", "asm=-", "--extern", ("core=%s/libcore.rlib"):format(tools.core),
      "--extern", ("gpu=%s/libgpu.rlib"):format(tools.gpu), "-L", tools.core, settings,
      files.basename(request.path)),
  }
end

-- Names of files as they read in a report: those of the source, and "core/..." for the library.
local function tidy(ptx)
  return (ptx:gsub('(%.file%s+%d+%s+")([^"]*)"', function(head, path)
    local name = path:match("/(core/.*)$") or path:match("^core/.*$") or files.basename(path)
    return head .. name:gsub("^core/%.%./%.%./", "") .. '"'
  end))
end

-- What gpu's launch_bounds! leaves in a kernel goes to where PTX has it.
local function bounded(ptx)
  return (ptx:gsub("(%.visible %.entry [%w_$]+%b())(%s*%b{})", function(head, body)
    local threads, blocks = body:match("// launch%-bounds (%d+) (%d+)")
    if not threads then return nil end
    return ("%s\n.maxntid %s, 1, 1\n.minnctapersm %s%s"):format(head, threads, blocks, body)
  end))
end

-- The first error and its place: "error[E0308]: mismatched types", then "--> kernel.rs:7:10".
local function first_error(log)
  local text, file, line = log:match "%f[^\n\0]error[%[%]%w]*: ([^\n]+)\n *%-%-> ([^\n]-):(%d+):"
  if not text then return log:match "error[^\n]*" or "rustc failed" end
  local where = ("%s:%s"):format(file, line)
  return ("%s: %s"):format(where, text), where
end

--- The result of `tool`'s request.
-- @treturn table {ptx, log, compiler}, or nil and an error table
function rust.result(reply)
  local log = reply.log
  if reply.status ~= 0 then
    local message, where = first_error(log)
    return nil, { code = "compile_error", log = log, message = message, where = where }
  end
  local ptx = bounded(tidy(reply.output))
  local call = ptx:match("\n%.extern%s+%.func[^\n]-([%w_$]+)%s*\n")
  if call then
    return nil, { code = "compile_error", log = log,
      message = ("the kernel calls %s, which is in no library for GPUs"):format(call),
      hint = "panics, formatting and what is not inlined cannot be linked" }
  end
  return { ptx = ptx, log = log, lowered = {}, compiler = ready and ready.version or "rustc" }
end

return rust
