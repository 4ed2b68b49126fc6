// Inline assembly: the same names in many scopes, carry chains, predicates, vector operands.
__device__ void wait(unsigned bar, unsigned phase) {
  asm volatile("{\n .reg .pred done;\n AGAIN:\n"
               " mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
               " @done bra OVER;\n bra AGAIN;\n OVER:\n}" ::"r"(bar), "r"(phase) : "memory");
}

extern "C" __global__ void assembly(unsigned *x, unsigned long long *y, float4 *z) {
  __shared__ unsigned long long barrier;
  unsigned bar = (unsigned)__cvta_generic_to_shared(&barrier), low, high, a = x[0], lanes;
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(bar), "r"(blockDim.x));
  __syncthreads();
  asm volatile("{ .reg .b64 state; mbarrier.arrive.shared::cta.b64 state, [%0]; }" ::"r"(bar));
  wait(bar, 0);
  wait(bar, 1);
  asm("add.cc.u32 %0, %2, %3; addc.u32 %1, %2, 0x0;" : "=r"(low), "=r"(high) : "r"(a), "r"(x[1]));
  asm("mov.b64 %0, {%1, %2};" : "=l"(y[0]) : "r"(low), "r"(high));
  asm("{ .reg .pred p, q, r; setp.eq.u32 r, %1, 3; setp.lt.and.u32 p|q, %1, 7, r; @!p bra L; L: selp.b32 %0, 1, (2+3)*4, q; }"
      : "=r"(lanes) : "r"(a));
  float4 v;
  asm volatile("ld.global.nc.L1::no_allocate.v4.f32 {%0, %1, %2, %3}, [%4 + 16];"
               : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(z));
  asm volatile("{ .reg .b32 t<3>; .reg .pred p; activemask.b32 t0; match.all.sync.b32 t1|p, %1, t0;\n"
               "  { .reg .b64 t1; mov.u64 t1, %%globaltimer; st.global.b64 [%0+-8], t1; }\n"
               "  @p st.global.b32 [%0], t1; }" ::"l"(y), "r"(lanes) : "memory");
  z[0] = make_float4(v.x + __shfl_xor_sync(~0u, v.y, 1), v.z, v.w, __int_as_float(__any_sync(~0u, a)));
}
