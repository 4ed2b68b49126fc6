-- What `make test-ptx` prints: perigee tests/golden/report.lua [FOLDER of the vectors]
-- Instructions with the number of vectors each; which differ; which the simulator does not know.
-- Exit status 1 when one differs, 3 when nothing is recorded.
local here = arg[0]:match "^(.*)/[^/]*$" or "."
package.path = here .. "/?.lua;" .. package.path
local core = require "perigee.core"
local check = require "check"
local spec = require "spec"
local store = require "store"
local support = require "support"

local recorded = store.open(arg[1] or here)
local dev = core.device "sim"
local groups = spec.load(require "list")

-- Spellings of one opcode on one line of text, as many as fit.
local function print_wrapped(title, words)
  local line = ("%-14s"):format(title)
  for _, word in ipairs(words) do
    if #line + #word + 1 > 110 then
      print(line)
      line = (" "):rep(14)
    end
    line = line .. " " .. word
  end
  print(line)
end

local totals = { ok = 0, wrong = 0, unsupported = 0, refused = 0, unrecorded = 0, vectors = 0 }

local function report_group(group)
  local results = check.group(dev, recorded, group)
  local by_opcode, order, wrong = {}, {}, {}
  for _, r in ipairs(results) do
    local e = r.entry
    totals[r.status] = totals[r.status] + 1
    if r.status == "ok" then
      totals.vectors = totals.vectors + r.vectors
      if not by_opcode[e.opcode] then
        by_opcode[e.opcode] = {}
        order[#order + 1] = e.opcode
      end
      local name = e.key:sub(#e.opcode + 1)
      table.insert(by_opcode[e.opcode], ("%s:%d"):format(name == "" and "-" or name, r.vectors))
    elseif r.status == "wrong" then
      wrong[#wrong + 1] = ("DIFFERS %s: %d of %d: %s"):format(e.key, r.bad, r.vectors, r.detail)
    end
  end
  print(("\n== %s"):format(group.name))
  for _, opcode in ipairs(order) do print_wrapped(opcode, by_opcode[opcode]) end
  for _, line in ipairs(wrong) do print(line) end
end

if recorded then
  print(("golden vectors of %s, driver %s, %s: instruction and number of vectors"):format(
    recorded.facts.device, recorded.facts.driver, recorded.facts.date))
  for _, group in ipairs(groups) do report_group(group) end
end
support.print(dev, groups, print_wrapped)
if not recorded then
  print "\nno golden vectors recorded"
  os.exit(3)
end
print(("\n%d instructions match in %d vectors, %d differ, %d unknown to the simulator, "
  .. "%d not recorded, %d refused by the GPU's assembler"):format(totals.ok, totals.vectors,
  totals.wrong, totals.unsupported, totals.unrecorded, totals.refused))
os.exit(totals.wrong == 0 and 0 or 1)
