--- Pipelines: `{ propose = function(history) -> candidates, observe = function(record) }`. A
-- candidate is a table of knobs, or `{ knobs =, file =, note = }`: a file stands for the source
-- that is tuned, a note comes back in the history. The host evaluates, stores and counts.
-- @module perigee.pipeline

local core = require "perigee.core"
local chunk = require "perigee.chunk"
local errors = require "perigee.errors"
local files = require "perigee.files"
local search = require "perigee.search"
local suggest = require "perigee.suggest"

local pipeline = {}

local function check(value, where)
  if type(value) ~= "table" or type(value.propose) ~= "function" then
    core.error("invalid", "a pipeline returns a table with a function propose",
      "return { propose = function(history) ... end }", where)
  end
  if value.observe ~= nil and type(value.observe) ~= "function" then
    core.error("invalid", ("observe: expected a function, got %s"):format(type(value.observe)), nil,
      where)
  end
  return value
end

--- The pipeline called `name`: a built-in search, or a Lua file.
-- @treturn table {name, shown, propose, observe, whole = it ends by itself, blind = it does not
--   look at what came out, digest}
-- @raise "not_found" with the nearest name, "syntax", "invalid"
function pipeline.find(name)
  for _, known in ipairs(search.NAMES) do
    if name == known then
      local one = search[name]()
      return { name = name, shown = name, propose = one.propose, whole = one.whole,
        blind = one.blind, digest = name }
    end
  end
  if not name:match("%.lua$") then
    core.error("not_found", ("unknown pipeline '%s'"):format(name),
      suggest.hint(name, search.NAMES, "a file.lua, or a built-in"))
  end
  local path = files.find(name, { "." })
  local one = check(chunk.run(path), files.shown(path))
  return {
    name = one.name or files.basename(path):gsub("%.lua$", ""), shown = files.shown(path),
    where = files.shown(path), propose = one.propose, observe = one.observe,
    folder = files.dirname(path), digest = core.sha256(files.read(path)),
  }
end

-- A file or a candidate's folder, beside the pipeline or in the current folder.
local function source_of(self, name)
  for _, folder in ipairs { self.folder or ".", "." } do
    local path = type(name) == "string" and files.join(folder, name)
    if path and files.is_folder(path) then return path end
  end
  return files.find(tostring(name), { self.folder or ".", "." }, self.where)
end

local function normal(self, given, number)
  if type(given) ~= "table" then
    core.error("invalid", ("propose: candidate #%d is a %s"):format(number, type(given)),
      "a candidate is a table of knobs: { BLOCK = 256 }", self.where)
  end
  if given.knobs == nil and given.file == nil then return { knobs = given } end
  for field in pairs(given) do
    if field ~= "knobs" and field ~= "file" and field ~= "note" then
      core.error("invalid", ("propose: candidate #%d: unknown field '%s'"):format(number,
        tostring(field)), "fields: knobs, file, note", self.where)
    end
  end
  return { knobs = given.knobs or {}, note = given.note,
    path = given.file and source_of(self, given.file) }
end

--- Candidates that a pipeline proposes, in one form: list of {knobs, path, note}.
-- @raise what propose raises, "invalid" for what is no candidate
function pipeline.propose(self, history)
  local given = errors.call("propose", self.where, self.propose, history)
  if given ~= nil and type(given) ~= "table" then
    core.error("invalid", ("propose: expected a list of candidates, got %s"):format(type(given)),
      "return {} to end", self.where)
  end
  local list = {}
  for number, one in ipairs(given or {}) do list[number] = normal(self, one, number) end
  return list
end

--- Tell a pipeline what came out. @raise what observe raises
function pipeline.observe(self, rec)
  if self.observe then errors.call("observe", self.where, self.observe, rec) end
end

return pipeline
