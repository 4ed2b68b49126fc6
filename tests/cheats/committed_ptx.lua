-- A source that no compiler takes, beside PTX made by hand that would stand for it.
-- task: vector/saxpy
-- verdict: compile_error
-- reason: never compiled
return function(folder)
  local core = require "perigee.core"
  local files = require "perigee.files"
  core.write_file(files.join(folder, "saxpy.rs"),
    "#![no_std]\ncompile_error!(\"never compiled\");\n")
  core.write_file(files.join(folder, "saxpy.rs.ptx"), files.read "kernels/vector/saxpy.ptx")
  return "saxpy.rs"
end
