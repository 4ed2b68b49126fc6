--- `perigee` alone: an interactive Lua prompt with `pg` loaded. On a terminal its lines are edited,
-- completed and remembered; a pipe works too.
-- @module perigee.cli.repl

local core = require "perigee.core"
local errors = require "perigee.errors"
local files = require "perigee.files"
local names = require "perigee.cli.names"
local pretty = require "perigee.pretty"

local repl = {}

local REMEMBERED = 1000 -- lines
local PERIOD = 10000 -- instructions between looks for control-C

-- ---- lines ----

local function plain_reader()
  local interactive = core.isatty(0)
  return {
    read = function(prompt)
      if interactive then
        io.write(prompt)
        io.flush()
      end
      return io.read "l"
    end,
    add = function() end,
  }
end

-- The last lines of earlier sessions; the file is cut when it has become twice as long.
local function recall(editor, path)
  local lines = {}
  for line in (core.read_file(path) or ""):gmatch "[^\n]+" do lines[#lines + 1] = line end
  local kept = table.move(lines, math.max(1, #lines - REMEMBERED + 1), #lines, 1, {})
  for _, line in ipairs(kept) do editor:add(line) end
  if #lines > 2 * REMEMBERED then core.write_file(path, table.concat(kept, "\n") .. "\n") end
end

-- Each line is kept at once, so that a kill loses none and two prompts do not undo each other. What
-- cannot be kept is no error: it is only a convenience.
local function remember(path, line)
  core.mkdir_all(files.dirname(path))
  local file <close> = io.open(path, "a")
  if file then file:write(line, "\n") end
end

local function edited_reader(editor)
  local path = files.data "history"
  recall(editor, path)
  -- Control-C is a key like others, but not yet in the moment between a prompt and its reading.
  core.release_interrupt(true)
  return {
    edited = true,
    read = function(prompt) return editor:read(prompt) end,
    add = function(line)
      editor:add(line)
      remember(path, line)
    end,
    close = function() editor:close() end,
  }
end

-- An editor needs a terminal that can move its cursor.
local function reader()
  local term = os.getenv "TERM"
  local able = core.isatty(0) and core.isatty(1) and term and term ~= "" and term ~= "dumb"
  local editor = able and core.line_editor(names.complete)
  return editor and edited_reader(editor) or plain_reader()
end

-- ---- chunks ----

-- An expression gives its values, also after "="; an unfinished statement asks for more.
-- @treturn function|nil,string|boolean a chunk; or nil and what is wrong, false for a line that was
--   given up, nil at the end
local function read_chunk(input)
  local text
  while true do
    local line = input.read(text and ">> " or "> ")
    if line == false then return nil, false end
    if not line then
      if text then return load(text, "=stdin") end
      return nil
    end
    if line:find "%S" then input.add(line) end
    text = text and text .. "\n" .. line or line:gsub("^%s*=", "return ")
    local chunk = load("return " .. text, "=stdin")
    if chunk then return chunk end
    local message
    chunk, message = load(text, "=stdin")
    if chunk then return chunk end
    if not message:find("<eof>", 1, true) then return nil, message end
  end
end

local function show(ok, ...)
  if not ok then
    io.write("error: ", errors.text((...)), "\n")
  elseif select("#", ...) > 0 then
    local parts = table.pack(...)
    for i = 1, parts.n do parts[i] = pretty.text(parts[i]) end
    io.write(table.concat(parts, "\t"), "\n")
  end
  io.flush()
end

local function stop_when_interrupted()
  if core.interrupted() then
    debug.sethook()
    error("interrupted", 0)
  end
end

-- Control-C ends what runs, not the prompt; a second one that finds it still running (in a kernel,
-- in C) ends all.
local function run(chunk, input)
  core.catch_interrupt()
  debug.sethook(stop_when_interrupted, "", PERIOD)
  local results = table.pack(xpcall(chunk, function(e) return e end))
  debug.sethook()
  core.release_interrupt(input.edited)
  show(table.unpack(results, 1, results.n))
end

--- Read, evaluate, print until the input ends. @treturn integer 0
function repl.main()
  local interactive = core.isatty(0)
  _G.pg = require "perigee"
  local input = reader()
  if interactive then
    print(("perigee %s, %s; pg is the library, control-D ends"):format(core.version, _VERSION))
  end
  while true do
    local chunk, message = read_chunk(input)
    if chunk then
      run(chunk, input)
    elseif message then
      io.write("error: ", message, "\n")
      io.flush()
    elseif message == false then
      io.write "\n"
    else
      if interactive then print() end
      if input.close then input.close() end
      return 0
    end
  end
end

return repl
