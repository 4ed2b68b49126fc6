-- One PTX kernel an entry: each thread loads its operands, executes the instruction and stores what
-- it gave. A module holds many kernels.
local M = {}

local HEADER = ".version 8.5\n.target sm_90\n.address_size 64\n"
local NAMES = { "a", "b", "c", "e", "f" }

local function registers(e)
  local lines = { "  .reg .pred %p, %q, %guard;", "  .reg .b16 %h<4>;", "  .reg .b32 %t<8>;",
    "  .reg .b64 %x<4>, %at, %out;" }
  if e.body and e.body:find "%%y" then lines[#lines + 1] = "  .reg .b128 %y<4>;" end
  if e.body and e.body:find "%%z" then lines[#lines + 1] = "  .reg .b8 %z<4>;" end
  local function declare(name, o)
    local reg = o.type.reg
    local many = o.vector and "<" .. o.count .. ">" or ""
    lines[#lines + 1] = ("  .reg .%s %%%s%s;"):format(reg, name, many)
  end
  for k, o in ipairs(e.sources) do declare(NAMES[k], o) end
  if e.dest.type then
    declare("d", e.dest)
  elseif e.form == "b32p" then
    lines[#lines + 1] = "  .reg .b32 %d;"
  elseif e.dest.result.cell then
    lines[#lines + 1] = ("  .reg .b%d %%d;"):format(e.dest.result.cell * 8)
  end
  if e.dest.result and e.dest.result.cell then
    lines[#lines + 1] = "  .shared .align 16 .b8 cells[1024];"
  elseif e.opcode == "ldmatrix" or e.opcode == "stmatrix" then
    lines[#lines + 1] = "  .shared .align 128 .b8 rows[2048];"
  end
  return table.concat(lines, "\n")
end

-- "{%a0, %a1}" or "%a"
local function group(name, o)
  if not o.vector then return "%" .. name end
  local list = {}
  for i = 0, o.count - 1 do list[i + 1] = ("%%%s%d"):format(name, i) end
  return "{" .. table.concat(list, ", ") .. "}"
end

local function load_operand(out, name, o, k)
  local bytes = o.type.bytes
  out[#out + 1] = ("  ld.param.u64 %%at, [in%d];"):format(k)
  out[#out + 1] = ("  mad.wide.u32 %%at, %%t0, %d, %%at;"):format(bytes * o.count)
  if o.name == "pred" then
    out[#out + 1] = "  ld.global.u8 %t2, [%at];"
    out[#out + 1] = ("  setp.ne.u32 %%%s, %%t2, 0;"):format(name)
    return
  end
  for i = 0, o.count - 1 do
    out[#out + 1] = ("  ld.global.b%d %%%s%s, [%%at+%d];"):format(bytes * 8, name,
      o.vector and i or "", i * bytes)
  end
end

local function spelled(e, dest)
  local spelling, immediate = e.key:match "^([^/]*)/?(.*)$"
  local operands = { dest }
  for k, o in ipairs(e.sources) do operands[#operands + 1] = group(NAMES[k], o) end
  if immediate ~= "" then operands[#operands + 1] = immediate end
  return ("  %s %s;"):format(spelling, table.concat(operands, ", "))
end

local body = {}

function body.plain(e)
  local bytes = (e.dest.type or {}).bytes
  local out = { e.body and "  " .. e.body or spelled(e, group("d", e.dest)) }
  if e.dest.name == "pred" then
    out[#out + 1] = "  selp.b32 %t2, 1, 0, %d;\n  st.global.u8 [%out], %t2;"
  else
    for i = 0, e.dest.count - 1 do
      out[#out + 1] = ("  st.global.b%d [%%out+%d], %%d%s;"):format(bytes * 8, i * bytes,
        e.dest.vector and i or "")
    end
  end
  return table.concat(out, "\n")
end

function body.pred2(e)
  return spelled(e, "%p|%q") .. [[

  selp.b32 %t2, 1, 0, %p;
  selp.b32 %t3, 2, 0, %q;
  or.b32 %t2, %t2, %t3;
  st.global.u8 [%out], %t2;]]
end

function body.b32p(e)
  return spelled(e, "%d|%p") .. [[

  selp.b32 %t2, 1, 0, %p;
  st.global.b32 [%out], %d;
  st.global.b32 [%out+4], %t2;]]
end

-- An atomic on a cell of its own, in global memory the place of the result itself.
local function cell(e, returns)
  local bytes, spelling = e.dest.result.cell, e.key
  local bits, space = bytes * 8, spelling:find "shared" and "shared" or "global"
  local at, out = space == "shared" and "%x0" or "%out", {}
  if space == "shared" then
    out[#out + 1] = "  mov.u32 %t2, %tid.x;\n  mov.u64 %x0, cells;\n"
      .. ("  mad.wide.u32 %%x0, %%t2, %d, %%x0;"):format(bytes)
  end
  local operands = {}
  for k = 2, #e.sources do operands[#operands + 1] = "%" .. NAMES[k] end
  out[#out + 1] = ("  st.%s.b%d [%s], %%a;"):format(space, bits, at)
  out[#out + 1] = ("  %s %s[%s], %s;"):format(spelling, returns and "%d, " or "", at,
    table.concat(operands, ", "))
  if space == "shared" then
    out[#out + 1] = ("  ld.shared.b%d %%a, [%%x0];"):format(bits)
    out[#out + 1] = ("  st.global.b%d [%%out], %%a;"):format(bits)
  end
  if returns then out[#out + 1] = ("  st.global.b%d [%%out+%d], %%d;"):format(bits, bytes) end
  return table.concat(out, "\n")
end

function body.mem(e) return cell(e, true) end

function body.cell(e) return cell(e, false) end

-- Matrices through shared memory: a lane's four words are a row of 16 bytes.
local function through_shared(e)
  local n = math.tointeger(tonumber(e.key:match "%.x(%d)"))
  local some = { "%a0", "%a1", "%a2", "%a3" }
  local want = "{" .. table.concat(some, ", ", 1, n) .. "}"
  local out = { [[
  mov.u32 %t2, %tid.x;
  mov.u32 %t3, rows;
  mad.lo.u32 %t3, %t2, 16, %t3;]] }
  for i = 0, 3 do out[#out + 1] = ("  st.shared.b32 [%%t3+%d], %%a%d;"):format(i * 4, i) end
  out[#out + 1] = "  bar.warp.sync 0xffffffff;"
  out[#out + 1] = e.opcode == "ldmatrix" and ("  %s %s, [%%t3];"):format(e.key, want)
    or ("  %s [%%t3], %s;"):format(e.key, want)
  out[#out + 1] = "  bar.warp.sync 0xffffffff;"
  for i = 0, 3 do
    if e.opcode == "stmatrix" then
      out[#out + 1] = ("  ld.shared.b32 %%a%d, [%%t3+%d];"):format(i, i * 4)
    end
    out[#out + 1] = ("  st.global.b32 [%%out+%d], %%a%d;"):format(i * 4, i)
  end
  return table.concat(out, "\n")
end

--- Threads of a block: enough for the entry's rows to be whole warps and blocks.
M.BLOCK = 128

--- The text of a kernel named `name`; its parameters: out, a pointer for each source.
function M.kernel(e, name)
  local params, lines = { ".param .u64 result" }, {}
  for k in ipairs(e.sources) do params[#params + 1] = (".param .u64 in%d"):format(k) end
  for k, o in ipairs(e.sources) do load_operand(lines, NAMES[k], o, k) end
  local guard = ""
  for k, o in ipairs(e.sources) do -- lanes outside the member mask do not take part
    if o.name == "mask" then
      guard = ("  mov.u32 %%t2, %%laneid;\n  shr.u32 %%t2, %%%s, %%t2;\n  and.b32 %%t2, %%t2, 1;\n"
        .. "  setp.eq.u32 %%guard, %%t2, 0;\n  @%%guard bra DONE;\n"):format(NAMES[k])
    end
  end
  local matrix = e.opcode == "ldmatrix" or e.opcode == "stmatrix"
  return table.concat({
    (".visible .entry %s(%s)\n{"):format(name, table.concat(params, ", ")),
    registers(e),
    "  mov.u32 %t0, %ctaid.x;\n  mov.u32 %t1, %tid.x;",
    ("  mad.lo.u32 %%t0, %%t0, %d, %%t1;"):format(M.BLOCK),
    table.concat(lines, "\n"),
    "  ld.param.u64 %out, [result];",
    ("  mad.wide.u32 %%out, %%t0, %d, %%out;"):format(e.bytes),
    guard .. (matrix and through_shared(e) or body[e.form](e)),
    "DONE:\n  ret;\n}\n" }, "\n")
end

--- A module of the entries' kernels, named k1, k2 and so on.
function M.module(entries)
  local parts = { HEADER }
  for i, e in ipairs(entries) do parts[#parts + 1] = M.kernel(e, "k" .. i) end
  return table.concat(parts, "\n")
end

return M
