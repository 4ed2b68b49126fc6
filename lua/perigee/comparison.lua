--- Two sets of records side by side: which evaluations both have, how much slower or faster the
-- second is, and whether that is more than chance.
-- @module perigee.comparison

local core = require "perigee.core"
local knobs = require "perigee.knobs"
local params = require "perigee.params"

local comparison = {}

local Z95 = 1.959964 -- quantile 0.975 of the standard normal

-- ---- sets ----

--- GPUs of one machine are one kind of device; each way to simulate is another.
function comparison.kind_of(device)
  return (device or "?"):match("^cuda") or (device or "?"):match("^[^,]*")
end

local kind_of = comparison.kind_of

local function key_of(rec)
  return core.json_encode { rec.task, rec.cell or "", params.text(rec.params or {}), rec.impl or "",
    knobs.text(rec.knobs or {}), kind_of(rec.device),
    rec.tune and rec.tune.file or "" }
end

-- Whether a record replaces an earlier one of the same evaluation: what was measured side by side
-- at the end of a search beats what was measured on the way.
local function replaces(new, old)
  local final_new, final_old = new.tune and new.tune.final, old.tune and old.tune.final
  return not final_old or final_new
end

--- A set of records: the last of each evaluation.
-- @tparam function each iterator of record, {samples}
-- @treturn table {keys in order, by_key, count, replaced, gpus}
function comparison.set(each, ...)
  local set = { keys = {}, by_key = {}, count = 0, replaced = 0, gpus = {} }
  local gpus = {}
  for rec, extra in each, ... do
    local key, item = key_of(rec), { rec = rec, samples = extra and extra.samples }
    local old = set.by_key[key]
    if not old then set.keys[#set.keys + 1] = key end
    if old then set.replaced = set.replaced + 1 end
    if not old or replaces(rec, old.rec) then set.by_key[key] = item end
    set.count = set.count + 1
    if rec.gpu and not gpus[rec.gpu] then
      gpus[rec.gpu] = true
      set.gpus[#set.gpus + 1] = rec.gpu
    end
  end
  return set
end

-- ---- one evaluation ----

--- Samples as they were taken, slice by slice, for core.ratio.
-- @tparam table samples numbers, those of one slice after those of the other
-- @tparam[opt] table sizes how many each slice has (`time.slices` of a record)
-- @treturn table a list for each slice; the samples, where sizes do not say how they were taken
function comparison.slices(samples, sizes)
  local slices, first = {}, 1
  for i, size in ipairs(sizes or {}) do
    if size < 1 or size > #samples + 1 - first then return samples end
    slices[i] = table.move(samples, first, first + size - 1, 1, {})
    first = first + size
  end
  return first == #samples + 1 and slices or samples
end

-- Ratio b/a of two times with its 95% interval: of midmeans by bootstrap of the samples, else of
-- medians from their intervals, as if the logarithms were normal.
local function ratio_of(a, b)
  local ta, tb = a.rec.time, b.rec.time
  if a.samples and b.samples and #a.samples > 1 and #b.samples > 1 then
    local r = core.ratio(comparison.slices(b.samples, tb.slices),
      comparison.slices(a.samples, ta.slices))
    return r.ratio, r.ci95, "bootstrap"
  end
  local function error_of(time)
    return (math.log(time.ci95_us[2]) - math.log(time.ci95_us[1])) / (2 * Z95)
  end
  local ratio = tb.median_us / ta.median_us
  local half = Z95 * math.sqrt(error_of(ta) ^ 2 + error_of(tb) ^ 2)
  return ratio, { ratio * math.exp(-half), ratio * math.exp(half) }, "intervals"
end

local function instructions(rec)
  local counters = rec.counters
  return counters and counters.complete and counters.warp_instructions or nil
end

--- What a record says that its kernels cost: the median in microseconds, or a count that is exact.
-- @treturn nil|number,string the cost, and "time" or "instructions"
function comparison.cost(rec)
  if rec.time then return rec.time.median_us, "time" end
  local count = instructions(rec)
  if count and count > 0 then return count, "instructions" end
  return nil
end

-- What both have: a time each, or an exact count each.
local function measure(row, a, b)
  local ca, cb = instructions(a.rec), instructions(b.rec)
  if a.rec.time and b.rec.time then
    row.metric, row.a, row.b = "time", a.rec.time.median_us, b.rec.time.median_us
    row.ratio, row.ratio_ci95, row.method = ratio_of(a, b)
  elseif ca and cb and ca > 0 then
    row.metric, row.a, row.b = "instructions", ca, cb
    row.ratio = cb / ca
    row.ratio_ci95, row.method = { row.ratio, row.ratio }, "exact"
  end
end

local function status_of(row, fail_above)
  local passed_a, passed_b = row.verdict_a == "passed", row.verdict_b == "passed"
  if passed_a and not passed_b then return "broken" end
  if not passed_a and passed_b then return "mended" end
  if not passed_a then return row.verdict_a == row.verdict_b and "same" or "differs" end
  if not row.ratio then return "unmeasured" end
  local limit = 1 + fail_above / 100
  if row.ratio > limit and row.ratio_ci95[1] > 1 then return "regression" end
  if row.ratio_ci95[1] > 1 then return "slower" end
  if row.ratio_ci95[2] < 1 then return "faster" end
  return "same"
end

local function row_of(a, b, fail_above)
  local rec = (a or b).rec
  local row = { task = rec.task, cell = rec.cell, params = rec.params, impl = rec.impl,
    knobs = rec.knobs, device = kind_of(rec.device), verdict_a = a and a.rec.verdict,
    verdict_b = b and b.rec.verdict }
  if a and b then
    measure(row, a, b)
    row.status = status_of(row, fail_above)
  else
    row.status = a and "only_a" or "only_b"
  end
  return row
end

--- Compare two sets.
-- @tparam table a what comparison.set returned
-- @tparam table b
-- @tparam number fail_above percent by which b may be slower
-- @treturn table rows {task, cell, params, impl, knobs, device, verdict_a, verdict_b, metric, a, b,
--   ratio = b/a, ratio_ci95, method, status}; status is "same", "faster", "slower", "regression",
--   "broken" (b fails), "mended" (a failed), "differs" (both failed, in other ways),
--   "unmeasured", "only_a" or "only_b"
-- @treturn table how many have each status
function comparison.rows(a, b, fail_above)
  local rows, counts = {}, {}
  local function add(key)
    local row = row_of(a.by_key[key], b.by_key[key], fail_above)
    rows[#rows + 1] = row
    counts[row.status] = (counts[row.status] or 0) + 1
  end
  for _, key in ipairs(a.keys) do add(key) end
  for _, key in ipairs(b.keys) do
    if not a.by_key[key] then add(key) end
  end
  return rows, counts
end

--- Two records as one row, whatever they are called and whatever their parameters are.
-- @tparam table a record
-- @tparam table b record
-- @tparam[opt] table samples_a microseconds
-- @tparam[opt] table samples_b
-- @treturn table a row as of `rows`
function comparison.pair(a, b, samples_a, samples_b)
  local function set(one, samples)
    local plain = { task = "", verdict = one.verdict, time = one.time, counters = one.counters }
    return comparison.set(function(_, last)
      if not last then return plain, { samples = samples } end
    end)
  end
  return comparison.rows(set(a, samples_a), set(b, samples_b), 0)[1]
end

return comparison
