--- What a C source offers: its own types, and prototypes of its functions that are not static.
-- A scan of what stands outside of bodies; macros in declarations are not expanded.
-- @module perigee.prototypes

local prototypes = {}

--- The text without comments, directives and what stands in quotes.
local function bare(source)
  local text = source:gsub("\\\r?\n", " ")
  local out, at = {}, 1
  while at <= #text do
    local from, to = text:find("[/\"'\n]", at)
    if not from then break end
    out[#out + 1] = text:sub(at, from - 1)
    local mark = text:sub(from, from)
    if text:find("^//", from) then
      to = (text:find("\n", from, true) or #text + 1) - 1
    elseif text:find("^/%*", from) then
      to = select(2, text:find("*/", from + 2, true)) or #text
      out[#out + 1] = " "
    elseif mark == '"' or mark == "'" then
      to = from + 1
      while to < #text and text:sub(to, to) ~= mark do
        to = to + (text:sub(to, to) == "\\" and 2 or 1)
      end
      out[#out + 1] = mark .. mark
    else
      out[#out + 1] = mark
    end
    at = to + 1
  end
  out[#out + 1] = text:sub(at)
  return (("\n" .. table.concat(out)):gsub("\n[ \t]*#[^\n]*", "\n"))
end

local function is_static(head)
  return head:find "%f[%w_]static%f[^%w_]" ~= nil
end

local TYPES = { typedef = true, struct = true, union = true, enum = true }

--- A declaration at the top, up to its semicolon: kept when it is of a type alone.
local function type_declaration(text)
  local first = text:match "^%s*([%a_]+)"
  if not TYPES[first] or text:find "=" and not text:find "^%s*%a*%s*enum" then return nil end
  if first ~= "typedef" and not text:find "^%s*%a+%s*[%w_]*%s*%b{}[^%w]*$"
    and not text:find "^%s*%a+%s+[%w_]+%s*$" then
    return nil -- a variable or a prototype
  end
  return text .. ";"
end

local function prototype(head)
  if is_static(head) then return nil end
  local clean = head:gsub("%f[%w_]inline%f[^%w_]", ""):gsub("%f[%w_]extern%f[^%w_]", "")
  return clean .. ";"
end

--- Declarations for `ffi.cdef`.
-- @tparam string source C
-- @treturn string
function prototypes.of(source)
  local text, list = bare(source), {}
  local start, at = 1, 1
  while true do
    at = text:find("[;{]", at)
    if not at then break end
    local head = text:sub(start, at - 1)
    if text:sub(at, at) == ";" then
      list[#list + 1] = type_declaration(head)
      start, at = at + 1, at + 1
    else
      local stop = select(2, text:find("%b{}", at)) or #text
      if head:find "%)%s*$" and not head:find "=" then
        list[#list + 1] = prototype(head)
        start = stop + 1
      end
      at = stop + 1
    end
  end
  return table.concat(list, "\n")
end

return prototypes
