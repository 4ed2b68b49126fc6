-- verdict: compile_error
-- says: 'setmetatable' has no value here
return setmetatable({}, {})
