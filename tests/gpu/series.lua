-- Many candidates in a row, among them such that crash, hang, are killed or kill the process that
-- waits for the next: each gets its verdict, and in the end there is no process, no memory and no
-- descriptor more than in the beginning. perigee tests/gpu/series.lua DEVICE COUNT
local core = require "perigee.core"
local catalogue = require "perigee.catalogue"
local files = require "perigee.files"
local impl = require "perigee.impl"
local judge = require "perigee.judge"

local series = {}

local WARM = 16 -- candidates after which memory of this process is looked at: caches are full then
-- Seconds a kernel may run. A GPU tells of a trap after half a second where others work on it.
local TIMEOUT = 1
local PRECISE = 0.0025 -- of the median: half the width of its interval
local GROWTH_KB = 16 << 10 -- of this process; what Lua holds until its next collection
local GPU_GROWTH_MB = 8

-- Name of a file in tests/candidates/saxpy, "broken" for what does not compile; and what befalls
-- its process. Each whole row is one turn.
local TURN = {
  { "right" }, { "zeros" }, { "bounds" }, { "broken" }, { "right" }, { "nothing" }, { "trap" },
  { "nan" }, { "right", "spare" }, { "copy" }, { "forever", "kill" }, { "right" }, { "zeros" },
  { "forever" }, { "broken" }, { "right" },
}

local function number_in(path, pattern)
  local file <close> = io.open(path)
  return tonumber((file and file:read "a" or ""):match(pattern) or 0)
end

local function lines_of(command)
  local pipe <close> = io.popen(command .. " 2>/dev/null")
  return pipe and pipe:read "a" or ""
end

