-- The compiler options a candidate may choose: each of them is one that the compiler takes, and
-- none of the others gets through.
local lu = require "luaunit"
local core = require "perigee.core"
local flags = require "perigee.flags"

local GOOD = {
  "--use_fast_math", "-use_fast_math", "--fmad=false", "-fmad=true", "--ftz=true",
  "--prec-div=false", "--prec-sqrt=false", "--maxrregcount=32", "--std=c++17", "-std=c++20",
  "--dopt=on", "--extra-device-vectorization", "--restrict", "-lineinfo", "--generate-line-info",
  "-DNAME", "-DNAME=3", "-DNAME=a b", "--define-macro=NAME=1",
}
local BAD = {
  "-I/etc", "-I.", "--include-path=/", "--pre-include=/etc/passwd", "-include=/etc/passwd",
  "--options-file=x", "-optf",
  "--gpu-architecture=sm_70", "-arch=sm_70", "--device-c", "-rdc=true",
  "--device-debug", "-G", "--pch", "--create-pch=x", "--time=x", "--ptxas-options=-v",
  "-Xptxas=-O0",
  "--fmad", "--fmad=", "--fmad=yes", "--ftz=1", "--maxrregcount=-1", "--maxrregcount=1000",
  "--std=c++03", "--use_fast_math=true", "", "-", "--", "fmad=false", "x.cu", "-D", "-D1=2",
  "-DA=1\n", "--use_fast_math --pch", "---fmad=true", "-DNA ME=1", "--builtin-move-forward=true",
}

TestFlags = {}

function TestFlags:test_allowed_options_are_taken()
  lu.assertEquals(flags.check(GOOD, "plan.lua"), GOOD)
  for _, option in ipairs(core.compiler_info() and GOOD or {}) do
    local options = { option }
    local ok, e = pcall(core.compile, { source = "__global__ void k() {}", name = "k.cu",
      options = options, expressions = {}, cache = false })
    lu.assertTrue(ok, option .. ": " .. (ok and "" or tostring(e)))
  end
end

function TestFlags:test_others_are_refused_with_what_there_is()
  for _, option in ipairs(BAD) do
    local ok, e = pcall(flags.check, { option }, "plan.lua")
    lu.assertFalse(ok, option)
    lu.assertEquals(e.code, "invalid", option)
    lu.assertStrContains(e.hint, "allowed: --use_fast_math")
    lu.assertEquals(e.where, "plan.lua")
  end
end

os.exit(lu.LuaUnit.run())
