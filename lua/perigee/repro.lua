--- Running one record again from what it stores: its sources, options, plan, parameters, knobs and
-- the seed of its inputs.
-- @module perigee.repro

local core = require "perigee.core"
local case = require "perigee.case"
local catalogue = require "perigee.catalogue"
local experts = require "perigee.experts"
local files = require "perigee.files"
local impl = require "perigee.impl"
local params = require "perigee.params"
local record = require "perigee.record"
local sources = require "perigee.sources"
local store = require "perigee.store"
local validate = require "perigee.validate"

local repro = {}

-- ---- finding the record ----

local function from_lines(path, wanted)
  local found, count, first = nil, 0, nil
  for number, whole in store.lines(path) do
    count = count + 1
    first = first or whole
    if number == wanted then found = whole end
  end
  if wanted and not found then
    core.error("not_found", ("no record in line %d"):format(wanted),
      ("the file has %d records"):format(count), path)
  end
  if not wanted and count ~= 1 then
    core.error("invalid", ("'%s' has %d records"):format(path, count),
      count > 0 and ("name one by its line: %s:1"):format(path) or nil)
  end
  return found or first
end

--- The record that is meant: "FILE.jsonl", "FILE.jsonl:LINE", or its number in the store.
-- @tparam string name
-- @tparam string db path of the store
-- @treturn table the record with its sources in it
-- @raise "not_found", "invalid", "syntax"
function repro.find(name, db)
  if files.is_file(name) then return from_lines(name, nil) end
  local path, line = name:match("^(.+):(%d+)$")
  if path then return from_lines(files.find(path, { "." }), math.tointeger(tonumber(line))) end
  local id = name:match("^#?(%d+)$")
  if not id then files.find(name, { "." }) end
  local opened <close> = store.open(db, { readonly = true })
  return opened:record(math.tointeger(tonumber(id)))
end

-- ---- the sources ----

local function text_from_store(sha, db)
  if not files.is_file(db) then return nil end
  local ok, opened = pcall(store.open, db, { readonly = true })
  if not ok then return nil end
  local text = opened:source(sha)
  opened:close()
  return text
end

-- A plain --json line has no texts: the store may, or the file itself, when it is as it was.
local function text_of(whole, source, db, is_first)
  local text = whole.source_texts and whole.source_texts[source.sha] or text_from_store(source.sha,
    db)
  local path = is_first and whole.source
  for _, folder in ipairs(not text and path and { ".", core.home } or {}) do
    local there = core.read_file(files.join(folder, path))
    if there and core.sha256(there) == source.sha then return there end
  end
  return text
end

--- The bundle {name, sha, text} of a record.
-- @raise "invalid", "not_found" when the text of a source is not known
function repro.bundle(whole, db)
  if not whole.sources or #whole.sources == 0 then
    core.error("invalid", ("the record has no source: %s"):format(whole.verdict),
      "it failed before its source was read")
  end
  local bundle = {}
  for i, source in ipairs(whole.sources) do
    local text = text_of(whole, source, db, i == 1)
    if not text then
      core.error("not_found", ("the text of %s is not in the record"):format(source.name),
        "write records with --json --full or keep them with --db", whole.source)
    end
    if core.sha256(text) ~= source.sha then
      core.error("invalid", ("the text of %s is not the one that was run"):format(source.name),
        "the record was changed after it was written")
    end
    bundle[i] = { name = source.name, sha = source.sha, text = text }
  end
  return bundle
end

-- ---- what is run ----

local function task_of(whole)
  local file = whole.task_file
  if file and files.is_file(file) then
    for _, item in ipairs(catalogue.load(file)) do
      if item.name == whole.task then return item end
    end
  end
  return catalogue.find(whole.task)[1]
end

local function declared_impl(task, name)
  for _, declared in ipairs(task.impls) do
    if declared.name == name then return declared end
  end
  return nil
end

--- What was run: the implementation with the stored source in place of the present one, or the
-- candidate.
-- @tparam table task
-- @tparam table whole the record
-- @tparam table bundle its sources
-- @tparam string folder where to write them
-- @tparam table notes what is not as it was, in words, is added to it
function repro.restore(task, whole, bundle, folder, notes)
  local path = sources.write(bundle, folder)
  local declared = whole.kind ~= "check" and declared_impl(task, whole.impl)
  local present = declared and impl.resolve(task, declared)
  if present and experts.is(present) then -- a record is data: its host code is never run
    if core.sha256(files.read(present.path)) ~= bundle[1].sha then
      notes[#notes + 1] = "the expert's file has changed since; the present one was run"
    end
    return present
  end
  if declared then
    return setmetatable({ path = path, source = bundle[1].text },
      { __index = present })
  end
  if files.is_file(files.join(folder, "plan.lua")) then
    path = folder
  end
  local one = impl.candidate(path)
  one.name, one.shown = whole.impl, whole.source -- the name is in the PTX
  return one
end

local function parameters(task, whole, purpose)
  local set = {}
  for name, value in pairs(whole.params or {}) do
    if task.params[name] then set[name] = value end
  end
  local p = task:resolve { purpose = purpose, set = set }
  return p, params.text(p) == params.text(whole.params or {})
end

-- One case with the stored inputs and the stored plan.
local function evaluate(session, task, one, whole, p, notes)
  local arm = { impl = impl.choose(one, whole.knobs), p = p, kind = whole.kind }
  session:build({ arm })
  arm.case = session:complete(case.make(task, p, whole.input_seed))
  validate.prepare(task)
  arm.stored_steps = whole.plan
  if not arm.failure then
    arm.failure = session:verify(arm, session:sets_for(arm.case, { arm }))
  end
  if not arm.failure then session:time { arm } end
  if arm.runner then session.pool:release(arm.runner) end
  if arm.plan_changed then
    notes[#notes + 1] = "the task would launch this otherwise by now; the stored plan was run"
  end
  return record.of(arm, session)
end

--- Run a record again.
-- @tparam table whole what repro.find returned
-- @tparam table session a judge's session with the record's seed
-- @tparam string db path of the store, where source texts may be
-- @treturn table the new record
-- @treturn table what belongs to it, see record.of
-- @treturn table notes: what is not as it was, in words
-- @treturn table the task
function repro.run(whole, session, db)
  local task, notes, folder = task_of(whole), {}, files.temporary()
  local _ <close> = setmetatable({}, { __close = function() files.remove(folder) end })
  local one = repro.restore(task, whole, repro.bundle(whole, db), folder, notes)
  local rec, extra
  if whole.kind == "check" then
    rec, extra = session:check(task, one, { set = whole.set, knobs = whole.knobs })
  else
    local p, same = parameters(task, whole, session.purpose)
    if not same then
      notes[#notes + 1] = ("the task's parameters are no longer the same: %s"):format(
        params.text(p))
    end
    rec, extra = evaluate(session, task, one, whole, p, notes)
  end
  local gpu = session:device().name
  if whole.gpu and whole.gpu ~= gpu then
    notes[#notes + 1] = ("it ran on %s, this is %s"):format(whole.gpu, gpu)
  end
  if whole.ptx_sha and rec.ptx_sha and whole.ptx_sha ~= rec.ptx_sha then
    notes[#notes + 1] = "the compiler made other PTX of the same source"
  end
  return rec, extra, notes, task
end

return repro
