--- Judges every exhibit of the cheat museum by `perigee check` and says what became of it, as TAP;
-- the last line is "N passed, N failed". Arguments: --device cuda:0 for a real GPU (default: the
-- simulator, and the GPU that is the simulator where a clock is needed), and a pattern of names.

local core = require "perigee.core"
local files = require "perigee.files"

package.path = "tests/cheats/?.lua;" .. package.path
local museum = require "museum"

local BUILD = os.getenv "BUILD" or "build"
local PERIGEE = os.getenv "PERIGEE_TEST_COMMAND" or BUILD .. "/perigee"
local SHIM = ("%s/tests/shim/counting:%s/tests/shim"):format(BUILD, BUILD)
local TASKS = museum.FOLDER .. "/tasks"
local TOGETHER = 8 -- exhibits of one command
local GPU_JOBS = 10 -- commands at a time
local BUDGET = " --budget 0.1" -- seconds of timing, for what is not compared by its time

local device, pattern, slow = nil, "", false
do
  local i = 1
  while arg[i] do
    if arg[i] == "--device" then
      device, i = arg[i + 1], i + 1
    elseif arg[i] == "--slow" then
      slow = true
    else
      pattern = arg[i]
    end
    i = i + 1
  end
end

-- A name that nothing has is no test that passed.
local function refuse(list)
  local names = {}
  for i, one in ipairs(list) do names[i] = one.name end
  local near = core.nearest(pattern, names)
  io.stderr:write(("no exhibit has '%s' in its name%s\n"):format(pattern,
    near and ("; did you mean '%s'?"):format(near) or ""))
  os.exit(2, true)
end

-- ---- what is run where ----

-- Whether a restriction of workers is to be had on this machine.
local function restricted_by(name)
  local pipe <close> = io.popen(PERIGEE .. " doctor 2>/dev/null")
  return (" " .. pipe:read "a"):find("%f[%w]" .. name .. "%f[^%w]") ~= nil
end

-- The device of an exhibit here, or nil and why it stays out.
local function place(one)
  if one.needs and not restricted_by(one.needs) then
    return nil, "this machine lacks " .. one.needs
  end
  if one.slow and not slow then return nil, "takes " .. one.slow .. "; --slow" end
  if device then
    if one.gpu and one.gpu:match "^no%f[%W]" then return nil, one.gpu end
    return device
  end
  if one.device == "gpu" then return nil, "needs a GPU" end
  if one.device ~= "clock" then return one.device end
  return "shim"
end

local function expected(one)
  if device and one.gpu then return one.gpu:match "^([%l_]+)%s*(.*)$" end
  return one.verdict, one.reason or ""
end

