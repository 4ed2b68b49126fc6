-- Kernels in Rust and Triton: sources, committed PTX, and, where the compilers are, compiling.

local lu = require "luaunit"
local core = require "perigee.core"
local pg = require "perigee"
local builds = require "perigee.builds"
local compile = require "perigee.compile"
local errors = require "perigee.errors"
local files = require "perigee.files"
local impl = require "perigee.impl"
local rust = require "perigee.lang.rust"
local triton = require "perigee.lang.triton"

local HOME = core.home
local folder = os.tmpname()
os.remove(folder)
core.mkdir_all(folder)

local function write(name, text)
  local path = folder .. "/" .. name
  assert(core.write_file(path, text))
  return path
end

local function request(path, define)
  return impl.request({ lang = impl.language_of(path), path = path, shown = files.basename(path),
    define = define }, {})
end

local function compiled(path, define)
  return compile.finish(compile.start(request(path, define), "compute_80"))
end

TestSources = {}

function TestSources.test_modules_beside_a_rust_source_belong_to_it()
  write("part.rs", "pub fn f() {}\n")
  local path = write("whole.rs", "mod part;\nmod elsewhere;\n")
  local list = rust.sources(files.read(path), path)
  lu.assertEquals({ list[1].name, list[2].name, #list }, { "whole.rs", "part.rs", 2 })
end

function TestSources.test_python_files_that_are_imported_belong_to_it()
  write("shared.py", "import triton\nfrom deeper import x\n")
  write("deeper.py", "x = 1\n")
  local path = write("top.py", "import triton\nfrom shared import y\n")
  local names = {}
  for i, file in ipairs(triton.sources(files.read(path), path)) do names[i] = file.name end
  lu.assertEquals(names, { "top.py", "shared.py", "deeper.py" })
end

function TestSources.test_a_changed_module_changes_the_digest()
  local path = write("main.rs", "mod inner;\n")
  write("inner.rs", "// one\n")
  local before = compile.digest(files.read(path), path)
  write("inner.rs", "// two\n")
  lu.assertNotEquals(compile.digest(files.read(path), path), before)
end

TestCommitted = {}

function TestCommitted.test_what_is_built_ahead_of_time_needs_no_compiler()
  for _, name in ipairs { "allocate.rs", "update.rs", "fuse.rs", "allocate.py", "update.py" } do
    local built = assert(compiled(HOME .. "/kernels/tsdf/" .. name))
    lu.assertEquals({ name, built.committed ~= nil, built.stale }, { name, true, false })
  end
end

function TestCommitted.test_ptx_beside_a_strangers_source_does_not_stand_for_it()
  local path = write("forged.rs", 'compile_error!("this is not what runs");\n')
  write("forged.rs.ptx", ("// source-sha256: %s\n"):format(compile.digest(files.read(path), path)))
  lu.assertNotNil(compiled(path).committed) -- of the person who calls
  local asked = request(path)
  asked.foreign = true
  local built, e = compile.finish(compile.start(asked, "compute_80"))
  lu.assertNil(built)
  lu.assertTrue(e.code == "compile_error" or e.code == "environment", e.message)
end

function TestCommitted.test_no_panic_is_left_in_rust()
  for _, name in ipairs { "allocate", "update", "fuse" } do
    local ptx = files.read(("%s/kernels/tsdf/%s.rs.ptx"):format(HOME, name))
    lu.assertNil(ptx:find("trap;", 1, true), name)
    lu.assertNil(ptx:find(".extern", 1, true), name)
  end
end

function TestCommitted.test_triton_names_what_its_kernels_take()
  local ptx = files.read(HOME .. "/kernels/tsdf/allocate.py.sm_90.ptx")
  local map = triton.map_of(ptx).allocate
  lu.assertEquals({ map.args[1], map.args[15], map.args[16], map.num_warps },
    { "points", "capacity", core.null, 1 })
  lu.assertStrContains(ptx, ".reqntid 32")
end

function TestCommitted.test_a_ptx_version_that_drivers_accept()
  for _, arch in ipairs { "sm_80", "sm_90" } do
    local ptx = files.read(("%s/kernels/tsdf/update.py.%s.ptx"):format(HOME, arch))
    local major, minor = ptx:match("%.version (%d+)%.(%d+)")
    lu.assertTrue(tonumber(major) * 10 + tonumber(minor) <= 90)
  end
end

-- These compile where the toolchain is; where it is not, the error must say how to get it.
TestRust = {}

local KERNEL = [[
#![no_std]
#![feature(abi_ptx)]
use gpu::*;
const SCALE: u32 = constant(option_env!("SCALE"), 1);
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn scale(x: *mut u32, n: u32) {
    let i = global_x();
    if i < n {
        unsafe { *x.add(i as usize) *= SCALE }
    }
}
]]

local function here_or_hint(built, e, package)
  if built then return true end
  lu.assertEquals(e.code, "environment")
  lu.assertStrContains(e.hint, package)
  return false
end

function TestRust.test_a_source_compiles_and_runs_with_its_constants()
  local path = write("scale.rs", KERNEL)
  local built, e = compiled(path, { SCALE = 3 })
  if not here_or_hint(built, e, "rustc") then return end
  local dev = core.device "sim:check"
  local x = dev:upload(core.array("u32", 40, 7))
  dev:load(built.ptx, "scale"):kernel("scale"):launch { grid = 2, block = 32, args = { x, 40 } }
  lu.assertEquals(x:download():sum(), 40 * 21)
end

function TestRust.test_launch_bounds_hold()
  local text = KERNEL:gsub("feature%(abi_ptx", "%0, asm_experimental_arch")
    :gsub("    let i =", "    launch_bounds!(64, 2);\n%0")
  local built, e = compiled(write("bounded.rs", text))
  if not here_or_hint(built, e, "rustc") then return end
  lu.assertStrContains(built.ptx, ")\n.maxntid 64, 1, 1\n.minnctapersm 2\n{")
  local kernel = core.device("sim"):load(built.ptx, "bounded"):kernel("scale")
  lu.assertEquals(kernel:info().max_threads, 64)
end

function TestRust.test_an_error_has_its_line_and_no_folder()
  local built, e = compiled(write("wrong.rs", "#![no_std]\nfn f() -> u32 { 1.0 }\n"))
  lu.assertNil(built)
  if e.code == "environment" then return here_or_hint(nil, e, "rustc") end
  lu.assertEquals({ e.code, e.message, e.where },
    { "compile_error", "wrong.rs:2: mismatched types", "wrong.rs:2" })
  lu.assertStrContains(e.log, "wrong.rs:2:17")
  lu.assertNil(e.log:find(folder, 1, true))
end

TestTriton = {}

local DOUBLE = [[
import triton
import triton.language as tl

@triton.jit
def double(x: "*fp32", y: "*fp32", n: "i32", BLOCK: tl.constexpr = 64):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, 2 * tl.load(x + i, mask=i < n), mask=i < n)
]]

function TestTriton.test_a_source_compiles_with_its_argument_map()
  local built, e = compiled(write("double.py", DOUBLE))
  if not here_or_hint(built, e, "triton") then return end
  local map = triton.map_of(built.ptx).double
  lu.assertEquals({ map.args[1], map.args[2], map.args[3], map.num_warps }, { "x", "y", "n", 4 })
end

function TestTriton.test_an_untyped_kernel_says_what_is_missing()
  local built, e = compiled(write("untyped.py", (DOUBLE:gsub('x: "%*fp32"', "x"))))
  lu.assertNil(built)
  if e.code == "environment" then return here_or_hint(nil, e, "triton") end
  lu.assertStrContains(e.message, "annotate the parameters")
end

-- A load without a mask is several lines of inline assembly, which LLVM numbers on.
function TestTriton.test_lines_are_those_of_the_source()
  local built, e = compiled(write("lines.py", (DOUBLE:gsub(", mask=i < n", ""))))
  if not here_or_hint(built, e, "triton") then return end
  local lines = {}
  for line in built.ptx:gmatch "%.loc%s+1 (%d+)" do lines[tonumber(line)] = true end
  lu.assertEquals(lines, { [5] = true, [6] = true, [7] = true })
end

-- Not where Triton was when it noticed, nor its own files.
function TestTriton.test_an_error_has_the_line_of_the_source()
  local function error_of(name, text)
    local built, e = compiled(write(name, text))
    lu.assertNil(built)
    return e
  end
  local e = error_of("deep.py", (DOUBLE:gsub("\n@", "\n@triton.jit\ndef f(v):\n"
    .. "    return v * nowhere\n\n@"):gsub("2 %*", "2 * f(v=1) *")))
  if e.code == "environment" then return here_or_hint(nil, e, "triton") end
  lu.assertStrMatches(e.message, "deep.py:6: .*nowhere.*")
  lu.assertEquals({ e.code, e.where }, { "compile_error", "deep.py:6" })
  lu.assertStrContains(e.log, "\n    return v * nowhere\n               ^")
  lu.assertNil(e.log:find "Traceback")
  e = error_of("unended.py", (DOUBLE:gsub("2 %*", "y *"):gsub("\n$", "")))
  lu.assertEquals(e.where, "unended.py:7")
  e = error_of("open.py", (DOUBLE:gsub("\n@", "\nx = (\n@")))
  lu.assertStrMatches(e.message, "open.py:4: .*")
  e = error_of("raises.py", "import triton\n" .. 'raise ValueError("no")\n')
  lu.assertEquals(e.message, "raises.py:2: ValueError: no")
end

TestLimits = {}

-- 2^28 instances of a template keep any compiler busy.
function TestLimits.test_a_source_that_compiles_too_long_says_how_to_wait()
  if not core.compiler_info() then lu.skip "no NVRTC on this machine" end
  local asked = request(write("long.cu", "template <int N, int P> struct bomb { static const int "
    .. "value = bomb<N - 1, 2 * P>::value + bomb<N - 1, 2 * P + 1>::value; };\n"
    .. "template <int P> struct bomb<0, P> { static const int value = 1; };\n"
    .. "__global__ void k(int* y) { y[0] = bomb<28, 1>::value; }\n"))
  asked.limit_s = 0.5
  local built, e = compile.finish(compile.start(asked, "compute_80"))
  lu.assertNil(built)
  lu.assertEquals(e.code, "compile_error")
  lu.assertStrContains(e.message, "0.5 s")
  lu.assertStrContains(e.hint, "--timeout")
end

function TestLimits.test_a_candidate_has_a_minute_or_what_the_user_allows()
  local function limit(how) return builds.new("compute_80", print, how).limit_s end
  lu.assertEquals({ limit(), limit { timeout = 20 }, limit { timeout = 90 } }, { 60, 60, 90 })
end

TestLanguages = {}

function TestLanguages.test_a_script_loads_what_is_built_ahead_of_time()
  local dev = pg.device "sim:check"
  local module = dev:compile { file = "kernels/tsdf/allocate.rs" }
  lu.assertEquals(module:kernel("allocate"):info().name, "allocate")
  module = dev:compile { file = "kernels/tsdf/allocate.py" }
  lu.assertEquals(module.map.allocate.num_warps, 1)
end

-- The first block of code in a language in kernels/README.md.
local function example(lang)
  return files.read(HOME .. "/kernels/README.md"):match("\n```" .. lang .. "\n(.-)\n```\n")
end

function TestLanguages.test_the_kernels_of_the_readme_pass()
  for lang, file in pairs { rust = "saxpy.rs", python = "saxpy.py" } do
    local path = write(file, example(lang) .. "\n")
    local built, e = compiled(path)
    if here_or_hint(built, e, lang == "rust" and "rustc" or "triton") then
      local record = pg.check(pg.catalogue.find("vector/saxpy")[1], path, { device = "sim:check" })
      lu.assertEquals({ file, record.verdict }, { file, "passed" })
    end
  end
end

function TestLanguages.test_a_misspelt_language_is_suggested()
  local ok, e = errors.catch("invalid", impl.known_language, "rsut", "task.lua:3")
  lu.assertFalse(ok)
  lu.assertStrContains(e.message .. (e.hint or ""), "rust")
end

os.exit(lu.LuaUnit.run())
