-- The instructions that have golden vectors, one line each:
--   spelling  destination = sources [: body]
-- `<a|b>` stands for each of its alternatives, in every combination. Without a body the instruction is
-- `spelling %d, %a, %b, %c, %e;`; what follows a '/' in the spelling is an immediate operand at the end.
-- A source may be narrowed to a domain: u32:shift. `4*b32` is a vector of registers. The types
-- are in spec.lua, domains in inputs.lua. A name before a colon, alone on its line, opens a group: a file of vectors.
return [[
integer:
<add|sub>.<u16|s16|u32|s32|u64|s64>      same = same same
<add|sub>.sat.s32                        s32 = s32 s32
<mul.lo|mul.hi>.<u16|s16|u32|s32|u64|s64>  same = same same
<mad.lo|mad.hi>.<u16|s16|u32|s32|u64|s64>  same = same same same
mad.hi.sat.s32                           s32 = s32 s32 s32
mul.wide.<u16|s16>                       b32 = same same
mul.wide.<u32|s32>                       b64 = same same
mad.wide.<u16|s16>                       b32 = same same b32
mad.wide.<u32|s32>                       b64 = same same b64
mul24.<lo|hi>.<u32|s32>                  same = same same
mad24.<lo|hi>.<u32|s32>                  same = same same same
mad24.hi.sat.s32                         s32 = s32 s32 s32
sad.<u16|s16|u32|s32|u64|s64>            same = same same same
<div|rem>.<u16|s16|u32|s32|u64|s64>      same = same same
<abs|neg>.<s16|s32|s64>                  same = same
<min|max>.<u16|s16|u32|s32|u64|s64>      same = same same
<min|max>.relu.s32                       s32 = s32 s32
<add|min|max>.<u16x2|s16x2>              same = same same
<min|max>.relu.s16x2                     s16x2 = s16x2 s16x2
dp4a.<u32|s32>.<u32|s32>                 b32 = b32 b32 b32
dp2a.<lo|hi>.<u32|s32>.<u32|s32>         b32 = b32 b32 b32
addc.u32  b64 = b32 b32 b32 b32 : add.cc.u32 %t0, %a, %b; addc.u32 %t1, %c, %e; mov.b64 %d, {%t0, %t1};
addc.cc.s32  b64 = b32 b32 b32 b32 : add.cc.s32 %t0, %a, %b; addc.cc.s32 %t0, %c, %e; addc.u32 %t1, 0, 0; mov.b64 %d, {%t0, %t1};
subc.u32  b64 = b32 b32 b32 b32 : sub.cc.u32 %t0, %a, %b; subc.u32 %t1, %c, %e; mov.b64 %d, {%t0, %t1};
subc.cc.s32  b64 = b32 b32 b32 b32 : sub.cc.s32 %t0, %a, %b; subc.cc.s32 %t0, %c, %e; subc.u32 %t1, 0, 0; mov.b64 %d, {%t0, %t1};
addc.u64  b64 = b64 b64 b64 b64 : add.cc.u64 %x0, %a, %b; addc.u64 %x1, %c, %e; xor.b64 %d, %x0, %x1;
subc.u64  b64 = b64 b64 b64 b64 : sub.cc.u64 %x0, %a, %b; subc.u64 %x1, %c, %e; xor.b64 %d, %x0, %x1;
mad.<lo|hi>.cc.<u32|s32>  b64 = b32 b32 b32 b32 : mad.@1.cc.@2 %t0, %a, %b, %c; addc.u32 %t1, %e, 0; mov.b64 %d, {%t0, %t1};
madc.<lo|hi>.<u32|s32>  b64 = b32 b32 b32 b32 : mad.lo.cc.@2 %t0, %a, %b, %c; madc.@1.@2 %t1, %a, %b, %e; mov.b64 %d, {%t0, %t1};
madc.<lo|hi>.cc.u32  b64 = b32 b32 b32 b32 : mad.lo.cc.u32 %t0, %a, %b, %c; madc.@1.cc.u32 %t0, %a, %b, %e; addc.u32 %t1, 0, 0; mov.b64 %d, {%t0, %t1};

bits:
<and|or|xor>.<b16|b32|b64>               same = same same
<not|cnot>.<b16|b32|b64>                 same = same
<and|or|xor>.pred                        pred = pred pred
not.pred                                 pred = pred
shl.<b16|b32|b64>                        same = same b32:shift
shr.<b16|b32|b64|u16|u32|u64|s16|s32|s64>  same = same b32:shift
shf.<l|r>.<wrap|clamp>.b32               b32 = b32 b32 b32:shift
lop3.b32/<0x00|0x1b|0x80|0x96|0xca|0xe8|0xf8|0xfe>  b32 = b32 b32 b32
lop3.<or|and>.b32  b64 = b32 b32 b32 pred : lop3.@1.b32 %t0|%q, %a, %b, %c, 0x6a, %e; selp.b32 %t1, 1, 0, %q; mov.b64 %d, {%t0, %t1};
prmt.b32                                 b32 = b32 b32 b32
prmt.b32.<f4e|b4e|rc8|ecl|ecr|rc16>      b32 = b32 b32 b32
bfe.<u32|s32>                            same = same b32:bit b32:bit
bfe.<u64|s64>                            same = same b32:bit b32:bit
bfi.<b32|b64>                            same = same same b32:bit b32:bit
<brev>.<b32|b64>                         same = same
<popc|clz>.<b32|b64>                     b32 = same
bfind<|.shiftamt>.<u32|s32|u64|s64>      b32 = same
bmsk.<wrap|clamp>.b32                    b32 = b32:bit b32:bit
szext.<wrap|clamp>.<u32|s32>             same = same b32:bit
fns.b32                                  b32 = b32 b32:bit s32:small
<selp>.<b16|b32|b64|u16|u32|u64|s32|f32|f64>  same = same same pred
slct.<b16|b32|b64|u32|s64|f32|f64>.s32       first = first first s32
slct<|.ftz>.<b32|f32|u64>.f32            first = first first f32
mov.<b16|b32|b64>                        same = same

compare:
setp.<eq|ne|lt|le|gt|ge>.<u16|s16|u32|s32|u64|s64>  pred = same same
setp.<eq|ne>.<b16|b32|b64>               pred = same same
setp.<lo|ls|hi|hs>.<u16|u32|u64>         pred = same same
setp.<eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan>.<f32|ftz.f32|f64|f16|ftz.f16|bf16>  pred = last last
setp.<lt|ne>.<and|or|xor>.<s32|u64>      pred2 = last last pred
setp.<lt|neu|num>.<and|or|xor>.<f32|f64> pred2 = last last pred
setp.<eq|ge>.<u16|s64|f32>               pred2 = last last
setp.<lt|geu>.<f16x2|bf16x2>             pred2 = last last
set.<eq|ne|lt|le|gt|ge>.<u32|s32|f32>.<s32|u32|u16|s64>   first = last last
set.<eq|ne|lt|equ|neu|geu|num|nan><|.ftz>.<u32|s32|f32>.f32  first = f32 f32
set.<lt|geu|nan>.<u32|f32>.f64           first = f64 f64
set.<lt|neu>.<and|or|xor>.<u32|f32>.f32  first = f32 f32 pred
set.<eq|lt|geu|nan>.<f16|u16|s32>.f16    first = f16 f16
set.<eq|lt|geu|nan>.<f16x2>.f16x2        f16x2 = f16x2 f16x2
set.<eq|lt|geu|nan>.<bf16|u16>.bf16      first = bf16 bf16
set.<eq|lt|geu|nan>.bf16x2.bf16x2        bf16x2 = bf16x2 bf16x2
testp.<finite|infinite|number|notanumber|normal|subnormal>.<f32|f64>  pred = last

f32:
<add|sub|mul><|.rn|.rz|.rm|.rp><|.ftz><|.sat>.f32  f32 = f32 f32
<fma.rn|fma.rz|fma.rm|fma.rp|mad.rn|mad.rz><|.ftz><|.sat>.f32  f32 = f32 f32 f32
<div>.<rn|rz|rm|rp><|.ftz>.f32           f32 = f32 f32
<rcp|sqrt>.<rn|rz|rm|rp><|.ftz>.f32      f32 = f32
<abs|neg><|.ftz>.f32                     f32 = f32
copysign.f32                             f32 = f32 f32
<min|max><|.ftz><|.NaN><|.xorsign.abs>.f32  f32 = f32 f32

f64:
<add|sub|mul>.<rn|rz|rm|rp>.f64          f64 = f64 f64
<add|sub|mul>.f64                        f64 = f64 f64
<fma|mad>.<rn|rz|rm|rp>.f64              f64 = f64 f64 f64
div.<rn|rz|rm|rp>.f64                    f64 = f64 f64
<rcp|sqrt>.<rn|rz|rm|rp>.f64             f64 = f64
<abs|neg>.f64                            f64 = f64
copysign.f64                             f64 = f64 f64
<min|max>.f64                            f64 = f64 f64

half:
<add|sub|mul><|.rn><|.ftz><|.sat>.<f16|f16x2>  last = last last
<add|sub|mul><|.rn>.<bf16|bf16x2>        last = last last
fma.rn<|.ftz><|.sat>.<f16|f16x2>         last = last last last
fma.rn<|.ftz>.relu.<f16|f16x2>           last = last last last
fma.rn<|.relu>.<bf16|bf16x2>             last = last last last
<abs|neg><|.ftz>.<f16|f16x2>             last = last
<abs|neg>.<bf16|bf16x2>                  last = last
<min|max><|.ftz><|.NaN><|.xorsign.abs>.<f16|f16x2>  last = last last
<min|max><|.NaN><|.xorsign.abs>.<bf16|bf16x2>  last = last last
fma.rn.oob<|.relu>.<f16|f16x2|bf16|bf16x2>  last = last last last
fma.rn.oob.a.<f16|bf16>  last = last : mov.b16 %h0, 0x3f80; fma.rn.oob.@1 %d, %a, %h0, %h0;
fma.rn.oob.b.<f16|bf16>  last = last : mov.b16 %h0, 0x3f80; fma.rn.oob.@1 %d, %h0, %a, %h0;
fma.rn.oob.c.<f16|bf16>  last = last : mov.b16 %h0, 0x3f80; fma.rn.oob.@1 %d, %h0, %h0, %a;

approx:
div.<approx|full><|.ftz>.f32             f32 = f32 f32
<rcp|sqrt|rsqrt|lg2>.approx<|.ftz>.f32   f32 = f32
ex2.approx<|.ftz>.f32                    f32 = f32:exponent
<sin|cos>.approx<|.ftz>.f32              f32 = f32:angle
tanh.approx.f32                          f32 = f32:exponent
<rcp|rsqrt>.approx.ftz.f64               f64 = f64
rsqrt.approx.f64                         f64 = f64
tanh.approx.<f16|bf16>                   last = last
tanh.approx.<f16x2|bf16x2>               last = last
ex2.approx.<f16|f16x2>                   last = last
ex2.approx.ftz.<bf16|bf16x2>             last = last

convert_int:
cvt.<u8|s8|u16|s16|u32|s32|u64|s64>.<u8|s8|u16|s16|u32|s32|u64|s64>  first = last
cvt.sat.u8.<s8|u16|s16|u32|s32|u64|s64>  first = last
cvt.sat.s8.<u8|u16|s16|u32|s32|u64|s64>  first = last
cvt.sat.u16.<s8|s16|u32|s32|u64|s64>     first = last
cvt.sat.s16.<u16|u32|s32|u64|s64>        first = last
cvt.sat.u32.<s8|s16|s32|u64|s64>         first = last
cvt.sat.s32.<u32|u64|s64>                first = last
cvt.sat.u64.<s8|s16|s32|s64>             first = last
cvt.sat.s64.u64                          first = last
cvt.pack.sat.<u16|s16>.s32               b32 = s32 s32
cvt.pack.sat.<u8|s8|u4|s4|u2|s2>.s32.b32 b32 = s32 s32 b32

convert_from_int:
cvt.<rn|rz|rm|rp>.<f32|f64>.<u8|s8|u16|s16|u32|s32|u64|s64>  first = last
cvt.<rn|rz|rm|rp>.f16.<u8|s8|u16|s16|u32|s32|u64|s64>  f16 = last
cvt.<rn|rz|rm|rp>.bf16.<u16|s16|u32|s32|u64|s64>  bf16 = last
cvt.<rn|rz>.sat.<f32|f64|f16>.<s8|s32|u32|s64>  first = last

convert_to_int:
cvt.<rni|rzi|rmi|rpi><|.ftz>.<u8|s8|u16|s16|u32|s32|u64|s64>.f32  first = f32
cvt.<rni|rzi|rmi|rpi>.<u8|s8|u16|s16|u32|s32|u64|s64>.f64  first = f64
cvt.<rni|rzi|rmi|rpi>.<u8|s8|u16|s16|u32|s32|u64|s64>.f16  first = f16
cvt.<rni|rzi|rmi|rpi>.<u16|s16|u32|s32|u64|s64>.bf16  first = bf16
cvt.<rni|rzi>.sat.<s32|u32|s8|u64>.<f32|f64>  first = last

convert_float:
cvt<|.rni|.rzi|.rmi|.rpi><|.ftz><|.sat>.f32.f32  f32 = f32
cvt<|.rni|.rzi|.rmi|.rpi><|.sat>.f64.f64 f64 = f64
cvt<|.rni|.rzi|.rmi|.rpi><|.sat>.f16.f16 f16 = f16
cvt.<rni|rzi|rmi|rpi>.bf16.bf16          bf16 = bf16
cvt<|.ftz><|.sat>.f64.f32                f64 = f32
cvt.<rn|rz|rm|rp><|.ftz><|.sat>.f32.f64  f32 = f64:single
cvt<|.ftz><|.sat>.f32.f16                f32 = f16
cvt<|.sat>.f64.f16                       f64 = f16
cvt<|.ftz>.f32.bf16                      f32 = bf16
cvt.f64.bf16                             f64 = bf16
cvt.<rn|rz|rm|rp><|.ftz><|.sat>.f16.f32  f16 = f32:half
cvt.<rn|rz|rm|rp><|.sat>.f16.f64         f16 = f64:half
cvt.<rn|rz>.relu.f16.f32                 f16 = f32:half
cvt.<rn|rz|rm|rp>.bf16.f32               bf16 = f32
cvt.<rn|rz>.relu.bf16.f32                bf16 = f32
cvt.<rn|rz|rm|rp>.bf16.f64               bf16 = f64:single
cvt.<rn|rz|rm|rp>.bf16.f16               bf16 = f16
cvt.<rn|rz|rm|rp>.f16.bf16               f16 = bf16
cvt.<rn|rz><|.relu>.f16x2.f32            b32 = f32:half f32:half
cvt.<rn|rz><|.relu>.bf16x2.f32           b32 = f32 f32
cvt.rna<|.satfinite>.tf32.f32            b32 = f32
cvt.<rn|rz><|.relu>.tf32.f32             b32 = f32
cvt.rn.satfinite<|.relu>.<e4m3x2|e5m2x2>.f32  first = f32:fp8 f32:fp8
cvt.rn.satfinite<|.relu>.<e4m3x2|e5m2x2>.f16x2  first = f16x2
cvt.rn<|.relu>.f16x2.<e4m3x2|e5m2x2>     b32 = last

video:
<vadd|vsub|vabsdiff|vmin|vmax>.<u32.u32.u32|s32.s32.s32|s32.u32.s32|u32.s32.u32>  b32 = b32 b32
<vadd|vsub|vabsdiff|vmin|vmax>.<u32.s32.u32|s32.u32.s32>.add  b32 = b32 b32 b32
<vadd|vabsdiff|vmin>.select.<u32|s32>.<b0|b1|b2|b3|h0|h1>  b32 = b32 b32 : @1.s32.@2.@2 %d, %a.@3, %b.h1;
<vshl|vshr>.<u32.u32|s32.s32|s32.u32|u32.s32>.u32.<clamp|wrap>  b32 = b32 b32:shift
<vshl|vshr>.s32.s32.u32.clamp.add        b32 = b32 b32:shift b32
vset.<u32.u32|s32.s32|u32.s32>.<eq|ne|lt|le|gt|ge>  b32 = b32 b32
vset.u32.u32.lt.add                      b32 = b32 b32 b32
vmad.<u32.u32.u32|s32.s32.s32|s32.u32.s32|u32.s32.u32>  b32 = b32 b32 b32
vmad.<u32.u32.u32|s32.s32.u32>.po        b32 = b32 b32 b32
vmad.minus.c.<u32.u32|s32.u32>           b32 = b32 b32 b32 : vmad.s32.@1 %d, %a, %b, -%c;
vmad.select.<u32|s32>.<b0|h1>            b32 = b32 b32 b32 : vmad.s32.@1.@1 %d, %a.@2, %b.b3, %c;
<vadd2|vsub2|vavrg2|vabsdiff2|vmin2|vmax2|vadd4|vsub4|vavrg4|vabsdiff4|vmin4|vmax4>.<u32.u32.u32|s32.s32.s32|s32.u32.s32><|.sat>  b32 = b32 b32 b32
<vadd2|vsub2|vavrg2|vabsdiff2|vmin2|vmax2|vadd4|vsub4|vavrg4|vabsdiff4|vmin4|vmax4>.<u32.u32.u32|s32.s32.u32>.add  b32 = b32 b32 b32
<vadd2|vmin2>.mask.<h0|h1|h10><|.add>    b32 = b32 b32 b32 : @1.s32.s32.u32@3 %d.@2, %a.h13, %b.h20, %c;
<vadd4|vmin4>.mask.<b0|b1|b20|b310|b321><|.add>  b32 = b32 b32 b32 : @1.s32.s32.u32@3 %d.@2, %a.b7023, %b.b4416, %c;
<vset2|vset4>.<u32.u32|s32.s32|u32.s32>.<eq|ne|lt|le|gt|ge>  b32 = b32 b32 b32
<vset2|vset4>.<u32.u32|s32.s32>.lt.add   b32 = b32 b32 b32
vset4.mask.<b0|b31><|.add>               b32 = b32 b32 b32 : vset4.s32.u32.lt@2 %d.@1, %a.b0246, %b.b1357, %c;

shuffle:
shfl.sync.<up|down|bfly|idx>.b32         b32p = b32 b32:lane b32:clamp mask
vote.sync.<all|any|uni>.pred             pred = pred:rare mask
vote.sync.ballot.b32                     b32 = pred mask
match.any.sync.<b32|b64>                 b32 = last:few mask
match.all.sync.<b32|b64>                 b32p = last:rare mask
redux.sync.<add|min|max>.<u32|s32>       same = same mask
redux.sync.<and|or|xor>.b32              b32 = b32 mask
activemask.b32                           b32 = mask : activemask.b32 %d;
bar.warp.sync                            b32 = b32 mask : bar.warp.sync %b; mov.b32 %d, %a;
bar.red.popc.u32                         u32 = pred : bar.red.popc.u32 %d, 0, %a;
bar.red.<and|or>.pred                    pred = pred:rare : bar.red.@1.pred %d, 0, %a;

atomic:
atom.<global|shared>.<add|min|max>.<u32|s32>  mem32 = last last
atom.<global|shared>.<min|max>.<u64|s64> mem64 = last last
atom.<global|shared>.add.u64             mem64 = u64 u64
atom.<global|shared>.<and|or|xor|exch>.b32  mem32 = last last
atom.<global|shared>.<and|or|xor|exch>.b64  mem64 = last last
atom.<global|shared>.<inc|dec>.u32       mem32 = u32 u32
atom.<global|shared>.cas.b32             mem32 = b32:few b32:few b32
atom.<global|shared>.cas.b64             mem64 = b64:few b64:few b64
atom.global.cas.b16                      mem16 = b16:few b16:few b16
atom.<global|shared>.add.f32             mem32 = f32 f32
atom.<global|shared>.add.f64             mem64 = f64 f64
atom.global.add.noftz.<f16x2|bf16x2>     mem32 = last last
atom.global.add.noftz.<f16|bf16>         mem16 = last last
atom.global.cas.b128  4*b64 = 2*b64:few 2*b64:few 2*b64 : st.global.v2.b64 [%out], {%a0, %a1}; mov.b128 %y0, {%b0, %b1}; mov.b128 %y1, {%c0, %c1}; atom.global.cas.b128 %y2, [%out], %y0, %y1; mov.b128 {%d0, %d1}, %y2; ld.global.v2.b64 {%d2, %d3}, [%out];
atom.global.exch.b128  4*b64 = 2*b64 2*b64 : st.global.v2.b64 [%out], {%a0, %a1}; mov.b128 %y0, {%b0, %b1}; atom.global.exch.b128 %y2, [%out], %y0; mov.b128 {%d0, %d1}, %y2; ld.global.v2.b64 {%d2, %d3}, [%out];
atom.global.add.v2.f32  4*b32 = 2*f32 2*f32 : st.global.v2.b32 [%out], {%a0, %a1}; atom.global.add.v2.f32 {%d0, %d1}, [%out], {%b0, %b1}; ld.global.v2.b32 {%d2, %d3}, [%out];
atom.global.add.noftz.v2.<f16x2|bf16x2>  4*b32 = 2*last 2*last : st.global.v2.b32 [%out], {%a0, %a1}; atom.global.add.noftz.v2.@1 {%d0, %d1}, [%out], {%b0, %b1}; ld.global.v2.b32 {%d2, %d3}, [%out];
atom.global.<min|max>.noftz.v4.f16  8*b16 = 4*f16 4*f16 : st.global.v4.b16 [%out], {%a0, %a1, %a2, %a3}; atom.global.@1.noftz.v4.f16 {%d0, %d1, %d2, %d3}, [%out], {%b0, %b1, %b2, %b3}; ld.global.v4.b16 {%d4, %d5, %d6, %d7}, [%out];
red.global.add.v4.f32  4*b32 = 4*f32 4*f32 : st.global.v4.b32 [%out], {%a0, %a1, %a2, %a3}; red.global.add.v4.f32 [%out], {%b0, %b1, %b2, %b3}; ld.global.v4.b32 {%d0, %d1, %d2, %d3}, [%out];
atom.<relaxed|acquire|release|acq_rel>.<cta|gpu|sys>.global.add.u32  mem32 = u32 u32
red.<global|shared>.<add|min|max>.<u32|s32>  cell32 = last last
red.global.<min|max>.<u64|s64>           cell64 = last last
red.<global|shared>.<and|or|xor>.b32     cell32 = last last
red.<global|shared>.<inc|dec>.u32        cell32 = u32 u32
red.global.add.f32                       cell32 = f32 f32
red.global.add.f64                       cell64 = f64 f64
red.global.add.noftz.<f16x2|bf16x2>      cell32 = last last

memory:
ld.<u8|s8|u16|s16>                       b32 = b32 : st.global.b32 [%out], %a; ld.global.@1 %d, [%out];
ld.<u8|s8|u16|s16|u32|s32>.wide          b64 = b32 : st.global.b32 [%out], %a; ld.global.@1 %d, [%out];
ld.<u8|s8>.narrow                        b16 = b16 : st.global.b16 [%out], %a; ld.global.@1 %d, [%out];
st.<b8|b16>                              b32 = b32 : st.global.b32 [%out], 0; st.global.@1 [%out], %a; ld.global.b32 %d, [%out];
ld.v4.<u8|s8>  4*b32 = b32 : st.global.b32 [%out], %a; ld.global.v4.@1 {%d0, %d1, %d2, %d3}, [%out];
mov.b32.unpack  2*b16 = b32 : mov.b32 {%d0, %d1}, %a;
mov.b64.unpack  2*b32 = b64 : mov.b64 {%d0, %d1}, %a;
mov.b32.pack  b32 = 2*b16 : mov.b32 %d, {%a0, %a1};
mov.b64.pack4  b64 = 4*b16 : mov.b64 %d, {%a0, %a1, %a2, %a3};
mov.b32.bytes  b32 = b32 : mov.b32 {%z0, %z1, %z2, %z3}, %a; mov.b32 %d, {%z3, %z0, %z2, %z1};
mov.b64.unpack4  4*b16 = b64 : mov.b64 {%d0, %d1, %d2, %d3}, %a;

matrix:
mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32       4*f32 = 2*f16x2 1*f16x2 4*f32
mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32      4*f32 = 4*f16x2 2*f16x2 4*f32
mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16       2*f16x2 = 2*f16x2 1*f16x2 2*f16x2
mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16      2*f16x2 = 4*f16x2 2*f16x2 2*f16x2
mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32     4*f32 = 2*bf16x2 1*bf16x2 4*f32
mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32    4*f32 = 4*bf16x2 2*bf16x2 4*f32
mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32     4*f32 = 2*tf32 1*tf32 4*f32
mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32     4*f32 = 4*tf32 2*tf32 4*f32
mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64        2*f64 = 1*f64 1*f64 2*f64
mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64       4*f64 = 2*f64 1*f64 4*f64
mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64       4*f64 = 4*f64 2*f64 4*f64
mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64      4*f64 = 8*f64 4*f64 4*f64
mma.sync.aligned.m8n8k16.row.col<|.satfinite>.s32.<s8|u8>.<s8|u8>.s32   2*s32 = 1*b32 1*b32 2*s32
mma.sync.aligned.m16n8k16.row.col<|.satfinite>.s32.<s8|u8>.<s8|u8>.s32  4*s32 = 2*b32 1*b32 4*s32
mma.sync.aligned.m16n8k32.row.col<|.satfinite>.s32.<s8|u8>.<s8|u8>.s32  4*s32 = 4*b32 2*b32 4*s32
mma.sync.aligned.m8n8k32.row.col.s32.<s4|u4>.<s4|u4>.s32   2*s32 = 1*b32 1*b32 2*s32
mma.sync.aligned.m16n8k32.row.col.s32.<s4|u4>.<s4|u4>.s32  4*s32 = 2*b32 1*b32 4*s32
mma.sync.aligned.m16n8k64.row.col.s32.<s4|u4>.<s4|u4>.s32  4*s32 = 4*b32 2*b32 4*s32
mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.<xor|and>.popc  4*s32 = 4*b32 2*b32 4*s32
movmatrix.sync.aligned.m8n8.trans.b16                  b32 = b32
ldmatrix.sync.aligned.m8n8.<x1|x2|x4><|.trans>.shared.b16   4*b32 = 4*b32
stmatrix.sync.aligned.m8n8.<x1|x2|x4><|.trans>.shared.b16   4*b32 = 4*b32
]]
