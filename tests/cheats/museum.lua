--- The exhibits of the cheat museum: which files they are, and what their headers say. An exhibit
-- is a candidate (a source file, a folder with plan.lua, or a .lua file that writes one); its first
-- comment lines say what it does and then, as `field: value`, what must become of it (README.md).

local core = require "perigee.core"
local files = require "perigee.files"
local verdict = require "perigee.verdict"

local museum = {}

museum.FOLDER = "tests/cheats"

local COMMENT = { cu = "//", ptx = "//", rs = "//", py = "#", lua = "--" }
local FIELDS = { task = true, verdict = true, reason = true, device = true, gpu = true,
  slow = true, gains = true, finding = true, needs = true }
local DEVICES = { ["sim"] = true, ["sim:check"] = true, clock = true, gpu = true }

local WORDS = {}
for _, word in ipairs(verdict.WORDS) do WORDS[word] = true end

-- The comment at the head of a file: its text, and its fields.
local function header_of(path)
  local mark = COMMENT[files.extension(path)]
  local doc, fields = {}, {}
  for line in (core.read_file(path) .. "\n"):gmatch "([^\n]*)\n" do
    if line:sub(1, #mark) ~= mark then break end
    local text = line:sub(#mark + 1):match "^%-?%s*(.-)%s*$"
    local field, value = text:match "^(%l+): (.+)$"
    if field and FIELDS[field] then fields[field] = value
    elseif not next(fields) then doc[#doc + 1] = text
    else fields.broken = ("'%s' is no field of a header"):format(text) end
  end
  return table.concat(doc, " "), fields
end

-- Names in the last column of README's second table, as keys.
local function listed()
  local names = {}
  local text = core.read_file(museum.FOLDER .. "/README.md"):match "## What is where\n(.*)"
  for row in text:gmatch "\n|[^|\n]*|([^\n]*)|" do
    for list in row:gmatch "`([^`]*)`" do
      for name in list:gmatch "%S+" do names[name] = true end
    end
  end
  return names
end

local LISTED = listed()

-- What is wrong with a header, or nil.
local function complaint(one)
  if one.broken then return one.broken end
  if not one.honest and not LISTED[one.name] then
    return "the table in README.md does not have it"
  end
  if one.doc == "" then return "the header does not say what it does" end
  for _, field in ipairs { "task", "verdict" } do
    if not one[field] then return ("the header has no `%s:`"):format(field) end
  end
  if not WORDS[one.verdict] then return ("'%s' is no verdict"):format(one.verdict) end
  if one.gains and not one.gains:match "^nothing over %S+$" then
    return "write `gains: nothing over NAME`, of an honest kernel"
  end
  if one.honest ~= (one.verdict == "passed") and not one.gains then
    return one.honest and "an honest kernel must pass" or "a cheat must not pass"
  end
  if not one.honest and not one.reason and not one.gains then
    return "the header has no `reason:`, a word of the record by which it is the right verdict"
  end
  if not DEVICES[one.device] then return ("'%s' is no device of the museum"):format(one.device) end
  local word = one.gpu and one.gpu:match "^[%l_]+"
  if word and word ~= "no" and not WORDS[word] then
    return ("'%s' is neither a verdict nor `no`, with why"):format(one.gpu)
  end
  return nil
end

-- The file whose head is the header: the plan of a folder.
local function exhibit(path, honest)
  local folder = files.is_folder(path)
  local extension = files.extension(path)
  if not folder and not COMMENT[extension] then return nil end
  local doc, one = header_of(folder and files.join(path, "plan.lua") or path)
  one.name = files.basename(path):gsub("%.%w+$", "")
  one.path, one.doc, one.honest = path, doc, honest
  one.makes = not folder and extension == "lua"
  one.device = one.device or "sim:check"
  one.complaint = complaint(one)
  return one
end

local NOT_EXHIBITS = { ["museum.lua"] = true, ["run.lua"] = true, honest = true, tasks = true }

-- What README lists and nobody shows: a failure with the name.
local function missing(list)
  local there = {}
  for _, one in ipairs(list) do there[one.name] = true end
  for name in pairs(LISTED) do
    if not there[name] then
      list[#list + 1] = { name = name, path = museum.FOLDER, doc = "", honest = false,
        complaint = "the table in README.md has it, and there is no such file" }
    end
  end
end

local function collect(folder, honest, list)
  for _, name in ipairs(core.list_dir(folder)) do
    local one = not NOT_EXHIBITS[name] and exhibit(files.join(folder, name), honest)
    if one then list[#list + 1] = one end
  end
  return list
end

--- All exhibits, cheats first, each kind in order of names.
-- @treturn table list of {name, path, doc, honest, makes = whether the file writes the candidate,
--   task = task and options as on the command line, device, verdict, reason, gpu, complaint}
function museum.exhibits()
  local list = collect(museum.FOLDER, false, {})
  missing(list)
  collect(files.join(museum.FOLDER, "honest"), true, list)
  table.sort(list, function(a, b)
    if a.honest ~= b.honest then return b.honest end
    return a.name < b.name
  end)
  return list
end

return museum
