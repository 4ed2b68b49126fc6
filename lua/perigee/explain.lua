--- What a record says in words: why a candidate failed, what was checked, what every figure means.
-- @module perigee.explain

local units = require "perigee.units"

local explain = {}

--- What a method of timing does, in words.
explain.METHODS = {
  cold = "cold: the GPU's L2 cache is emptied before every sample",
  hot = "hot: the caches hold what the sample before left",
  batch = "batch: several launches, each on fresh state; their time divided by their number",
  graph = "graph: launches of one CUDA graph, each on fresh state; the time of one more of them",
}

local LINES_MOST, WIDTH_MOST = 40, 200

--- The first bytes of a text: at most so many, no character cut apart, for JSON takes no half ones.
-- @tparam string text
-- @tparam integer most
function explain.head(text, most)
  return #text <= most and text or text:sub(1, utf8.offset(text, 0, most + 1) - 1)
end

-- A text that a candidate had a hand in: nothing in it may steer the terminal or flood it.
local function tame(line)
  line = line:gsub("[%c]", function(c) return c == "\t" and "  " or "?" end)
  return #line > WIDTH_MOST and explain.head(line, WIDTH_MOST) .. " ..." or line
end

local function add(lines, text, indent, all)
  local count = 0
  for line in (text .. "\n"):gmatch("([^\n]*)\n") do
    if line:find("%S") then
      count = count + 1
      if count <= LINES_MOST then lines[#lines + 1] = indent .. tame(line) end
    end
  end
  if count > LINES_MOST then
    local rest = count - LINES_MOST
    lines[#lines + 1] = ("%s... %d lines more%s"):format(indent, rest,
      all and (" (%s has them all)"):format(all) or "")
  end
end

local function place(finding)
  if not finding.kernel or finding.kernel == "" or finding.located == false then return nil end
  local parts = { "kernel " .. finding.kernel }
  if type(finding.block) == "table" then
    parts[#parts + 1] = ("block (%s)"):format(table.concat(finding.block, ", "))
  end
  if type(finding.thread) == "table" then
    parts[#parts + 1] = ("thread (%s)"):format(table.concat(finding.thread, ", "))
  end
  if finding.file and finding.file ~= "" then
    parts[#parts + 1] = ("%s:%d"):format(finding.file, finding.line or 0)
  end
  return table.concat(parts, ", ")
end

-- Everything that has not been said yet of a finding: of the first one the reason said something.
local function finding_lines(lines, finding, said, indent)
  for line in ((finding.text or "") .. "\n"):gmatch("([^\n]*)\n") do
    if line:find("%S") and not said:find(line, 1, true) then
      lines[#lines + 1] = indent .. tame(line)
      said = said .. "\n" .. line
    end
  end
  local where = place(finding)
  if where and finding.file and not said:find(finding.file, 1, true) then
    lines[#lines + 1] = indent .. where
  end
end

-- "21 of 57 cases failed: odd n only"
local function cases_line(failed)
  if not failed or failed.tried < 2 then return nil end
  local tried = failed.tried < failed.of and ("%d cases tried"):format(failed.tried)
    or ("%d cases"):format(failed.of)
  if failed.failed == failed.tried then return ("all %s failed"):format(tried) end
  return ("%d of %s failed%s"):format(failed.failed, tried,
    failed.pattern and ": " .. failed.pattern or "")
end

--- Why a record failed, as indented lines; empty for one that passed.
-- @tparam table rec a record
-- @tparam[opt] string indent
-- @tparam[opt] string|boolean all where the whole of a long text is; false: nowhere
function explain.failure(rec, indent, all)
  indent = indent or "      "
  if all == nil then all = "--json" end
  local lines = {}
  if rec.verdict == "passed" then return lines end
  if rec.reason then add(lines, rec.reason, indent, all) end
  local said = rec.reason
  for _, finding in ipairs(rec.findings or {}) do
    if not finding.severity then
      finding_lines(lines, finding, said or "", indent)
      said = nil -- each of the others has a heading of its own
    end
  end
  local hint = rec.hint ~= "" and rec.hint or nil
  if rec.compile_log and rec.compile_log:find("%S") and rec.verdict == "compile_error" then
    if hint then add(lines, hint, indent, all) end -- of the first line, before all the others
    hint = nil
    add(lines, rec.compile_log, indent, all)
  end
  if rec.failed_at then lines[#lines + 1] = indent .. "case: " .. rec.failed_at end
  local cases = cases_line(rec.failed_cases)
  if cases then lines[#lines + 1] = indent .. cases end
  if rec.dumped then lines[#lines + 1] = indent .. "files: " .. rec.dumped end
  if rec.not_dumped then lines[#lines + 1] = indent .. "files: " .. rec.not_dumped end
  if hint then add(lines, hint, indent, all) end
  return lines
end

--- What the audit found, a line each; see perigee.audit.
-- @tparam table rec a record
-- @tparam[opt] string indent
function explain.findings(rec, indent)
  local lines = {}
  for _, finding in ipairs(rec.findings or {}) do
    if finding.severity then
      lines[#lines + 1] = (indent or "      ") .. tame(("%s: %s%s"):format(finding.severity,
        finding.text, finding.where and (" (%s)"):format(finding.where) or ""))
    end
  end
  return lines
end

--- The device and what compiled for it, in one line.
function explain.machine(rec)
  local parts = { rec.device }
  if rec.gpu and rec.gpu ~= "" then parts[#parts + 1] = rec.gpu end
  if rec.versions.driver then parts[#parts + 1] = "driver " .. rec.versions.driver end
  if rec.committed_ptx then
    local why = (rec.lang == "rust" or rec.lang == "triton") and not rec.stale_ptx
      and "built ahead of time:" or "no compiler here: committed PTX"
    parts[#parts + 1] = ("%s %s (%s)%s"):format(why, rec.committed_ptx, rec.versions.nvrtc or "?",
      rec.stale_ptx and ", OLDER THAN ITS SOURCE" or "")
  elseif rec.versions.nvrtc then
    parts[#parts + 1] = "compiled by " .. rec.versions.nvrtc
  end
  return table.concat(parts, ", ")
end

--- Compulsory work in words, or nil.
function explain.work(rec)
  local work, parts = rec.work or {}, {}
  if work.bytes then parts[#parts + 1] = units.bytes(work.bytes) .. " of compulsory traffic" end
  if work.flops then parts[#parts + 1] = units.count(work.flops) .. " floating-point operations" end
  if work.items then parts[#parts + 1] = units.count(work.items) .. " items" end
  return #parts > 0 and table.concat(parts, ", ") or nil
end

--- What the columns of timed records mean.
-- @tparam table rec a timed record
-- @tparam[opt] string base the implementation that others are compared with
function explain.timed_legend(rec, base)
  local lines = {
    "median        time of one run, by the GPU's own clock",
    "              " .. (explain.METHODS[rec.time.method] or rec.time.method),
    "95% interval  where the true median lies with 95% certainty",
    "samples       timed runs; each wrote its own output, checked at random in between",
  }
  if rec.efficiency and rec.efficiency.bandwidth then
    lines[#lines + 1] = "GB/s          compulsory bytes over the median: what must move at least"
  end
  if rec.efficiency and rec.efficiency.compute and not rec.efficiency.bandwidth then
    lines[#lines + 1] = "Gflop/s       compulsory operations over the median"
  end
  if rec.efficiency and rec.efficiency.of_limit then
    lines[#lines + 1] = "of limit      share of what this GPU was measured to do (perigee doctor "
      .. "--measure)"
  end
  if base then
    lines[#lines + 1] = ("vs %-10s how many times faster than %s in this run"):format(base, base)
  end
  return lines
end

--- What the columns of simulated records mean.
function explain.simulated_legend(shown)
  local lines = {
    "sim time      wall time of the simulator on this computer: it says nothing about a GPU",
  }
  if shown.warp_instructions then
    lines[#lines + 1] = "warp instr.   instructions executed, one for the 32 threads of a warp"
  end
  if shown.sectors then
    lines[#lines + 1] = "sectors/req   32-byte sectors of memory that one load or store touches;"
    lines[#lines + 1] = "              32 different 4-byte values need 4 at least"
  end
  if shown.divergent then lines[#lines + 1] = "divergent     branches that split a warp" end
  if shown.collisions then
    lines[#lines + 1] = "collisions    lanes of an atomic whose address an earlier lane had"
  end
  return lines
end

--- What the numbers under the rows mean.
function explain.facts_legend(shown)
  local lines = {}
  if shown.facts then
    lines[1] = "name value    counts by the task and its validator; those that are 0 are left out"
  end
  if shown.several then
    lines[2] = "a/b/c         one for each implementation, in the order of the rows"
  end
  return lines
end

return explain
