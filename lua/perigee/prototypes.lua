--- What a C source offers: its own types, and prototypes of its functions that are not static.
-- A scan of what stands outside of bodies, in a text that the preprocessor has been through.
-- @module perigee.prototypes

local prototypes = {}

--- The lines that stand in the file `path` itself, not in what it includes; no directives.
local function own_lines(text, path)
  local list, own = {}, true
  for line in text:gmatch "[^\n]*" do
    local name = line:match '^# %d+ "(.*)"'
    if name then own = name:gsub("\\(.)", "%1") == path
    elseif own and not line:find "^%s*#" then list[#list + 1] = line end
  end
  return table.concat(list, "\n")
end

--- The text with nothing in its quotes.
local function without_quoted(text)
  local out, at = {}, 1
  while true do
    local from = text:find("[\"']", at)
    if not from then break end
    local mark, to = text:sub(from, from), from + 1
    while to < #text and text:sub(to, to) ~= mark do
      to = to + (text:sub(to, to) == "\\" and 2 or 1)
    end
    out[#out + 1] = text:sub(at, from - 1) .. mark .. mark
    at = to + 1
  end
  out[#out + 1] = text:sub(at)
  return table.concat(out)
end

local function is_static(head)
  return head:find "%f[%w_]static%f[^%w_]" ~= nil
end

local TYPES = { typedef = true, struct = true, union = true, enum = true }

--- A declaration at the top, up to its semicolon: kept when it is of a type alone.
local function type_declaration(text)
  local first, plain = text:match "^%s*([%a_]+)", text:gsub("__attribute__%s*%b()", "")
  if not TYPES[first] or text:find "=" and not text:find "^%s*%a*%s*enum" then return nil end
  if first ~= "typedef" and not plain:find "^%s*%a+%s*[%w_]*%s*%b{}[^%w]*$"
    and not plain:find "^%s*%a+%s+[%w_]+%s*$" then
    return nil -- a variable or a prototype
  end
  return text .. ";"
end

local function prototype(head)
  if is_static(head) then return nil end
  local clean = head:gsub("%f[%w_]inline%f[^%w_]", ""):gsub("%f[%w_]extern%f[^%w_]", "")
  return clean .. ";"
end

--- Declarations for `ffi.cdef`, in their order.
-- @tparam string text C as the preprocessor prints it, with its line markers
-- @tparam string path the file whose own declarations they are
-- @treturn table list of strings
function prototypes.of(text, path)
  local bare, list = without_quoted(own_lines(text, path)), {}
  local start, at = 1, 1
  while true do
    at = bare:find("[;{]", at)
    if not at then break end
    local head = bare:sub(start, at - 1)
    if bare:sub(at, at) == ";" then
      list[#list + 1] = type_declaration(head)
      start, at = at + 1, at + 1
    else
      local stop = select(2, bare:find("%b{}", at)) or #bare
      if head:find "%)%s*$" and not head:find "=" then
        list[#list + 1] = prototype(head)
        start = stop + 1
      end
      at = stop + 1
    end
  end
  return list
end

return prototypes
