-- Every implementation of every task, in its first cell, on sim:check: right, without a verdict of
-- the checks, and with no finding but weak reads where the algorithm has them.
local lu = require "luaunit"
local catalogue = require "perigee.catalogue"
local judge = require "perigee.judge"

-- Families of tasks whose kernels may read weakly: they look before they ask an atomic.
local LOOKS_FIRST = { hash = true, graph = true }

TestEveryKernel = {}

local function check(record)
  local key = record.task .. " " .. record.impl
  lu.assertEquals(record.verdict, "passed", ("%s: %s"):format(key, tostring(record.reason)))
  for _, finding in ipairs(record.findings) do
    lu.assertEquals(finding.kind, "weak_read", key .. ": " .. finding.text)
    lu.assertTrue(LOOKS_FIRST[key:match "^[^/]+"], key .. ": " .. finding.text)
  end
end

function TestEveryKernel:test_on_sim_check()
  local count = 0
  for _, task in ipairs(catalogue.all()) do
    lu.assertTrue(#task:select_impls() > 0, task.name)
    local session <close> = judge.session { device = "sim:check", timeout = 60 }
    local cell = task.cells[1]
    session:run(task, { cells = cell and cell.name and { cell.name } }, function(record)
      check(record)
      count = count + 1
    end)
  end
  lu.assertTrue(count > 20, count)
end

os.exit(lu.LuaUnit.run())
