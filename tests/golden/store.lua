-- Golden vectors in files: GROUP.bin holds the encoded results of a group, MANIFEST.txt says where
-- each is and on what they were recorded.
local core = require "perigee.core"
local codec = require "codec"
local inputs = require "inputs"

local M = {}

local MANIFEST = "MANIFEST.txt"

local function word_bytes(e)
  return e.bytes // e.dest.count
end

--- Write what a device gave: results[key] = bytes, refused[key] = message.
function M.write(folder, groups, results, refused, facts)
  core.mkdir_all(folder)
  local lines = { "# Golden vectors, made by tests/golden/make.lua. See README.md there." }
  for _, name in ipairs { "device", "driver", "date" } do
    lines[#lines + 1] = "# " .. name .. ": " .. facts[name]
  end
  lines[#lines + 1] = "# seed: " .. inputs.SEED
  lines[#lines + 1] = "# instruction | vectors | bytes of a result | file | offset | bytes"
  local total = 0
  for _, group in ipairs(groups) do
    local parts, at, file = {}, 0, group.name .. ".bin"
    for _, e in ipairs(group.entries) do
      local bytes = results[e.key]
      if bytes then
        local coded = codec.encode(bytes, word_bytes(e), e.exhaustive)
        lines[#lines + 1] = ("%s | %d | %d | %s | %d | %d"):format(e.key, inputs.rows(e), e.bytes,
          file, at, #coded)
        parts[#parts + 1] = coded
        at = at + #coded
      elseif refused[e.key] then
        local why = refused[e.key]:gsub("[\n|]", " "):sub(1, 160)
        lines[#lines + 1] = ("! %s | %s"):format(e.key, why)
      end
    end
    core.write_file(folder .. "/" .. file, table.concat(parts))
    total = total + at
  end
  core.write_file(folder .. "/" .. MANIFEST, table.concat(lines, "\n") .. "\n")
  return total
end

--- What was recorded: { facts = {...}, entries = { key -> {...} }, refused = { key -> message } };
--- nil when nothing was.
function M.open(folder)
  local text = core.read_file(folder .. "/" .. MANIFEST)
  if not text then return nil end
  local store = { folder = folder, facts = {}, entries = {}, refused = {}, files = {} }
  for line in text:gmatch "[^\n]+" do
    local name, fact = line:match "^# (%w+): (.*)$"
    local refused, why = line:match "^! (%S+) | (.*)$"
    local key, n, bytes, file, at, size =
      line:match "^(%S+) | (%d+) | (%d+) | (%S+) | (%d+) | (%d+)$"
    if name then
      store.facts[name] = fact
    elseif refused then
      store.refused[refused] = why
    elseif key then
      store.entries[key] = { rows = tonumber(n), bytes = tonumber(bytes), file = file,
        at = tonumber(at), size = tonumber(size) }
    end
  end
  return store
end

--- The recorded results of an entry as bytes, or nil.
function M.read(store, e)
  local r = store.entries[e.key]
  if not r or r.rows ~= inputs.rows(e) or r.bytes ~= e.bytes then return nil end
  local whole = store.files[r.file] or assert(core.read_file(store.folder .. "/" .. r.file))
  store.files[r.file] = whole
  local coded = whole:sub(r.at + 1, r.at + r.size)
  return codec.decode(coded, r.rows * r.bytes, word_bytes(e), e.exhaustive)
end

return M