-- {kilobytes, descriptors, megabytes of the GPU (nil: not told, or there is none), zombies}
local function footprint(device)
  collectgarbage()
  local pid, _ = core.getpid(), nil
  local seen = { kb = number_in("/proc/self/status", "VmRSS:%s*(%d+)"), zombies = 0,
    descriptors = #core.list_dir("/proc/self/fd") }
  _, seen.zombies = lines_of("cat /proc/[0-9]*/stat"):gsub("%) Z " .. pid .. " ", "")
  local index = device:match "^cuda:(%d+)"
  index = index and (os.getenv "PERIGEE_TEST_GPU" or index)
  seen.gpu_mb = index and tonumber(lines_of(("nvidia-smi -i %s --query-gpu=memory.used "
    .. "--format=csv,noheader,nounits"):format(index)):match "%d+")
  return seen
end

local function source_of(name, i)
  if name == "broken" then return "extern \"C\" __global__ void saxpy(", "compile_error" end
  local folder = files.dirname(files.dirname(debug.getinfo(1, "S").source:sub(2)))
  local text = files.read(("%s/candidates/saxpy/%s.cu"):format(folder, name))
  local word = text:match "^[^\n]*: *([%w_]+)%."
  return ("%s\n// candidate %d of process %d\n"):format(text, i, core.getpid()), word or "passed"
end

-- Ends a process once it has worked for a tenth of a second more than by now.
local KILLER = [[
worked() { set -- $(cat /proc/PID/stat) && echo $((${14} + ${15})); }
(a=$(worked); for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
  sleep 0.1; [ $(worked) -ge $((a + 10)) ] && break
done; kill -SEGV PID) >/dev/null 2>&1 &]]

-- Kill the spare that waits: at once, or while a candidate runs in it.
local function befall(session, what)
  local pid = session.pool.spares[1].worker:pid()
  if what == "spare" then
    os.execute(("kill -KILL %d"):format(pid))
  elseif what == "kill" then
    os.execute((KILLER:gsub("PID", pid)))
  end
end

-- Whether a record is what it should be; a crash of its process is, where one was caused.
local function judged(rec, turn, wanted, result)
  if turn[2] == "kill" and rec.verdict == "launch_error" and rec.reason:find "SIGSEGV" then
    result.crashes = result.crashes + 1
    return true
  end
  return rec.verdict == wanted
end

-- Note how long a candidate took, by what it is; from those that passed undisturbed, the Show.
local function note(result, turn, rec, seconds)
  local kind = turn[2] or turn[1]
  local sum = result.kinds[kind] or { count = 0, seconds = 0 }
  result.kinds[kind] = { count = sum.count + 1, seconds = sum.seconds + seconds }
  if rec.verdict ~= "passed" or turn[2] then return end
  table.insert(result.seconds, seconds)
  if rec.time and rec.time.relative_half <= PRECISE then result.precise = result.precise + 1 end
end

-- What must fail is asked at one small size: its verdict is the same, and 200 would take minutes.
local SMALL = { n = 1000 }

local AHEAD = 3 -- processes for those that are not timed, which start while others are judged

-- Nothing starts or ends while a candidate is timed, and none waits for its process; before the
-- others, which fail, nobody waits for anything but the process that something is to befall.
local function check_one(sessions, task, path, turn)
  local right = turn[1] == "right"
  local session = right and sessions.whole or sessions.small
  sessions.whole:stand_by(1)
  sessions.small:stand_by(AHEAD)
  if right or turn[2] then
    sessions.whole:settle()
    sessions.small:settle()
  end
  if turn[2] then befall(session, turn[2]) end
  local since = core.now()
  local rec = session:check(task, impl.candidate(path), right and {} or SMALL)
  return rec, core.now() - since
end

--- Check `count` candidates.
-- @tparam[opt] function progress called with how many are done and the result so far
-- @treturn table {wrong = list of texts, seconds = of each that passed undisturbed, sorted,
--   precise = how many of them were timed to 0.25 %, kinds = {count, seconds} by what it was,
--   crashes = how many, first, last = footprints}
function series.run(device, count, progress)
  local task = catalogue.find("vector/saxpy")[1]
  local folder = os.tmpname()
  os.remove(folder)
  core.mkdir_all(folder)
  local result = { device = device, wrong = {}, seconds = {}, precise = 0, kinds = {}, crashes = 0 }
  local how = { device = device, budget = 0.2, timeout = TIMEOUT }
  result.first = footprint(device)
  local whole <close> = judge.session(how)
  local small <close> = judge.session(how)
  for i = 1, count do
    local turn = TURN[(i - 1) % #TURN + 1]
    local source, wanted = source_of(turn[1], i)
    local path = ("%s/c%d.cu"):format(folder, i)
    core.write_file(path, source)
    local rec, seconds = check_one({ whole = whole, small = small }, task, path, turn)
    if judged(rec, turn, wanted, result) then
      note(result, turn, rec, seconds)
    else
      result.wrong[#result.wrong + 1] = ("candidate %d, %s: %s instead of %s: %s"):format(i,
        turn[1], rec.verdict, wanted, rec.reason)
    end
    os.remove(path)
    if i == WARM then result.first.kb = footprint(device).kb end
    if progress and i % #TURN == 0 then progress(i, result) end
  end
  whole:close()
  small:close()
  result.last = footprint(device)
  os.remove(folder)
  table.sort(result.seconds)
  return result
end

--- What is wrong with a result: a list of texts.
function series.faults(result)
  local list, a, b = { table.unpack(result.wrong) }, result.first, result.last
  local function check(ok, text, ...)
    if not ok then list[#list + 1] = text:format(...) end
  end
  check(result.crashes > 0, "no candidate crashed")
  check(b.zombies == 0, "%d zombies", b.zombies)
  check(b.descriptors <= a.descriptors, "descriptors: %d, then %d", a.descriptors, b.descriptors)
  check(b.kb <= a.kb + GROWTH_KB, "memory: %d kB, then %d kB", a.kb, b.kb)
  if result.device:match "^cuda" then
    local told = a.gpu_mb and b.gpu_mb
    check(told, "nvidia-smi does not tell how much memory of the GPU is in use")
    check(not told or b.gpu_mb <= a.gpu_mb + GPU_GROWTH_MB,
      "GPU: %s MB, then %s MB", a.gpu_mb, b.gpu_mb)
  end
  return list
end

-- "bounds 0.31, broken 0.05": mean seconds of each kind.
local function by_kind(kinds)
  local names, parts = {}, {}
  for name in pairs(kinds) do names[#names + 1] = name end
  table.sort(names)
  for i, name in ipairs(names) do
    parts[i] = ("%s %.2f"):format(name, kinds[name].seconds / kinds[name].count)
  end
  return table.concat(parts, ", ")
end

local function main(device, count)
  local since = core.now()
  local result = series.run(device, count, function(i, so_far)
    for j, text in ipairs(so_far.wrong) do so_far.wrong[j] = text:gsub("\n.*", "") end
    print(("%d candidates in %.0f s, %d wrong verdicts%s"):format(i, core.now() - since,
      #so_far.wrong, so_far.wrong[1] and ": " .. so_far.wrong[#so_far.wrong] or ""))
    io.stdout:flush()
  end)
  local faults, a, b = series.faults(result), result.first, result.last
  for _, text in ipairs(faults) do print("not ok " .. text) end
  print(("%d candidates in a row: from file to verdict %.3f s (median of %d that passed, slowest "
    .. "%.3f s)"):format(count, result.seconds[(#result.seconds + 1) // 2], #result.seconds,
    result.seconds[#result.seconds]))
  print(("%d of the %d timed to 0.25%%; seconds by kind: %s"):format(result.precise,
    #result.seconds, by_kind(result.kinds)))
  print(("memory %d kB, then %d kB; GPU %s MB, then %s MB; %d zombies, %d crashes"):format(
    a.kb, b.kb, a.gpu_mb or "?", b.gpu_mb or "?", b.zombies, result.crashes))
  print(("%d passed, %d failed"):format(count + 5 - #faults, #faults))
  return #faults == 0 and 0 or 1
end

if arg and arg[1] and arg[0]:match "series%.lua$" then
  os.exit(main(arg[1], math.tointeger(tonumber(arg[2])) or 200))
end
return series
