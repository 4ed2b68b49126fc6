--- Facts of PTX: what the instructions of a candidate's kernels say of it, by names that tasks may
-- require or forbid. A fact is that an instruction is there where control may come to it, not that
-- it was executed.
-- @module perigee.facts

local core = require "perigee.core"
local suggest = require "perigee.suggest"

local facts = {}

-- ---- matrix instructions ----

local ELEMENT = {
  f16 = "f16", bf16 = "bf16", tf32 = "tf32", f64 = "f64", s8 = "s8", u8 = "s8", s4 = "s4",
  u4 = "s4", b1 = "b1", e4m3 = "f8", e5m2 = "f8", f32 = true, s32 = true,
}

-- Types in the order they stand: those of the result and of the elements that are multiplied.
local function matrix_types(i)
  local list = {}
  for _, mod in ipairs(i.mods) do
    if ELEMENT[mod] then list[#list + 1] = mod end
  end
  -- wmma names result and addend only where both factors are f16.
  if i.op == "wmma" and #list == 2 then return list[1], "f16" end
  return list[1], list[2]
end

local function is_matrix(i)
  return i.op == "mma" or ((i.op == "wgmma" or i.op == "tcgen05") and i.text:find("%.mma"))
    or i.op == "wmma" and i.mods[1] == "mma"
end

local function multiplies(element)
  return function(i)
    local _, factor = matrix_types(i)
    return is_matrix(i) and ELEMENT[factor] == element
  end
end

-- ---- scalar instructions ----

local ARITHMETIC = { add = true, sub = true, mul = true, fma = true, mad = true, div = true,
  rcp = true, sqrt = true, rsqrt = true, ex2 = true, lg2 = true, tanh = true }

local function arithmetic(...)
  local types = { ... }
  return function(i)
    if not ARITHMETIC[i.op] then return false end
    for _, name in ipairs(types) do
      if i.has[name] then return true end
    end
    return false
  end
end

-- Sums of scalar instructions are found by core.ptx_facts: one addition is none.
local function sums_in_half(i)
  if is_matrix(i) then return (matrix_types(i)) == "f16" end
  return (i.op == "atom" or i.op == "red") and i.has.add and (i.has.f16 or i.has.f16x2)
end

local function op(...)
  local ops = {}
  for _, name in ipairs { ... } do ops[name] = true end
  return function(i) return ops[i.op] end
end

-- ---- memory ----

local function shared(i)
  return i.has.shared or i.has["shared::cta"] or i.has["shared::cluster"]
end

-- Global memory, named or by a generic address.
local function global(i)
  return not (shared(i) or i.has["local"] or i.has.const or i.text:find("%.param"))
end

local ATOMIC = { atom = true, red = true }
local MEMORY = { ld = true, st = true, ldu = true }

-- Hints by which lines outlast what is between two runs, and those that do not reach so far.
local PERSISTS = { ["L2::evict_last"] = true }
local HINTS = { cs = true, cg = true, lu = true, cv = true, wt = true, ["L1::no_allocate"] = true,
  ["L1::evict_first"] = true, ["L1::evict_last"] = true, ["L1::evict_unchanged"] = true,
  ["L2::evict_first"] = true, ["L2::evict_normal"] = true, ["L2::evict_unchanged"] = true,
  ["L2::cache_hint"] = true, ["L2::64B"] = true, ["L2::128B"] = true, ["L2::256B"] = true }
local HINTED = { ld = true, st = true, ldu = true, atom = true, red = true, cp = true,
  createpolicy = true }

local function any(i, set)
  for _, mod in ipairs(i.mods) do
    if set[mod] then return true end
  end
  return false
end

--- All facts in the order of their lists: {name, what it says, function of an instruction {op,
-- mods, has, text}}; the last have no function, they are not found in one instruction.
facts.LIST = {
  { "tensor_core", "multiplies matrices on tensor cores", is_matrix },
  { "mma_f16", "tensor cores, f16 factors", multiplies "f16" },
  { "mma_bf16", "tensor cores, bf16 factors", multiplies "bf16" },
  { "mma_tf32", "tensor cores, tf32 factors", multiplies "tf32" },
  { "mma_f64", "tensor cores, f64 factors", multiplies "f64" },
  { "mma_f8", "tensor cores, 8-bit floating-point factors", multiplies "f8" },
  { "mma_s8", "tensor cores, 8-bit integer factors", multiplies "s8" },
  { "mma_s4", "tensor cores, 4-bit integer factors", multiplies "s4" },
  { "mma_b1", "tensor cores, 1-bit factors", multiplies "b1" },
  { "f16_accumulate", "sums in f16, by tensor cores, atomics, or scalar additions in a row",
    sums_in_half },
  { "dp4a", "dot products of four 8-bit integers", op "dp4a" },
  { "dp2a", "dot products of two 16-bit by 8-bit integers", op "dp2a" },
  { "f16_arithmetic", "scalar f16 arithmetic", arithmetic("f16", "f16x2") },
  { "bf16_arithmetic", "scalar bf16 arithmetic", arithmetic("bf16", "bf16x2") },
  { "f32_arithmetic", "scalar f32 arithmetic", arithmetic("f32", "f32x2") },
  { "f64_arithmetic", "scalar f64 arithmetic", arithmetic "f64" },
  { "fma", "fused multiply-add", op "fma" },
  { "approximate", "approximate functions (.approx, .full)", function(i)
    return i.has.approx or i.has.full
  end },
  { "flush_to_zero", "takes f32 denormals for zero (.ftz)", function(i) return i.has.ftz end },
  { "vector_access", "loads or stores 2, 4 or 8 elements at once", function(i)
    return MEMORY[i.op] and global(i) and (i.has.v2 or i.has.v4 or i.has.v8)
  end },
  { "read_only_load", "loads through the read-only path (.nc)", function(i)
    return i.op == "ld" and i.has.nc
  end },
  { "shared_memory", "uses shared memory", function(i)
    return shared(i) or i.op == "ldmatrix" or i.op == "stmatrix"
  end },
  { "local_memory", "uses local memory", function(i) return MEMORY[i.op] and i.has["local"] end },
  { "async_copy", "copies to shared memory without waiting (cp.async)", function(i)
    return i.op == "cp" and i.has.async and not i.has.bulk
  end },
  { "bulk_copy", "copies in bulk (cp.async.bulk)", function(i)
    return i.op == "cp" and i.has.bulk
  end },
  { "tensor_map", "copies boxes of tensors by a tensor map", function(i)
    return i.op == "cp" and i.has.tensor
  end },
  { "ldmatrix", "loads fragments of matrices", op("ldmatrix", "stmatrix") },
  { "global_atomic", "atomics on global memory", function(i)
    return ATOMIC[i.op] and global(i)
  end },
  { "shared_atomic", "atomics on shared memory", function(i)
    return ATOMIC[i.op] and shared(i)
  end },
  { "float_atomic", "atomics that add floating-point numbers", function(i)
    return ATOMIC[i.op] and i.has.add and (i.has.f32 or i.has.f64 or i.has.f16 or i.has.f16x2
      or i.has.bf16 or i.has.bf16x2)
  end },
  { "system_scope", "orders memory for the whole system", function(i) return i.has.sys end },
  { "ordered_access", "loads, stores or atomics with acquire or release", function(i)
    return i.has.acquire or i.has.release or i.has.acq_rel
  end },
  { "volatile_access", "volatile loads or stores", function(i) return i.has.volatile end },
  { "shuffle", "exchanges registers within a warp", op "shfl" },
  { "vote", "votes and matches within a warp", op("vote", "match", "activemask") },
  { "redux", "reduces within a warp by one instruction", op "redux" },
  { "block_barrier", "waits for the block", function(i)
    return (i.op == "bar" or i.op == "barrier") and not i.has.cluster and not i.has.warp
  end },
  { "mbarrier", "barriers in shared memory", op "mbarrier" },
  { "cluster", "works in clusters of blocks", function(i)
    return i.has.cluster or i.has["shared::cluster"] or i.op == "mapa"
  end },
  { "fence", "orders memory by a fence", op("fence", "membar") },
  { "sleep", "sleeps", op "nanosleep" },
  { "dependent_launch", "lets the next kernel start before its end", op "griddepcontrol" },
  { "prefetch", "fetches ahead into caches", function(i)
    return i.op == "prefetch" or i.op == "prefetchu" or i.op == "cp" and i.has.prefetch
  end },
  { "cache_hint", "says what caches should keep for the moment", function(i)
    return HINTED[i.op] and any(i, HINTS)
  end },
  { "cache_policy", "changes what stays in L2", function(i)
    return i.op == "applypriority" or i.op == "discard" or any(i, PERSISTS)
  end },
  { "trap", "may stop the kernel", op("trap", "brkpt") },
  { "clock", "reads a clock" },
  { "placement", "reads where it runs: %smid, %warpid, %gridid" },
  { "event_counter", "reads or triggers counters of events", op "pmevent" },
  { "print", "prints" },
  { "assert", "has assertions" },
  { "allocate", "allocates memory on the device" },
  { "child_launch", "launches kernels itself" },
  { "indirect_call", "calls functions by address" },
  { "constant_table", "reads a table with initial values" },
  { "global_state", "writes variables of the module, which outlive the launch" },
  { "size_branch", "compares a parameter with a large constant" },
}

--- Facts that say how a kernel is made: reports show them, and their loss is drift.
facts.TECHNIQUES = {
  "tensor_core", "mma_f16", "mma_bf16", "mma_tf32", "mma_f64", "mma_f8", "mma_s8", "mma_s4",
  "mma_b1", "dp4a", "dp2a", "vector_access", "shared_memory", "async_copy", "bulk_copy",
  "tensor_map", "ldmatrix", "shuffle", "redux", "mbarrier", "cluster",
}

facts.NAMES = {}
local DOC = {}
for k, fact in ipairs(facts.LIST) do
  facts.NAMES[k] = fact[1]
  DOC[fact[1]] = fact[2]
end

--- What a fact says, e.g. "dp4a" -> "dot products of four 8-bit integers"; nil for no name.
function facts.doc(name)
  return DOC[name]
end

-- Names of special registers and of functions -> fact.
local SPECIALS = {
  { "^%%clock", "clock" }, { "^%%globaltimer", "clock" }, { "^%%n?smid$", "placement" },
  { "^%%n?warpid$", "placement" }, { "^%%gridid$", "placement" }, { "^%%pm%d", "event_counter" },
}
local CALLS = {
  { "^vprintf$", "print" }, { "^__assertfail$", "assert" }, { "^malloc$", "allocate" },
  { "^free$", "allocate" }, { "^__cuda_syscall_malloc", "allocate" },
  { "^cudaLaunchDevice", "child_launch" }, { "^cudaGetParameterBuffer", "child_launch" },
  { "^cudaGraphLaunch", "child_launch" }, { "^__cudaCDP", "child_launch" },
  { "^%*$", "indirect_call" },
}

-- ---- reading a module ----

-- {op, mods, has, text} of a spelling.
local function instruction(text)
  local one = { text = text, mods = {}, has = {}, op = text:match("^[^.]*") }
  for mod in text:gmatch("%.([^.]*)") do
    one.mods[#one.mods + 1] = mod
    one.has[mod] = true
  end
  return one
end

-- "mine.cu:9" where the text says so, else the line of the PTX.
local function place(at, shown)
  if at.file then return ("%s:%d"):format(at.file, at.file_line) end
  return ("%s:%d"):format(shown, at.line)
end

local Set = {}
Set.__index = Set

function Set:add(name, at, text)
  local known = self.list[name]
  if not known then
    known = { count = 0, where = place(at, self.shown), text = text, line = at.line }
    self.list[name] = known
  end
  known.count = known.count + (at.count or 1)
  if at.line < known.line then -- the first of its kind
    known.where, known.text, known.line = place(at, self.shown), text, at.line
  end
end

-- The facts of a spelling, found once.
function Set:classify(text)
  if not self.known[text] then
    local one, names = instruction(text), {}
    for _, fact in ipairs(facts.LIST) do
      if fact[3] and fact[3](one) then names[#names + 1] = fact[1] end
    end
    self.known[text] = names
  end
  return self.known[text]
end

local function add_named(set, found, patterns)
  for name, at in pairs(found) do
    for _, pattern in ipairs(patterns) do
      if name:find(pattern[1]) then set:add(pattern[2], at, name) end
    end
  end
end

local function is_string(name)
  return name:find("^%$str") or name:find("^%.str") or name:find("^__assert")
end

-- Functions that only read what they are given.
local READERS = { vprintf = true, __assertfail = true, malloc = true, free = true }

local function passes_to_readers(fn)
  for name in pairs(fn.calls) do
    if not READERS[name] then return false end
  end
  return fn.returns == 0
end

-- A variable of the module that a kernel writes, or whose address goes where it cannot be followed.
local function add_written(set, found, variables, escapes)
  for name, at in pairs(found) do
    local variable = variables[name]
    if (name == "*" and set.has_globals) or (variable and variable.space == "global") then
      set.is_written = true
      if not (escapes and is_string(name)) then
        set:add("global_state", at, name)
        set.state[name] = variable and variable.bytes or 0
      end
    end
  end
end

-- Variables of the module that a function writes, and tables that it reads.
local function add_variables(set, fn, variables)
  add_written(set, fn.written, variables, false)
  add_written(set, fn.escaped, variables, true)
  if not passes_to_readers(fn) then add_written(set, fn.passed, variables, true) end
  for name, at in pairs(fn.read) do
    local variable = variables[name]
    for _, target in ipairs(variable and variable.points_to or {}) do
      add_written(set, { [target] = at }, variables, true)
    end
    if variable and variable.initialised and not is_string(name) and not set.state[name] then
      set:add("constant_table", at, name)
      set.tables[name] = variable.bytes
    end
  end
end

local function add_function(set, fn, variables)
  for text, at in pairs(fn.instructions) do
    for _, name in ipairs(set:classify(text)) do set:add(name, at, text) end
  end
  for text, at in pairs(fn.sums) do set:add("f16_accumulate", at, text) end
  add_named(set, fn.specials, SPECIALS)
  add_named(set, fn.calls, CALLS)
  add_variables(set, fn, variables)
  for _, test in ipairs(fn.tests) do
    local text = ("%s %s %d"):format(test.of or "?", test.comparison, test.constant)
    set:add("size_branch", test, text)
    set.tests[#set.tests + 1] = test
    test.where = place(test, set.shown)
  end
  set.test_count = set.test_count + fn.test_count
end

-- Functions that the kernels call, directly or not; a call by address may go to any.
local function reached(module, kernels)
  local list, seen = {}, {}
  local function visit(name)
    local fn = module.functions[name]
    if not fn or seen[name] then return end
    seen[name] = true
    list[#list + 1] = fn
    for called in pairs(fn.calls) do
      if called ~= "*" then visit(called) end
    end
    if not fn.calls["*"] then return end
    for other, target in pairs(module.functions) do
      if not target.entry then visit(other) end
    end
  end
  for _, name in ipairs(kernels) do visit(name) end
  return list
end

-- Names after ".global", for text that nothing else is known of.
local function declared_globals(ptx)
  local names = {}
  for declaration in ptx:gmatch("%.global%s([^;{=,]*)") do
    local name = declaration:match("([%w_$%%]+)%s*%[?[%d%s%[%]]*$")
    if name then names[name] = 0 end
  end
  return names
end

--- Read PTX.
-- @tparam string ptx
-- @tparam string shown the candidate's name, for places in PTX that names no source
-- @treturn table a module for `of`; where the text cannot be read, {unreadable = message, globals =
--   all variables that seem to be declared -> 0}
function facts.read(ptx, shown)
  local ok, module = pcall(core.ptx_facts, ptx, shown)
  if not ok then
    if type(module) ~= "table" or module.code == "out_of_memory" then error(module, 0) end
    return { unreadable = tostring(module), globals = declared_globals(ptx) }
  end
  module.shown = shown
  return module
end

--- What is true of kernels of a module, with all that they call.
-- @tparam table module what `read` returned
-- @tparam table kernels their names
-- @treturn table {facts = name -> {count = instructions in the text, where = place of the first,
--   text = its spelling or the name of what it uses}, state = variable that is written -> bytes,
--   globals = all variables of the module -> bytes where one is written, for an index may lead from
--   one to the next; tables = table that is read -> bytes, tests = list of comparisons of sizes,
--   see core.ptx_facts and perigee.audit_sizes, test_count}
function facts.of(module, kernels)
  local all, has_globals = {}, false
  for name, variable in pairs(module.variables) do
    if variable.space == "global" then
      all[name] = variable.bytes
      has_globals = has_globals or not is_string(name)
    end
  end
  local set = setmetatable({ list = {}, known = {}, state = {}, tables = {}, tests = {},
    test_count = 0, shown = module.shown, has_globals = has_globals }, Set)
  for _, fn in ipairs(reached(module, kernels)) do add_function(set, fn, module.variables) end
  for _, fact in pairs(set.list) do fact.line = nil end
  table.sort(set.tests, function(a, b) return a.line < b.line end)
  return { facts = set.list, state = set.state, globals = set.is_written and all or {},
    tables = set.tables, tests = set.tests, test_count = set.test_count }
end

-- ---- contracts ----

--- Check the facts that a task names. Alternatives stand in one text: "dp4a | mma_s8".
-- @tparam table list of texts
-- @tparam string field "require" or "forbid"
-- @raise "invalid" with the nearest name
function facts.check(list, field, where)
  for _, text in ipairs(list) do
    local count = 0
    for name in text:gmatch("[^|]+") do
      name = name:match("^%s*(.-)%s*$")
      count = count + 1
      if not DOC[name] then
        core.error("invalid", ("task: %s: no fact is called '%s'"):format(field, name),
          suggest.hint(name, facts.NAMES, "facts"), where)
      end
    end
    if count == 0 then
      core.error("invalid", ("task: %s: '%s' names no fact"):format(field, text),
        'for example "tensor_core", or "dp4a | mma_s8"', where)
    end
  end
end

--- A text of a contract in words: "dp4a (dot products of four 8-bit integers) or mma_s8 (...)".
function facts.words(text)
  local parts = {}
  for name in text:gmatch("[%w_]+") do
    parts[#parts + 1] = ("%s (%s)"):format(name, DOC[name] or "?")
  end
  return table.concat(parts, " or ")
end

local function first_of(text, found)
  for name in text:gmatch("[%w_]+") do
    if found[name] then return name, found[name] end
  end
  return nil
end

--- Hold facts against a contract.
-- @tparam table found `facts` of what `of` returned
-- @tparam table required list of texts
-- @tparam table forbidden
-- @treturn nil|table nil when it is kept; else {fact, text, where}
function facts.broken(found, required, forbidden)
  for _, text in ipairs(forbidden) do
    local name, fact = first_of(text, found)
    if name then
      return { fact = name, where = fact.where,
        text = ("the task forbids %s: %s in %s"):format(facts.words(name), fact.text, fact.where) }
    end
  end
  for _, text in ipairs(required) do
    if not first_of(text, found) then
      return { fact = text,
        text = ("the task requires %s: no kernel that is launched has it"):format(
          facts.words(text)) }
    end
  end
  return nil
end

return facts
