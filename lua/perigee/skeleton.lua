--- A CUDA C++ file that compiles and has a task's contract: what a candidate starts from.
-- @module perigee.skeleton

local columns = require "perigee.columns"
local signature = require "perigee.signature"

local skeleton = {}

local WIDTH = 96 -- of a line, before it is broken

-- Struct types that the buffers hold, each once, in order.
local function structs_of(case)
  local list, seen = {}, {}
  for _, buffer in ipairs(case.list) do
    local dtype = buffer.dtype
    if not signature.native(buffer.dtype_name) and not seen[buffer.dtype_name] then
      seen[buffer.dtype_name] = true
      local fields = type(dtype) ~= "string" and dtype.fields or nil
      list[#list + 1] = { name = buffer.dtype_name, fields = fields }
    end
  end
  return list
end

--- A struct dtype as C.
function skeleton.struct(name, fields)
  local lines = { ("struct %s {"):format(name) }
  for _, field in ipairs(fields or {}) do
    local count = (field.count or 1) > 1 and ("[%d]"):format(field.count) or ""
    lines[#lines + 1] = ("  %s %s%s;"):format(signature.native(field.dtype) or field.dtype,
      field.name, count)
  end
  lines[#lines + 1] = "};"
  return table.concat(lines, "\n")
end

local function headers_of(signatures)
  local list, seen = {}, {}
  for _, parsed in ipairs(signatures) do
    for _, param in ipairs(parsed.params) do
      local header = signature.header(param.dtype or "")
      if header and not seen[header] then
        seen[header] = true
        list[#list + 1] = ("#include <%s>"):format(header)
      end
    end
  end
  return list
end

--- The file's text.
-- @tparam table case any case of the task: only its buffers' types are used
-- @tparam[opt] table signatures of the kernels to define (default: all of the contract)
function skeleton.text(case, signatures)
  signatures = signatures or case.signatures
  local task = case.task
  local lines = columns.wrap(("%s: %s"):format(task.name, task:summary()), WIDTH)
  for i, line in ipairs(lines) do lines[i] = "// " .. line end
  for _, header in ipairs(headers_of(signatures)) do lines[#lines + 1] = header end
  for _, struct in ipairs(structs_of(case)) do
    lines[#lines + 1] = ""
    lines[#lines + 1] = struct.fields and skeleton.struct(struct.name, struct.fields)
      or ("struct %s;"):format(struct.name)
  end
  for _, parsed in ipairs(signatures) do
    lines[#lines + 1] = ""
    lines[#lines + 1] = signature.render(parsed) .. " {"
    lines[#lines + 1] = "  // your code here; this is thread blockIdx.x * blockDim.x + threadIdx.x"
    lines[#lines + 1] = "}"
  end
  return table.concat(lines, "\n") .. "\n"
end

return skeleton
