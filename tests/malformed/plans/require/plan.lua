-- verdict: compile_error
-- says: plan.lua:3: 'require' has no value here
local ffi = require "ffi"
return {}
