-- Which instructions of the ISA the simulator does not load: asked, not declared.
local isa = require "isa"
local kernels = require "kernels"

local M = {}

local PROBE = [[
.version 8.5
.target sm_90
.address_size 64
.global .align 16 .b8 gl[128];
.func helper() { ret; }
.visible .entry probe()
{
  .reg .pred %%p<4>;
  .reg .b16 %%h<4>;
  .reg .b32 %%r<16>;
  .reg .b64 %%rd<4>;
  .reg .b128 %%y<2>;
  .reg .f32 %%f<8>;
  .reg .f64 %%d<4>;
  .shared .align 128 .b8 sh[4096];
  %s
DONE:
  ret;
}
]]

local function loads(dev, text)
  return (pcall(dev.load, dev, text, "probe.ptx"))
end

--- { version =, name =, known = bool, missing = spellings that the simulator refuses }, in order.
function M.list(dev, groups)
  local by_opcode, list = {}, {}
  for _, group in ipairs(groups) do
    for _, e in ipairs(group.entries) do
      local o = by_opcode[e.opcode] or { missing = {}, known = false }
      by_opcode[e.opcode] = o
      if loads(dev, kernels.module { e }) then
        o.known = true
      else
        o.missing[#o.missing + 1] = e.key
      end
    end
  end
  for line in isa:gmatch "[^\n]+" do
    local version, name, probe = line:match "^(%S+) (%S+)%s*(.*)$"
    local o = by_opcode[name] or { missing = {} }
    if probe ~= "" then o.known = loads(dev, PROBE:format(probe)) end
    list[#list + 1] = { version = version, name = name, known = o.known, missing = o.missing }
  end
  return list
end

--- Print what is not supported, by the version of the ISA.
function M.print(dev, groups, print_wrapped)
  local list, versions, by_version = M.list(dev, groups), {}, {}
  local known = 0
  for _, i in ipairs(list) do
    if i.known then known = known + 1 end
    if not by_version[i.version] then
      by_version[i.version] = {}
      versions[#versions + 1] = i.version
    end
    local words = by_version[i.version]
    if not i.known then
      words[#words + 1] = i.name
    else
      table.move(i.missing, 1, #i.missing, #words + 1, words)
    end
  end
  print(("\n== not supported by the simulator, by ISA version (%d of %d instructions are)")
    :format(known, #list))
  for _, version in ipairs(versions) do
    if #by_version[version] > 0 then print_wrapped("PTX " .. version, by_version[version]) end
  end
end

return M
