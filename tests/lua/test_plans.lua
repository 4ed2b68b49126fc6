-- The tests of plans on a device (tests/gpu/test_plans.lua) on the simulator, where every machine
-- runs them.
local getenv = os.getenv
os.getenv = function(name) -- luacheck: ignore 122
  if name == "PERIGEE_TEST_DEVICE" then return "sim:check" end
  if name == "PERIGEE_TEST_COMMAND" then return (getenv "BUILD" or "build") .. "/perigee" end
  return getenv(name)
end
dofile("tests/gpu/test_plans.lua")
