-- LuaUnit finds tests in globals named Test*; everything else is local.
std = "lua54"
max_line_length = 100
self = false
exclude_files = { "build", "dist", "data", "tests/malformed", "tests/cheats/*/plan.lua" }
files["tests/lua"] = { ignore = { "111/Test.*", "112/Test.*", "113/Test.*" } }
files["tests/golden/list.lua"] = { max_line_length = false }
files["tests/golden/isa.lua"] = { max_line_length = false }
