-- What replies of a runner mean: every error, fault and damage as the verdict it must become. The
-- process is replaced by a table of replies, so that each can be made.
local lu = require "luaunit"
local core = require "perigee.core"
local verdict = require "perigee.verdict"
local worker = require "perigee.worker"

TestRunner = {}

-- A runner on `spec` whose process answers every request with `reply`, or dies with `e`.
local function runner_with(spec, reply, e)
  local runner = require "perigee.runner"
  local start = worker.start
  worker.start = function()
    return {
      post = function() end, kill = function(self) self.killed = true end,
      take = function() return { ok = true, info = { gpu_clock = spec ~= "sim" } } end,
      call = function() return reply, e end,
    }
  end
  local one = runner.start(spec, { timeout = 1 })
  worker.start = start
  one:ready()
  return one
end

local function run(spec, reply, e)
  local one = runner_with(spec, reply, e)
  local ran, failure = one:run(0, {}, 0)
  return failure, ran, one
end

function TestRunner:test_a_clean_run()
  local failure, ran, one = run("sim", { ok = true, wall_us = 5, canary = core.null,
    inputs_changed = {} })
  lu.assertNil(failure)
  lu.assertEquals(ran.wall_us, 5)
  lu.assertNil(one.dead)
end

function TestRunner:test_a_changed_red_zone_is_out_of_bounds_and_names_the_buffer()
  local text = "the runner's own words"
  local expected = { after = { "z", 12 }, before = { "z", -12 }, master = {} }
  for side, where in pairs(expected) do
    local failure = run("cuda:0", { ok = true, canary = { buffer = "z", side = side, offset = 12,
      text = text } })
    lu.assertEquals(failure.verdict, "out_of_bounds")
    lu.assertEquals(failure.reason, text)
    lu.assertEquals(failure.findings, { { kind = "out_of_bounds", text = text,
      allocation = where[1], distance = where[2] } })
  end
end

function TestRunner:test_a_changed_input()
  local failure = run("cuda:0", { ok = true, canary = core.null, inputs_changed = { "x", "y" } })
  lu.assertEquals(failure.verdict, "input_modified")
  lu.assertStrContains(failure.reason, "x, y")
end

function TestRunner:test_faults()
  local verdicts = {
    out_of_bounds = "out_of_bounds", misaligned = "launch_error",
      uninitialized = "uninitialized_read",
    race = "race", trap = "launch_error", timeout = "timeout", deadlock = "timeout",
    read_only = "input_modified", other = "launch_error",
  }
  for kind, word in pairs(verdicts) do
    local failure, _, one = run("cuda:0", { ok = false, error = { code = "launch_error",
      message = "m" },
      fault = { kind = kind, text = "what happened\nwhere" } })
    lu.assertEquals(failure.verdict, word, kind)
    lu.assertEquals(failure.reason, "what happened")
    lu.assertTrue(one.dead, "a GPU that faulted answers no more")
  end
  local _, _, one = run("sim", { ok = false, error = { code = "launch_error", message = "m" },
    fault = { kind = "trap", text = "t" } })
  lu.assertNil(one.dead)
end

function TestRunner:test_a_process_that_died()
  for code, word in pairs { timeout = "timeout", crashed = "launch_error" } do
    local failure, _, one = run("cuda:0", nil, { code = code, message = "the runner process ..." })
    lu.assertEquals(failure.verdict, word)
    lu.assertTrue(one.dead)
  end
end

-- Processes of their own: what ends them is no table.
function TestRunner:test_a_process_that_the_kernel_killed_is_the_environment()
  local one = require "perigee.runner".start("sim", { timeout = 5 })
  one:ready()
  lu.assertTrue(one:answers())
  os.execute("kill -KILL " .. one.worker:pid())
  local ran, failure = one:run(0, {}, 0)
  lu.assertNil(ran)
  lu.assertEquals(failure.verdict, "environment")
  lu.assertStrContains(failure.hint, "memory runs out")
  lu.assertTrue(one.dead)
  lu.assertFalse(one:answers())
  one:close()
end

function TestRunner:test_a_spare_that_was_killed_is_not_given_out()
  local spares = require "perigee.pool".new("sim", { timeout = 5 })
  spares:fill(1)
  spares:settle()
  local first = spares.spares[1].worker:pid()
  os.execute("kill -KILL " .. first)
  local given = spares:take()
  given:ready()
  lu.assertTrue(given:answers())
  lu.assertNotEquals(given.worker:pid(), first)
  spares:close()
end

function TestRunner:test_memory_is_the_machines_and_a_defect_is_raised()
  local failure = run("sim", { ok = false, error = { code = "out_of_memory", message = "m" } })
  lu.assertEquals(failure.verdict, "environment")
  local ok, e = pcall(run, "sim", { ok = false, error = { code = "internal",
    message = "a defect" } })
  lu.assertFalse(ok)
  lu.assertEquals(e.message, "a defect")
end

function TestRunner:test_ptx_that_does_not_load()
  local one = runner_with("cuda:0", { ok = false, error = { code = "syntax", message = "line 3" } })
  local _, failure = one:load("", "x.ptx")
  lu.assertEquals(failure.verdict, "compile_error")
  one = runner_with("sim", { ok = false, error = { code = "unsupported",
    message = "wgmma in line 3" } })
  _, failure = one:load("", "x.ptx")
  lu.assertEquals(failure.verdict, "unsupported")
end

function TestRunner:test_a_device_that_does_not_open_is_the_environment()
  local start = worker.start
  local killed = false
  worker.start = function()
    return {
      post = function() end, kill = function() killed = true end,
      take = function() return nil, { code = "crashed", message = "the runner process died" } end,
      sandbox = function() return { "own-group" } end,
    }
  end
  local one = require("perigee.runner").start("cuda:0", { timeout = 1 })
  worker.start = start
  local ok, e = pcall(one.ready, one)
  lu.assertFalse(ok)
  lu.assertEquals(e.code, "environment")
  lu.assertTrue(killed)
end

-- A driver that does not start under Landlock is given a process without, and so are the next.
function TestRunner:test_a_driver_that_cannot_be_confined_is_not()
  local start, roles = worker.start, {}
  worker.start = function(role)
    roles[#roles + 1] = role
    return {
      post = function() end, kill = function() end,
      take = function()
        if role == "unconfined" then return { ok = true, info = { name = "GPU" } } end
        return { ok = false, error = { code = "environment", message = "OS call failed" } }
      end,
      sandbox = function() return role == "unconfined" and {} or { "own-group", "landlock" } end,
    }
  end
  package.loaded["perigee.runner"] = nil
  local runner = require "perigee.runner"
  local one = runner.start("cuda:0", { timeout = 1 })
  lu.assertEquals(one:ready(), { name = "GPU" })
  lu.assertEquals(one:sandbox(), {})
  runner.start("cuda:0", { timeout = 1 }):ready()
  worker.start = start
  package.loaded["perigee.runner"] = nil
  lu.assertEquals(roles, { "runner", "unconfined", "unconfined" })
end

TestVerdict = {}

function TestVerdict:test_every_verdict_has_a_status()
  local status = {}
  for _, word in ipairs(verdict.WORDS) do status[word] = verdict.status(word) end
  lu.assertEquals(status.passed, 0)
  lu.assertEquals(status.wrong_result, 1)
  lu.assertEquals(status.environment, 3)
  lu.assertEquals(#verdict.WORDS, 15)
end

os.exit(lu.LuaUnit.run())
