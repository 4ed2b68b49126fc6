-- Records golden vectors: perigee tests/golden/make.lua [--device cuda:0] FOLDER
-- Runs every instruction of list.lua on the device and writes what it gave into FOLDER.
local here = arg[0]:match "^(.*)/[^/]*$" or "."
package.path = here .. "/?.lua;" .. package.path
local core = require "perigee.core"
local play = require "play"
local spec = require "spec"
local store = require "store"

local device, folder = "cuda:0", nil
local i = 1
while arg[i] do
  if arg[i] == "--device" then
    i = i + 1
    device = arg[i]
  else
    folder = arg[i]
  end
  i = i + 1
end
if not folder then
  io.stderr:write("usage: perigee tests/golden/make.lua [--device cuda:0] FOLDER\n")
  os.exit(2)
end

local dev = core.device(device)
local info = dev:info()
local groups = spec.load(require "list")
local results, refused, ran, not_run = {}, {}, 0, 0
local start = core.now()
for _, group in ipairs(groups) do
  play.run(dev, group.entries, function(e, bytes)
    results[e.key] = bytes
    ran = ran + 1
  end, function(e, why)
    refused[e.key] = type(why) == "table" and why.message or tostring(why)
    not_run = not_run + 1
  end)
  print(("%-18s %4d instructions  %.1f s"):format(group.name, #group.entries, core.now() - start))
end
local total = store.write(folder, groups, results, refused,
  { device = info.name, driver = info.driver, date = core.utc():sub(1, 10) })
for _, group in ipairs(groups) do
  for _, e in ipairs(group.entries) do
    if refused[e.key] then print("refused: " .. e.key .. ": " .. refused[e.key]:sub(1, 200)) end
  end
end
print(("%d instructions recorded, %d refused, %d bytes, %.1f s"):format(ran, not_run, total,
  core.now() - start))
