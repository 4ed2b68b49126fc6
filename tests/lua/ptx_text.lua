-- PTX around what a test has to say: variables and functions of a module, registers of a kernel.
local facts = require "perigee.facts"

local HEAD = [[
.version 9.0
.target sm_90a
.address_size 64
.global .u32 memo[64];
.const .u32 small[2] = {1, 2};
.global .u32 table[4] = {1, 2, 3, 4};
.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
.extern .func (.param .b64 r) malloc(.param .b64 n);
.extern .func (.param .b32 r) cudaLaunchDeviceV2(.param .b64 b, .param .b64 s);
]]
local REGS = [[
.reg .u64 %o, %d<4>; .reg .u32 %n<9>; .reg .f32 %f<40>; .reg .f64 %g<4>; .reg .b16 %h<9>;
.reg .pred %p<6>; .reg .b32 %r<64>; .reg .s32 %s<9>; .shared .align 16 .b8 sh[1024];
]]

local ptx_text = { HEAD = HEAD, REGS = REGS }

-- What is read of a module with these kernels.
function ptx_text.module(text)
  return facts.read(HEAD .. text, "t.ptx")
end

return ptx_text
