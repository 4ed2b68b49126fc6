-- The tests of the device binding (tests/gpu/test_device.lua) on the simulator, where every machine
-- runs them.
local getenv = os.getenv
os.getenv = function(name) -- luacheck: ignore 122
  return name == "PERIGEE_TEST_DEVICE" and "sim:check" or getenv(name)
end
dofile("tests/gpu/test_device.lua")