-- Exhibits that one command can judge: of the same task, options and device, and compared by their
-- times or not.
local function commands(list)
  local groups, open = {}, {}
  for _, one in ipairs(list) do
    local key = table.concat({ one.task, one.place, tostring(one.compared) }, "\n")
    if not open[key] or #open[key] == TOGETHER then
      open[key] = { place = one.place, task = one.task, compared = one.compared }
      groups[#groups + 1] = open[key]
    end
    table.insert(open[key], one)
  end
  return groups
end

-- ---- running ----

local made = nil -- folder of candidates that are written here

local function path_of(one)
  if not one.makes then return one.path end
  if not made then
    local pipe <close> = io.popen "mktemp -d"
    made = pipe:read "l"
  end
  local folder = files.join(made, one.name)
  os.execute(("mkdir -p '%s'"):format(folder))
  return files.join(folder, dofile(one.path)(folder))
end

local function start(group)
  local paths = {}
  for i, one in ipairs(group) do paths[i] = path_of(one) end
  local name, options = group.task:match "^(%S+)%s*(.*)$"
  local shim = group.place == "shim"
  group.pipe = io.popen(("PERIGEE_TASKS=%s %s %s check %s %s %s --device %s --json 2>&1"):format(
    TASKS, shim and "LD_LIBRARY_PATH=" .. SHIM or "", PERIGEE, name, table.concat(paths, " "),
    options .. (options:find "--budget" and "" or BUDGET), shim and "cuda:0" or group.place))
end

-- A record for each exhibit; what is no record stands in `error` of the next one.
local function finish(group)
  local next_one = 1
  for line in group.pipe:lines() do
    local rec = core.json_decode(line)
    local one = group[next_one]
    if type(rec) == "table" and rec.verdict and one then
      one.record, next_one = rec, next_one + 1
    elseif one then
      one.error = (one.error or "") .. line .. " "
    end
  end
  group.pipe:close()
end

local function run(groups, jobs, on_end)
  local done = 0
  local function next_ends()
    done = done + 1
    finish(groups[done])
    on_end(groups[done])
  end
  for i, group in ipairs(groups) do
    start(group)
    if i - done >= jobs then next_ends() end
  end
  while done < #groups do next_ends() end
end

-- ---- what came out ----

local function texts(rec)
  local parts = { rec.reason or "", rec.hint or "", rec.failed_at or "", rec.compile_log or "" }
  for _, finding in ipairs(rec.findings or {}) do parts[#parts + 1] = finding.text or "" end
  return table.concat(parts, "\n")
end

local function found(rec, kind)
  for _, finding in ipairs(rec.findings) do
    if finding.kind == kind then return true end
  end
  return false
end

-- Of a time: what two kernels of other instructions may differ by. The simulated GPU counts its
-- work, so one measurement says it; on a real one that is made three times, and twice is no chance.
local SAME, TRIES, FASTER = 0.95, 3, 2

local function partner(one, all)
  for _, other in ipairs(all) do
    if other.honest and other.name == one.gains:match "%S+$" then return other end
  end
end

-- A cheat that may pass must not be faster than an honest kernel.
local function gain(one, all)
  local name, other_one = one.gains:match "%S+$", partner(one, all)
  local honest = other_one and other_one.record
  if not honest or not honest.time then return "no time of " .. name .. " to set beside its own" end
  local mine, other = one.record.time.median_us, honest.time.median_us
  if mine > SAME * other then return nil end
  return ("takes %.2f us, %s %.2f us"):format(mine, name, other)
end

-- Verdicts that a cheat which may pass may get on a GPU as well: what it finds there is luck.
local CATCHES = { wrong_result = true, unwritten_output = true, cheat = true,
  out_of_bounds = true, uninitialized_read = true, nondeterministic = true }

-- What is wrong, or nil.
local function wrong(one, all)
  if one.complaint then return one.complaint end
  local rec, word, reason = one.record, expected(one)
  if not rec then return "no record: " .. (one.error or "nothing was printed") end
  if one.gains and device and CATCHES[rec.verdict] then return nil end
  if rec.verdict ~= word then
    return ("expected %s, got %s: %s"):format(word, rec.verdict, rec.reason or "")
  end
  if not texts(rec):find(reason, 1, true) then
    return ("%s for another reason than '%s': %s"):format(word, reason, rec.reason)
  end
  if rec.verdict ~= "passed" and rec.time then return "a failed verdict with a time" end
  local finding, here = (one.finding or ""):match "^(%S+)(.*)$"
  if finding and not (device and here == " here") and not found(rec, finding) then
    return "no finding " .. finding
  end
  return one.gains and gain(one, all) or nil
end

local function shorten(text)
  text = text:gsub("%s+", " ")
  return #text > 110 and text:sub(1, 107) .. "..." or text
end

-- A machine without the language of a candidate, as the language's own probe says, too: any other
-- failure of its compiler is one.
local PROBES = { rust = "toolchain", triton = "version" }

local function lacks(one)
  local rec = one.record
  local probe = rec and rec.verdict == "environment" and PROBES[rec.lang]
  return probe and not require("perigee.lang." .. rec.lang)[probe]() and rec.reason or nil
end

local function say(number, one, problem)
  local rec = one.record or {}
  local kind = one.honest and "honest" or "cheat "
  local result = problem or (rec.verdict .. (rec.reason and ": " .. rec.reason or ""))
  local lacking = problem and one.lacking
  print(("%sok %d - %s %-20s %-20s %s%s"):format(problem and not lacking and "not " or "", number,
    kind, one.name, (one.task or ""):match "^%S*", shorten(result),
    lacking and " # SKIP " .. lacking or ""))
end

-- The exhibits whose names fit, and those that they are set beside. What is named as a whole is
-- judged however long it takes.
local function wanted()
  local list, names = museum.exhibits(), {}
  local some = false
  for _, one in ipairs(list) do
    one.chosen = one.name:find(pattern, 1, true) ~= nil
    if one.name == pattern then one.slow = nil end
    some = some or one.chosen
    if one.chosen and one.gains then names[one.gains:match "%S+$"] = true end
  end
  if not some then refuse(list) end
  local result = {}
  for _, one in ipairs(list) do
    one.compared = one.gains ~= nil or names[one.name] ~= nil
    if one.chosen or names[one.name] then result[#result + 1] = one end
  end
  return result
end

-- Those that are judged here; a broken header is a failure without a command.
local function judged()
  local list = {}
  for _, one in ipairs(wanted()) do
    local why
    one.place, why = place(one)
    if one.place or one.complaint then list[#list + 1] = one
    else print(("# %s is not judged here: %s"):format(one.name, why)) end
  end
  return list
end

-- Commands for what is complete. On a GPU nothing else may run beside what is compared by its time.
local function split(chosen)
  local sound, alone, together = {}, {}, {}
  for _, one in ipairs(chosen) do
    if not one.complaint then sound[#sound + 1] = one end
  end
  for _, group in ipairs(commands(sound)) do
    table.insert(device and group.compared and alone or together, group)
  end
  return together, alone
end

-- What is wrong with an exhibit whose record is there; a gain is measured again, alone.
local function verdict_on(one, chosen)
  local problem = wrong(one, chosen)
  if not problem or not one.gains or not device then return problem end
  local times, latest = 1, problem
  for _ = 2, TRIES do
    run(commands { one, partner(one, chosen) }, 1, function() end)
    problem = wrong(one, chosen)
    if problem then times, latest = times + 1, problem end
  end
  return times >= FASTER and latest or nil
end

local function main()
  local chosen, said, since = judged(), 0, core.now()
  if not core.compiler_info() then
    print "ok 1 - cheats # SKIP no NVRTC on this machine"
    os.exit(true, true)
  end
  local count = { cheats = 0, caught = 0, gainless = 0, honest = 0, passed = 0, skipped = 0 }
  local function tell(one)
    local problem = verdict_on(one, chosen)
    local all, good = "cheats", "caught"
    if one.honest then all, good = "honest", "passed" end
    one.lacking = lacks(one)
    if problem and one.lacking then all = "skipped" end
    count[all], count[good] = count[all] + 1, count[good] + (problem and 0 or 1)
    if one.gains and not problem and one.record.verdict == "passed" then
      count.gainless = count.gainless + 1
    end
    said, one.told = said + 1, true
    say(said, one, problem)
  end
  local function tell_group(group)
    for _, one in ipairs(group) do
      if not one.gains then tell(one) end -- these wait for what they are set beside
    end
  end
  local together, alone = split(chosen)
  run(together, device and GPU_JOBS or core.cpu_count(), tell_group)
  if device then
    print(("# %.0f s; alone, as their times are compared:"):format(core.now() - since))
  end
  run(alone, 1, tell_group)
  for _, one in ipairs(chosen) do
    if not one.told then tell(one) end
  end
  if made then os.execute(("rm -rf '%s'"):format(made)) end
  local good = count.caught + count.passed
  local bad = #chosen - good - count.skipped
  print(("1..%d"):format(#chosen))
  print(("# %.0f s"):format(core.now() - since))
  if count.skipped > 0 then print(("# %d passed over: no compiler"):format(count.skipped)) end
  print(("%d cheats, %d caught (%d of them pass and gain nothing), %d honest kernels, %d passed")
    :format(count.cheats, count.caught, count.gainless, count.honest, count.passed))
  print(("%d passed, %d failed"):format(good, bad))
  os.exit(bad == 0 and #chosen > 0, true)
end

io.stdout:setvbuf "line"
main()
