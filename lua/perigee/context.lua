--- What a validator gets: the arrays of one case, and methods for what most validators do.
-- Fields: params, inputs, initial (arrays by name: the state before the run), state, outputs (what
-- came back), expected (what the reference returned), names (buffers with an expected value, in
-- order), options, poison (the 8-byte pattern that outputs held before), task, seed (an integer
-- that no candidate has seen), touched (by name, where it is known: first and end bytes of what
-- differs from how a state started).
-- @module perigee.context

local core = require "perigee.core"
local params = require "perigee.params"
local pattern = require "perigee.pattern"
local suggest = require "perigee.suggest"

local context = {}

local Context = {}
Context.__index = Context

-- The arrays of `list`, noting in `seen` which are looked at: an output that no validator looks at
-- is a mistake of the task.
local function watched(list, seen)
  return setmetatable({}, {
    __index = function(_, name)
      seen[name] = true
      return list[name]
    end,
    __pairs = function()
      for name in pairs(list) do seen[name] = true end
      return next, list, nil
    end,
  })
end

--- Make one.
-- @tparam table fields see above, and seen (a table: names of buffers that were looked at)
function context.new(fields)
  local outputs = fields.outputs or {}
  fields.output_names = params.names(outputs)
  fields.seen = fields.seen or {}
  fields.outputs = watched(outputs, fields.seen)
  fields.state = watched(fields.state or {}, fields.seen)
  return setmetatable(fields, Context)
end

local function fail(self, code, hint, text, ...)
  core.error(code, text:format(...), hint, self.task.where)
end

