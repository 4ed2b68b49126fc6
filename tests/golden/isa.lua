-- The instructions of PTX by the version of the ISA that introduced them: the manual of PTX ISA 9.2
-- says it under "PTX ISA Notes" in each part of 9.7 and in 13, "Release Notes". For those that have
-- no golden vectors one statement that the simulator is asked to load. `%r`, `%rd`, `%h`, `%f`,
-- `%d`, `%p` are registers, `sh` shared memory and `gl` global.
return [[
1.0 abs
1.0 add
1.0 and
1.0 bar         bar.sync 0;
1.0 bra         bra DONE;
1.0 brkpt       brkpt;
1.0 call        call helper;
1.0 cnot
1.0 cos
1.0 cvt
1.0 div
1.0 ex2
1.0 exit        exit;
1.0 ld
1.0 lg2
1.0 mad
1.0 mad24
1.0 max
1.0 min
1.0 mov
1.0 mul
1.0 mul24
1.0 neg
1.0 not
1.0 or
1.0 rcp
1.0 rem
1.0 ret         ret;
1.0 rsqrt
1.0 sad
1.0 selp
1.0 set
1.0 setp
1.0 shl
1.0 shr
1.0 sin
1.0 slct
1.0 sqrt
1.0 st
1.0 sub
1.0 tex         tex.1d.v4.f32.s32 {%f0, %f1, %f2, %f3}, [%rd0, {%r0}];
1.0 trap        trap;
1.0 xor
1.1 atom
1.2 addc
1.2 add.cc      add.cc.u32 %r0, %r1, %r2;
1.2 red
1.2 subc
1.2 sub.cc      sub.cc.u32 %r0, %r1, %r2;
1.2 vote
1.4 fma
1.4 membar      membar.gl;
1.4 pmevent     pmevent 1;
1.5 suld        suld.b.1d.b32.trap %r0, [%rd0, {%r1}];
1.5 suq         suq.width.b32 %r0, [%rd0];
1.5 sust        sust.b.1d.b32.trap [%rd0, {%r1}], %r0;
1.5 txq         txq.width.b32 %r0, [%rd0];
2.0 bfe
2.0 bfi
2.0 bfind
2.0 brev
2.0 clz
2.0 copysign
2.0 cvta        cvta.global.u64 %rd0, %rd1;
2.0 isspacep    isspacep.shared %p0, %rd0;
2.0 ldu         ldu.global.b32 %r0, [%rd0];
2.0 popc
2.0 prefetch    prefetch.global.L2 [%rd0];
2.0 prefetchu   prefetchu.L1 [%rd0];
2.0 prmt
2.0 sured       sured.b.add.1d.u32.trap [%rd0, {%r1}], %r0;
2.0 testp
2.0 vabsdiff    vabsdiff.u32.u32.u32 %r0, %r1, %r2;
2.0 vadd        vadd.s32.u32.u32 %r0, %r1, %r2;
2.0 vmad        vmad.s32.s32.s32 %r0, %r1, %r2, %r3;
2.0 vmax        vmax.s32.s32.s32 %r0, %r1, %r2;
2.0 vmin        vmin.s32.s32.s32 %r0, %r1, %r2;
2.0 vset        vset.u32.u32.lt %r0, %r1, %r2;
2.0 vshl        vshl.u32.u32.u32.clamp %r0, %r1, %r2;
2.0 vshr        vshr.u32.u32.u32.clamp %r0, %r1, %r2;
2.0 vsub        vsub.s32.u32.u32 %r0, %r1, %r2;
2.1 rcp.approx.ftz.f64  rcp.approx.ftz.f64 %d0, %d1;
2.2 tld4        tld4.r.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%rd0, {%f4, %f5}];
3.0 madc
3.0 mad.cc      mad.lo.cc.u32 %r0, %r1, %r2, %r3;
3.0 shfl
3.0 vabsdiff2   vabsdiff2.u32.u32.u32 %r0, %r1, %r2, %r3;
3.0 vabsdiff4   vabsdiff4.u32.u32.u32 %r0, %r1, %r2, %r3;
3.0 vadd2       vadd2.u32.u32.u32 %r0, %r1, %r2, %r3;
3.0 vadd4       vadd4.u32.u32.u32 %r0, %r1, %r2, %r3;
3.0 vavrg2      vavrg2.u32.u32.u32 %r0, %r1, %r2, %r3;
3.0 vavrg4      vavrg4.u32.u32.u32 %r0, %r1, %r2, %r3;
3.0 vmax2       vmax2.u32.u32.u32 %r0, %r1, %r2, %r3;
3.0 vmax4       vmax4.u32.u32.u32 %r0, %r1, %r2, %r3;
3.0 vmin2       vmin2.u32.u32.u32 %r0, %r1, %r2, %r3;
3.0 vmin4       vmin4.u32.u32.u32 %r0, %r1, %r2, %r3;
3.0 vset2       vset2.u32.u32.lt %r0, %r1, %r2, %r3;
3.0 vset4       vset4.u32.u32.lt %r0, %r1, %r2, %r3;
3.0 vsub2       vsub2.u32.u32.u32 %r0, %r1, %r2, %r3;
3.0 vsub4       vsub4.u32.u32.u32 %r0, %r1, %r2, %r3;
3.1 shf
3.1 ld.global.nc  ld.global.nc.b32 %r0, [%rd0];
4.0 istypep     istypep.texref %p0, %rd0;
4.0 rsqrt.approx.ftz.f64  rsqrt.approx.ftz.f64 %d0, %d1;
4.3 lop3
5.0 dp2a
5.0 dp4a
6.0 barrier     barrier.sync 0;
6.0 bar.warp.sync  bar.warp.sync 0xffffffff;
6.0 brx         TABLE: .branchtargets DONE; brx.idx %r0, TABLE;
6.0 fence       fence.acq_rel.gpu;
6.0 fns
6.0 match
6.0 shfl.sync   shfl.sync.idx.b32 %r0, %r1, %r2, 31, 0xffffffff;
6.0 vote.sync   vote.sync.any.pred %p0, %p1, 0xffffffff;
6.0 wmma        wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7}, [sh];
6.2 activemask
6.3 nanosleep   nanosleep.u32 20;
6.4 mma
6.5 ldmatrix
6.5 cvt.pack    cvt.pack.sat.u16.s32 %r0, %r1, %r2;
7.0 cp.async    cp.async.ca.shared.global [sh], [%rd0], 16;
7.0 cp.async.commit_group  cp.async.commit_group;
7.0 cp.async.mbarrier.arrive  cp.async.mbarrier.arrive.shared.b64 [sh];
7.0 cp.async.wait_all  cp.async.wait_all;
7.0 cp.async.wait_group  cp.async.wait_group 0;
7.0 mbarrier.arrive  mbarrier.arrive.shared.b64 %rd0, [sh];
7.0 mbarrier.arrive_drop  mbarrier.arrive_drop.shared.b64 %rd0, [sh];
7.0 mbarrier.init  mbarrier.init.shared.b64 [sh], 32;
7.0 mbarrier.inval  mbarrier.inval.shared.b64 [sh];
7.0 mbarrier.pending_count  mbarrier.pending_count.b64 %r0, %rd0;
7.0 mbarrier.test_wait  mbarrier.test_wait.shared.b64 %p0, [sh], %rd0;
7.0 redux
7.0 tanh
7.1 mma.sp      mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%r0, %r1}, {%r2, %r3}, {%f0, %f1, %f2, %f3}, %r4, 0;
7.3 alloca      alloca.u64 %rd0, 16;
7.3 stackrestore  stackrestore.u64 %rd0;
7.3 stacksave   stacksave.u64 %rd0;
7.4 applypriority  applypriority.global.L2::evict_normal [%rd0], 128;
7.4 createpolicy  createpolicy.fractional.L2::evict_last.b64 %rd0, 1.0;
7.4 discard     discard.global.L2 [%rd0], 128;
7.5 fence.proxy  fence.proxy.alias;
7.5 membar.proxy  membar.proxy.alias;
7.6 bmsk
7.6 szext
7.8 barrier.cluster  barrier.cluster.arrive; barrier.cluster.wait;
7.8 getctarank  getctarank.u64 %r0, %rd0;
7.8 griddepcontrol  griddepcontrol.wait;
7.8 mapa        mapa.u64 %rd0, %rd1, %r0;
7.8 mbarrier.try_wait  mbarrier.try_wait.shared.b64 %p0, [sh], %rd0;
7.8 movmatrix
7.8 stmatrix
8.0 cp.async.bulk  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [sh], [%rd0], 16, [sh];
8.0 cp.async.bulk.commit_group  cp.async.bulk.commit_group;
8.0 cp.async.bulk.prefetch  cp.async.bulk.prefetch.L2.global [%rd0], 16;
8.0 cp.async.bulk.prefetch.tensor  cp.async.bulk.prefetch.tensor.1d.L2.global [%rd0, {%r0}];
8.0 cp.async.bulk.tensor  cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [sh], [%rd0, {%r0}], [sh];
8.0 cp.async.bulk.wait_group  cp.async.bulk.wait_group 0;
8.0 cp.reduce.async.bulk  cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd0], [sh], 16;
8.0 cp.reduce.async.bulk.tensor  cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.bulk_group [%rd0, {%r0}], [sh];
8.0 elect       elect.sync %r0|%p0, 0xffffffff;
8.0 mbarrier.complete_tx  mbarrier.complete_tx.shared.b64 [sh], 16;
8.0 mbarrier.expect_tx  mbarrier.expect_tx.shared.b64 [sh], 16;
8.0 setmaxnreg  setmaxnreg.inc.sync.aligned.u32 64;
8.0 wgmma.commit_group  wgmma.commit_group.sync.aligned;
8.0 wgmma.fence  wgmma.fence.sync.aligned;
8.0 wgmma.mma_async  wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %rd0, %rd1, 1, 1, 1, 0, 0;
8.0 wgmma.wait_group  wgmma.wait_group.sync.aligned 0;
8.1 multimem.ld_reduce  multimem.ld_reduce.relaxed.gpu.global.add.u32 %r0, [%rd0];
8.1 multimem.red  multimem.red.relaxed.gpu.global.add.u32 [%rd0], %r0;
8.1 multimem.st  multimem.st.relaxed.gpu.global.u32 [%rd0], %r0;
8.1 red.async   red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [sh], %r0, [sh];
8.1 st.async    st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [sh], %r0, [sh];
8.2 wgmma.mma_async.sp  wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 {%f0, %f1, %f2, %f3}, %rd0, %rd1, %r0, 0, 1, 1, 1, 0, 0;
8.3 tensormap.cp_fenceproxy  tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd0], [sh], 128;
8.3 tensormap.replace  tensormap.replace.tile.rank.global.b1024.b32 [%rd0], 1;
8.5 mma.sp::ordered_metadata  mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%r0, %r1}, {%r2, %r3}, {%f0, %f1, %f2, %f3}, %r4, 0;
8.6 clusterlaunchcontrol.query_cancel  clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p0, %y0;
8.6 clusterlaunchcontrol.try_cancel  clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [sh], [sh];
8.6 st.bulk     st.bulk.weak.shared::cta [%rd0], %rd1, 0;
8.6 tcgen05.alloc  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [sh], 32;
8.6 tcgen05.commit  tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64 [%rd0];
8.6 tcgen05.cp  tcgen05.cp.cta_group::1.128x256b [%r0], %rd0;
8.6 tcgen05.dealloc  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r0, 32;
8.6 tcgen05.fence  tcgen05.fence::before_thread_sync;
8.6 tcgen05.ld  tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r0}, [%r1];
8.6 tcgen05.mma  tcgen05.mma.cta_group::1.kind::f16 [%r0], %rd0, %rd1, %r1, %p0;
8.6 tcgen05.mma.sp  tcgen05.mma.sp.cta_group::1.kind::f16 [%r0], %rd0, %rd1, [%r1], %r2, %p0;
8.6 tcgen05.mma.ws  tcgen05.mma.ws.cta_group::1.kind::f16 [%r0], %rd0, %rd1, %r1, %p0;
8.6 tcgen05.mma.ws.sp  tcgen05.mma.ws.sp.cta_group::1.kind::f16 [%r0], %rd0, %rd1, [%r1], %r2, %p0;
8.6 tcgen05.relinquish_alloc_permit  tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
8.6 tcgen05.shift  tcgen05.shift.cta_group::1.down [%r0];
8.6 tcgen05.st  tcgen05.st.sync.aligned.32x32b.x1.b32 [%r0], {%r1};
8.6 tcgen05.wait  tcgen05.wait::ld.sync.aligned;
8.8 tcgen05.ld.red  tcgen05.ld.red.sync.aligned.32x32b.x2.f32.min {%r0, %r1}, %r2, [%r3];
9.1 multimem.cp.async.bulk  multimem.cp.async.bulk.global.shared::cta.bulk_group [%rd0], [sh], 16;
9.1 multimem.cp.reduce.async.bulk  multimem.cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd0], [sh], 16;
]]
