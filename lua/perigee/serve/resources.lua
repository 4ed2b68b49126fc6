--- Resources (descriptions of tasks, records of attempts) and the texts of prompts.
-- @module perigee.serve.resources

local core = require "perigee.core"
local catalogue = require "perigee.serve.catalogue"
local prompts = require "perigee.serve.prompts"
local records = require "perigee.serve.records"

local resources = {}

local PAGE, ATTEMPTS = 100, 20

-- The newest attempts of the session, the newest first.
local function add_attempts(page, request)
  local rows = records.own(request, { limit = ATTEMPTS })
  for i = #rows, 1, -1 do
    local row = rows[i]
    page[#page + 1] = { uri = ("perigee://attempts/%d"):format(row.attempt), name = ("%d, %s")
      :format(row.attempt, row.name or "?"), description = ("%s: %s"):format(row.task, row.verdict),
      mimeType = "application/json" }
  end
end

--- A page of the tasks; behind the last of them the newest attempts.
function resources.list(params, request)
  local tasks, page = catalogue.all(), core.json_array {}
  local from = params.cursor and math.tointeger(tonumber(params.cursor)) or 0
  for i = from + 1, math.min(#tasks, from + PAGE) do
    local task = tasks[i]
    page[#page + 1] = { uri = "perigee://tasks/" .. task.name, name = task.name,
      description = task:summary(), mimeType = "text/plain" }
  end
  local after = from + #page
  if after >= #tasks then add_attempts(page, request) end
  return { resources = page, nextCursor = after < #tasks and tostring(after) or nil }
end

local function content(uri, kind, text)
  return { contents = core.json_array { { uri = uri, mimeType = kind, text = text } } }
end

--- What a URI names. @raise "not_found"
function resources.read(params, request)
  local uri = params.uri
  local task = uri:match "^perigee://tasks/(.+)$"
  if task then return content(uri, "text/plain", (catalogue.description(task))) end
  local number = uri:match "^perigee://attempts/(%d+)$"
  if number and #number < 16 then
    local whole = records.attempt(math.tointeger(tonumber(number)), request)
    return content(uri, "application/json", core.json_encode(whole, true))
  end
  core.error("not_found", ("no resource '%s'"):format(uri),
    "perigee://tasks/NAME or perigee://attempts/NUMBER")
end

-- An attempt with its sources and what was said of it.
local function attempt_text(number, request)
  local whole = records.attempt(number, request)
  local parts = { table.concat(require("perigee.serve.outcome").lines(whole,
    require("perigee.serve.outcome").of(whole, number)), "\n") }
  for _, source in ipairs(whole.sources or {}) do
    parts[#parts + 1] = ("%s:\n```\n%s\n```"):format(source.name,
      whole.source_texts and whole.source_texts[source.sha] or "")
  end
  return table.concat(parts, "\n\n")
end

--- The messages of a prompt. @raise "not_found", "invalid"
function resources.prompt(params, request)
  local given, attempt = params.arguments, nil
  if given.attempt then
    local number = math.tointeger(tonumber(given.attempt))
    if not number then
      core.error("invalid", ("attempt: '%s' is no number"):format(given.attempt), "see history")
    end
    attempt = attempt_text(number, request)
  end
  local text = prompts.text(params.name, (catalogue.description(given.task)), attempt)
  return { description = prompts.find(params.name).description, messages = core.json_array {
    { role = "user", content = { type = "text", text = text } } } }
end

return resources