local function names_of(...)
  local names = {}
  for _, list in ipairs { ... } do
    for name in pairs(list) do names[#names + 1] = tostring(name) end
  end
  table.sort(names)
  return names
end

--- What came back for a buffer.
-- @tparam string name of an output or state
-- @treturn array
-- @raise "not_found"
function Context:array(name)
  local array = self.outputs[name] or self.state[name]
  if array then return array end
  local names = names_of(self.state)
  table.move(self.output_names, 1, #self.output_names, #names + 1, names)
  return fail(self, "not_found", suggest.hint(tostring(name), names, "buffers"),
    "'%s' is no output or state", tostring(name))
end

--- What the candidate got: an input, or state as it was before the run.
-- @raise "not_found"
function Context:input(name)
  return self.initial[name] or fail(self, "not_found",
    suggest.hint(tostring(name), names_of(self.initial), "inputs"),
    "'%s' is no input", tostring(name))
end

local function poison_of(self, name)
  return suggest.has(self.output_names, name) and self.poison or nil
end

local function target(self, name)
  local want, got = self.expected[name], self.outputs[name] or self.state[name]
  if not want or not got then
    fail(self, "not_found", "of = the name of an output that the reference returns",
      "'%s' has no expected value or is no output", name)
  end
  return { name = name, want = want, got = got, poison = poison_of(self, name) }
end

--- The buffers to judge: the option `of` (a name or a list), else all that have an expected value.
-- @treturn table list of {name, want, got, poison (of outputs)}
-- @raise "not_found" when an output would go unjudged, since then anything would pass
function Context:targets()
  local of, list = self.options.of, {}
  for _, name in ipairs(type(of) == "string" and { of } or of or self.names) do
    list[#list + 1] = target(self, name)
  end
  for _, name in ipairs(of and {} or self.output_names) do
    if self.expected[name] == nil then
      fail(self, "not_found", 'return it, or say with of = "..." what is judged',
        "the reference returns nothing for output '%s'", name)
    end
  end
  if #list == 0 then
    fail(self, "not_found", "return expected values by the names of outputs or state",
      "the reference returns nothing that a buffer could be compared with")
  end
  return list
end

--- Names of the option `of`, or of every output: for validators that need no expected value.
-- @treturn table list of names
function Context:of()
  local of = self.options.of
  if of == nil then return self.output_names end
  return type(of) == "table" and of or { of }
end

local function within(tolerance)
  return tolerance.described or ("within rtol %.2g, atol %.2g"):format(tolerance.rtol or 0,
    tolerance.atol or 0)
end

local PLAIN = { number = true, boolean = true, string = true }

local function plain(value)
  return PLAIN[type(value)] and value or tostring(value)
end

-- The first wrong elements, each with its place.
local function elements(cmp, shape)
  local list = core.json_array {}
  for i, one in ipairs(cmp.mismatch) do
    list[i] = { index = pattern.index(one.index, shape), expected = plain(one.want),
      got = plain(one.got) }
  end
  return list
end

--- Compare what came back with what was expected and say what is wrong, where, and in what pattern.
-- @param what a name, or {name, want, got, poison} as Context:targets gives it
-- @tparam[opt] table tolerance of pg.compare: rtol, atol, ulp, nan_equal, scale, overflow; and
--   described (words for what was checked). Without one, elements must be equal.
-- @treturn table {name, ok, detail, verdict, reason, pattern, error = the norm of what is off over
--   the norm of what was expected, 0 where elements must be equal, cmp = what pg.compare returned,
--   elements = the first wrong ones {index, expected, got}}
function Context:compare(what, tolerance)
  local one = type(what) == "table" and what or target(self, what)
  local t = {}
  for _, name in ipairs { "rtol", "atol", "ulp", "nan_equal", "scale", "overflow" } do
    t[name] = (tolerance or {})[name]
  end
  t.poison = one.poison
  local cmp = core.compare(one.want, one.got, t)
  if cmp.bad > 0 then
    local marks = core.array("u64", (cmp.count + 63) // 64)
    t.marks = marks
    core.compare(one.want, one.got, t)
    local found = pattern.failure { name = one.name, want = one.want, got = one.got, cmp = cmp,
      marks = marks, inputs = self.inputs, tolerance = t }
    return { name = one.name, ok = false, detail = found.reason, verdict = found.verdict,
      reason = found.reason, pattern = found.pattern, cmp = cmp,
      elements = elements(cmp, one.got.shape) }
  end
  local detail = tolerance and ("%d elements %s; largest error %.3g (%.3g relative)"):format(
    cmp.count, within(tolerance), cmp.max_abs, cmp.max_rel)
    or ("%d elements equal"):format(cmp.count)
  return { name = one.name, ok = true, detail = detail, cmp = cmp,
    error = cmp.rms_rel }
end

--- How many elements of an output were never written. Outputs held a pattern before the run; a few
-- small elements may equal it by chance, so only elements of 4 bytes or more are counted.
-- @tparam string name of an output
-- @tparam[opt] integer count look at the first `count` elements only
-- @treturn integer
function Context:unwritten(name, count)
  local got = self:array(name)
  if count then got = got:slice(0, count) end
  local poison = poison_of(self, name)
  if not poison or got.count == 0 or got.nbytes // got.count < 4 or got.struct then return 0 end
  return core.count_poison(got, poison)
end

--- A check that holds, or one that does not.
-- @tparam string name of what was checked
-- @tparam string detail what was found
function Context.pass(_, name, detail)
  return { name = name, ok = true, detail = detail }
end

--- @tparam[opt] string verdict default "wrong_result"
function Context.fail(_, name, reason, verdict)
  return { name = name, ok = false, detail = reason, reason = reason,
    verdict = verdict or "wrong_result" }
end

--- The result of a list of checks: the first that fails decides.
-- @tparam table checks of Context:compare, pass and fail
-- @tparam[opt] table facts numbers to show
function Context.result(_, checks, facts)
  local result = { ok = true, checks = {}, facts = facts }
  for i, check in ipairs(checks) do
    result.checks[i] = { name = check.name, ok = check.ok, detail = check.detail,
      error = check.error, elements = check.elements }
    if not check.ok and result.ok then
      result.ok, result.verdict, result.reason = false, check.verdict, check.reason
      result.pattern = check.pattern
    end
  end
  return result
end

--- Refuse options that the validator does not know.
-- @tparam table known name -> types it may have, separated by spaces; or a list of allowed words
function Context:check_options(known)
  for name, value in pairs(self.options) do
    local allowed = known[name]
    if not allowed then
      fail(self, "invalid", suggest.hint(tostring(name), params.names(known), "options"),
        "unknown option '%s'", tostring(name))
    end
    if type(allowed) == "table" then
      if not suggest.has(allowed, value) then
        fail(self, "invalid", suggest.hint(tostring(value), allowed, "values"),
          "option %s: unknown value '%s'", name, tostring(value))
      end
    elseif not allowed:find(type(value), 1, true) then
      fail(self, "invalid", nil, "option %s: expected %s, got %s", name,
        (allowed:gsub(" ", " or ")), type(value))
    end
    if type(value) == "number" and (value ~= value or value < 0)
      and not (type(allowed) == "string" and allowed:find("signed")) then
      fail(self, "range", nil, "option %s = %s: expected a number >= 0", name, value)
    end
  end
end

return context
