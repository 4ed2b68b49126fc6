//! Kernels in Rust: indices, lanes, barriers, memory with scopes, atomics, shared memory, and the
//! arithmetic that `core` has no stable name for. No std and no alloc; nothing here panics.
//!
//! Atomics and ordered loads and stores are relaxed, or as named, at the scope of the GPU: `core`'s
//! own atomics are of the whole system, which is slower. They work on global memory.
#![no_std]
#![allow(internal_features, clippy::missing_safety_doc)]
#![feature(abi_unadjusted, asm_experimental_arch, core_intrinsics, link_llvm_intrinsics)]

use core::arch::asm;
use core::intrinsics;

// ---- indices ----

macro_rules! special {
    ($($(#[$doc:meta])* $name:ident = $register:literal;)*) => { $(
        $(#[$doc])*
        #[inline(always)]
        pub fn $name() -> u32 {
            let value: u32;
            unsafe {
                asm!(concat!("mov.u32 {}, ", $register, ";"), out(reg32) value,
                     options(pure, nomem, nostack, preserves_flags));
            }
            value
        }
    )* };
}

special! {
    /// threadIdx.x
    thread_x = "%tid.x";
    /// threadIdx.y
    thread_y = "%tid.y";
    /// threadIdx.z
    thread_z = "%tid.z";
    /// blockIdx.x
    block_x = "%ctaid.x";
    /// blockIdx.y
    block_y = "%ctaid.y";
    /// blockIdx.z
    block_z = "%ctaid.z";
    /// blockDim.x
    block_size_x = "%ntid.x";
    /// blockDim.y
    block_size_y = "%ntid.y";
    /// blockDim.z
    block_size_z = "%ntid.z";
    /// gridDim.x
    grid_size_x = "%nctaid.x";
    /// gridDim.y
    grid_size_y = "%nctaid.y";
    /// gridDim.z
    grid_size_z = "%nctaid.z";
    /// Place of the thread in its warp, 0 to 31.
    lane = "%laneid";
}

/// blockIdx.x * blockDim.x + threadIdx.x
#[inline(always)]
pub fn global_x() -> u32 {
    block_x() * block_size_x() + thread_x()
}

// ---- warps and blocks ----

/// The member mask of a whole warp.
pub const FULL_WARP: u32 = 0xffff_ffff;

// What exchanges between lanes must stay where it is written: LLVM may neither copy it into two
// branches nor move it out of one. Its intrinsics are marked so ("convergent"); inline assembly in
// Rust cannot be, so it must not be used for them.
#[allow(improper_ctypes)]
unsafe extern "unadjusted" {
    #[link_name = "llvm.nvvm.barrier.cta.sync.aligned.all"]
    fn barrier(number: u32);
    #[link_name = "llvm.nvvm.bar.warp.sync"]
    fn bar_warp_sync(members: u32);
    #[link_name = "llvm.nvvm.vote.ballot.sync"]
    fn vote_ballot(members: u32, predicate: bool) -> u32;
    #[link_name = "llvm.nvvm.vote.any.sync"]
    fn vote_any(members: u32, predicate: bool) -> bool;
    #[link_name = "llvm.nvvm.vote.all.sync"]
    fn vote_all(members: u32, predicate: bool) -> bool;
    #[link_name = "llvm.nvvm.match.any.sync.i32"]
    fn match_any_b32(members: u32, value: u32) -> u32;
    #[link_name = "llvm.nvvm.match.any.sync.i64"]
    fn match_any_b64(members: u32, value: u64) -> u32;
    #[link_name = "llvm.nvvm.activemask"]
    fn activemask() -> u32;
    #[link_name = "llvm.nvvm.shfl.sync.idx.i32"]
    fn shfl_idx(members: u32, value: u32, by: u32, clamp: u32) -> u32;
    #[link_name = "llvm.nvvm.shfl.sync.up.i32"]
    fn shfl_up(members: u32, value: u32, by: u32, clamp: u32) -> u32;
    #[link_name = "llvm.nvvm.shfl.sync.down.i32"]
    fn shfl_down(members: u32, value: u32, by: u32, clamp: u32) -> u32;
    #[link_name = "llvm.nvvm.shfl.sync.bfly.i32"]
    fn shfl_bfly(members: u32, value: u32, by: u32, clamp: u32) -> u32;
}

/// __syncthreads
#[inline(always)]
pub fn sync_threads() {
    unsafe { barrier(0) }
}

/// __syncwarp
#[inline(always)]
pub fn sync_warp(members: u32) {
    unsafe { bar_warp_sync(members) }
}

/// __activemask
#[inline(always)]
pub fn active_mask() -> u32 {
    unsafe { activemask() }
}

/// __ballot_sync: the lanes of `members` whose `predicate` holds.
#[inline(always)]
pub fn ballot(members: u32, predicate: bool) -> u32 {
    unsafe { vote_ballot(members, predicate) }
}

/// __any_sync
#[inline(always)]
pub fn any(members: u32, predicate: bool) -> bool {
    unsafe { vote_any(members, predicate) }
}

/// __all_sync
#[inline(always)]
pub fn all(members: u32, predicate: bool) -> bool {
    unsafe { vote_all(members, predicate) }
}

/// __match_any_sync: the lanes of `members` that hold the same value.
#[inline(always)]
pub fn match_any_u64(members: u32, value: u64) -> u32 {
    unsafe { match_any_b64(members, value) }
}

/// __match_any_sync
#[inline(always)]
pub fn match_any_u32(members: u32, value: u32) -> u32 {
    unsafe { match_any_b32(members, value) }
}

/// The lowest lane of a mask; u32::MAX when it is empty. Without a branch, which LLVM makes of
/// trailing_zeros.
#[inline(always)]
pub fn first_lane(mask: u32) -> u32 {
    let lane: u32;
    unsafe {
        asm!("bfind.shiftamt.u32 {}, {};", out(reg32) lane, in(reg32) mask.reverse_bits(),
             options(pure, nomem, nostack));
    }
    lane
}

macro_rules! shuffle {
    ($($(#[$doc:meta])* $name:ident, $float:ident = $intrinsic:ident, $clamp:literal;)*) => { $(
        $(#[$doc])*
        #[inline(always)]
        pub fn $name(members: u32, value: u32, by: u32) -> u32 {
            unsafe { $intrinsic(members, value, by, $clamp) }
        }
        $(#[$doc])*
        #[inline(always)]
        pub fn $float(members: u32, value: f32, by: u32) -> f32 {
            f32::from_bits($name(members, value.to_bits(), by))
        }
    )* };
}

shuffle! {
    /// __shfl_sync: the value of lane `by`.
    shuffle, shuffle_f32 = shfl_idx, 31;
    /// __shfl_up_sync: the value of the lane `by` below; its own where there is none.
    shuffle_up, shuffle_up_f32 = shfl_up, 0;
    /// __shfl_down_sync: the value of the lane `by` above; its own where there is none.
    shuffle_down, shuffle_down_f32 = shfl_down, 31;
    /// __shfl_xor_sync: the value of the lane whose number differs in the bits `by`.
    shuffle_xor, shuffle_xor_f32 = shfl_bfly, 31;
}

// ---- memory ----

macro_rules! access {
    ($($(#[$doc:meta])* $load:ident, $store:ident: $ty:ty, $reg:ident = $suffix:literal;)*) => { $(
        $(#[$doc])*
        #[inline(always)]
        pub unsafe fn $load(at: *const $ty) -> $ty {
            let value: $ty;
            unsafe {
                asm!(concat!("ld.relaxed.gpu.global.", $suffix, " {}, [{}];"), out($reg) value,
                     in(reg64) global(at), options(nostack));
            }
            value
        }
        $(#[$doc])*
        #[inline(always)]
        pub unsafe fn $store(at: *mut $ty, value: $ty) {
            unsafe {
                asm!(concat!("st.relaxed.gpu.global.", $suffix, " [{}], {};"),
                     in(reg64) global(at), in($reg) value, options(nostack));
            }
        }
    )* };
}

/// The address in global memory of a pointer from the kernel's parameters.
#[inline(always)]
fn global<T>(at: *const T) -> u64 {
    let address: u64;
    unsafe {
        asm!("cvta.to.global.u64 {}, {};", out(reg64) address, in(reg64) at as u64,
             options(pure, nomem, nostack));
    }
    address
}

access! {
    /// An access that others' accesses may race with; never served from a stale L1 line.
    load_relaxed_u32, store_relaxed_u32: u32, reg32 = "b32";
    /// An access that others' accesses may race with; never served from a stale L1 line.
    load_relaxed_i32, store_relaxed_i32: i32, reg32 = "b32";
    /// An access that others' accesses may race with; never served from a stale L1 line.
    load_relaxed_u64, store_relaxed_u64: u64, reg64 = "b64";
    /// An access that others' accesses may race with; never served from a stale L1 line.
    load_relaxed_f32, store_relaxed_f32: f32, reg32 = "f32";
}

/// A fence and the store in one: who acquires the value sees what was written before.
#[inline(always)]
pub unsafe fn store_release_i32(at: *mut i32, value: i32) {
    unsafe {
        asm!("st.release.gpu.global.b32 [{}], {};", in(reg64) global(at), in(reg32) value,
             options(nostack));
    }
}

/// A load that sees what was written before the release whose value it reads.
#[inline(always)]
pub unsafe fn load_acquire_i32(at: *const i32) -> i32 {
    let value: i32;
    unsafe {
        asm!("ld.acquire.gpu.global.b32 {}, [{}];", out(reg32) value, in(reg64) global(at),
             options(nostack));
    }
    value
}

/// __threadfence
#[inline(always)]
pub fn fence() {
    unsafe { asm!("fence.sc.gpu;", options(nostack)) }
}

/// 16 bytes in one load; `at` is a multiple of 16.
#[inline(always)]
pub unsafe fn load_u64x2(at: *const u64) -> (u64, u64) {
    let both = unsafe { *(at as *const u128) };
    (both as u64, (both >> 64) as u64)
}

/// The same of memory that others' accesses may race with: each half is read whole.
#[inline(always)]
pub unsafe fn load_relaxed_u64x2(at: *const u64) -> (u64, u64) {
    let (low, high): (u64, u64);
    unsafe {
        asm!("ld.relaxed.gpu.global.v2.b64 {{{}, {}}}, [{}];", out(reg64) low, out(reg64) high,
             in(reg64) global(at), options(nostack));
    }
    (low, high)
}

/// The same of memory that nobody writes while the kernel runs.
#[inline(always)]
pub unsafe fn load_constant_u64x2(at: *const u64) -> (u64, u64) {
    let (low, high): (u64, u64);
    unsafe {
        asm!("ld.global.nc.v2.b64 {{{}, {}}}, [{}];", out(reg64) low, out(reg64) high,
             in(reg64) global(at), options(pure, readonly, nostack));
    }
    (low, high)
}

macro_rules! stream {
    ($($load:ident, $store:ident: $ty:ty, $reg:ident = $suffix:literal;)*) => { $(
        /// __ldcs: of what is read once, and may leave the caches first.
        #[inline(always)]
        pub unsafe fn $load(at: *const $ty) -> $ty {
            let value: $ty;
            unsafe {
                asm!(concat!("ld.global.cs.", $suffix, " {}, [{}];"), out($reg) value,
                     in(reg64) global(at), options(pure, readonly, nostack));
            }
            value
        }
        /// __stcs: of what is not read again soon, and may leave the caches first.
        #[inline(always)]
        pub unsafe fn $store(at: *mut $ty, value: $ty) {
            unsafe {
                asm!(concat!("st.global.cs.", $suffix, " [{}], {};"), in(reg64) global(at),
                     in($reg) value, options(nostack));
            }
        }
    )* };
}

stream! {
    load_streaming_u32, store_streaming_u32: u32, reg32 = "b32";
    load_streaming_u64, store_streaming_u64: u64, reg64 = "b64";
}

// ---- atomics ----

macro_rules! atomic {
    ($($(#[$doc:meta])* $name:ident: $ty:ty, $reg:ident = $operation:literal;)*) => { $(
        $(#[$doc])*
        #[inline(always)]
        pub unsafe fn $name(at: *mut $ty, value: $ty) -> $ty {
            let old: $ty;
            unsafe {
                asm!(concat!("atom.relaxed.gpu.global.", $operation, " {}, [{}], {};"),
                     out($reg) old, in(reg64) global(at), in($reg) value, options(nostack));
            }
            old
        }
    )* };
}

atomic! {
    /// The sum is stored, the old value returned.
    atomic_add_u32: u32, reg32 = "add.u32";
    /// The sum is stored, the old value returned.
    atomic_add_i32: i32, reg32 = "add.u32";
    /// The sum is stored, the old value returned.
    atomic_add_u64: u64, reg64 = "add.u64";
    /// The sum is stored, the old value returned.
    atomic_add_f32: f32, reg32 = "add.f32";
    /// The smaller is stored, the old value returned.
    atomic_min_u32: u32, reg32 = "min.u32";
    /// The larger is stored, the old value returned.
    atomic_max_u32: u32, reg32 = "max.u32";
    /// `value` is stored, the old value returned.
    atomic_exchange_u32: u32, reg32 = "exch.b32";
    /// `value` is stored, the old value returned.
    atomic_exchange_u64: u64, reg64 = "exch.b64";
}

macro_rules! reduce {
    ($($(#[$doc:meta])* $name:ident: $ty:ty, $reg:ident = $operation:literal;)*) => { $(
        $(#[$doc])*
        #[inline(always)]
        pub unsafe fn $name(at: *mut $ty, value: $ty) {
            unsafe {
                asm!(concat!("red.relaxed.gpu.global.", $operation, " [{}], {};"),
                     in(reg64) global(at), in($reg) value, options(nostack));
            }
        }
    )* };
}

reduce! {
    /// Add without asking for the old value, which is cheaper.
    add_u32: u32, reg32 = "add.u32";
    /// Add without asking for the old value, which is cheaper.
    add_i32: i32, reg32 = "add.s32";
    /// Add without asking for the old value, which is cheaper.
    add_u64: u64, reg64 = "add.u64";
    /// Add without asking for the old value, which is cheaper.
    add_f32: f32, reg32 = "add.f32";
}

macro_rules! compare_and_swap {
    ($($name:ident: $ty:ty, $reg:ident = $bits:literal;)*) => { $(
        /// Stores `new` when `expected` is there; returns what was there.
        #[inline(always)]
        pub unsafe fn $name(at: *mut $ty, expected: $ty, new: $ty) -> $ty {
            let old: $ty;
            unsafe {
                asm!(concat!("atom.relaxed.gpu.global.cas.", $bits, " {}, [{}], {}, {};"),
                     out($reg) old, in(reg64) global(at), in($reg) expected, in($reg) new,
                     options(nostack));
            }
            old
        }
    )* };
}

compare_and_swap! {
    compare_and_swap_u32: u32, reg32 = "b32";
    compare_and_swap_u64: u64, reg64 = "b64";
}

/// Four sums by one instruction (sm_90 and later); `at` is a multiple of 16.
#[inline(always)]
pub unsafe fn add_f32x4(at: *mut f32, a: f32, b: f32, c: f32, d: f32) {
    unsafe {
        asm!("red.relaxed.gpu.global.add.v4.f32 [{}], {{{}, {}, {}, {}}};", in(reg64) global(at),
             in(reg32) a, in(reg32) b, in(reg32) c, in(reg32) d, options(nostack));
    }
}

// ---- shared memory ----

/// `shared!(T, N)`: a `*mut T` to room for N values in the block's shared memory, not initialised.
/// Every expansion is a variable of its own, so write it once, at the start of a kernel.
#[macro_export]
macro_rules! shared {
    ($ty:ty, $count:expr) => {{
        let address: u64;
        #[allow(unused_unsafe)]
        unsafe {
            core::arch::asm!(
                "{{ .shared .align 16 .b8 room[{1}]; .reg .u64 at; mov.u64 at, room; \
                 cvta.shared.u64 {0}, at; }}",
                out(reg64) address, const $count * core::mem::size_of::<$ty>(),
                options(nomem, nostack));
        }
        address as *mut $ty
    }};
}

/// `dynamic_shared!(room: T);` once in a file, outside of functions: `room()` is a `*mut T` to the
/// shared memory whose size the launch says.
#[macro_export]
macro_rules! dynamic_shared {
    ($name:ident: $ty:ty) => {
        core::arch::global_asm!(".extern .shared .align 16 .b8 dynamic_shared[];");

        #[inline(always)]
        fn $name() -> *mut $ty {
            let address: u64;
            unsafe {
                core::arch::asm!(
                    "{{ .reg .u64 at; mov.u64 at, dynamic_shared; cvta.shared.u64 {}, at; }}",
                    out(reg64) address, options(pure, nomem, nostack));
            }
            address as *mut $ty
        }
    };
}

/// The address in shared memory of a pointer that `shared!` gave.
#[inline(always)]
fn in_shared<T>(at: *const T) -> u64 {
    let address: u64;
    unsafe {
        asm!("cvta.to.shared.u64 {}, {};", out(reg64) address, in(reg64) at as u64,
             options(pure, nomem, nostack));
    }
    address
}

/// Adds to a value in shared memory; the old one is returned.
#[inline(always)]
pub unsafe fn atomic_add_shared_u32(at: *mut u32, value: u32) -> u32 {
    let old: u32;
    unsafe {
        asm!("atom.relaxed.cta.shared.add.u32 {}, [{}], {};", out(reg32) old,
             in(reg64) in_shared(at), in(reg32) value, options(nostack));
    }
    old
}

/// Stores `new` in shared memory when `expected` is there; returns what was there.
#[inline(always)]
pub unsafe fn compare_and_swap_shared_u64(at: *mut u64, expected: u64, new: u64) -> u64 {
    let old: u64;
    unsafe {
        asm!("atom.relaxed.cta.shared.cas.b64 {}, [{}], {}, {};", out(reg64) old,
             in(reg64) in_shared(at), in(reg64) expected, in(reg64) new, options(nostack));
    }
    old
}

/// Of shared memory that others of the block may write.
#[inline(always)]
pub unsafe fn load_relaxed_shared_u64(at: *const u64) -> u64 {
    let value: u64;
    unsafe {
        asm!("ld.relaxed.cta.shared.b64 {}, [{}];", out(reg64) value, in(reg64) in_shared(at),
             options(nostack));
    }
    value
}

// ---- launch bounds ----

/// `launch_bounds!(256, 4);` at the start of a kernel: it is launched with at most 256 threads a
/// block, and its registers are to let 4 blocks run on a multiprocessor. Rust has no attribute for
/// it: the comment that stands in the PTX is made a directive when that is tidied.
#[macro_export]
macro_rules! launch_bounds {
    ($threads:literal, $blocks:literal) => {
        #[allow(unused_unsafe)]
        unsafe {
            core::arch::asm!(concat!("// launch-bounds ", $threads, " ", $blocks),
                             options(nomem, nostack, preserves_flags));
        }
    };
}

// ---- constants ----

/// A constant that a knob or a macro of a plan sets: `const BLOCK: u32 =
/// constant(option_env!("BLOCK"), 256);`
pub const fn constant(text: Option<&str>, default: u32) -> u32 {
    let Some(text) = text else { return default };
    let (digits, mut value, mut i) = (text.as_bytes(), 0, 0);
    while i < digits.len() {
        value = 10 * value + (digits[i] - b'0') as u32;
        i += 1;
    }
    value
}

// ---- arithmetic ----

/// a * b + c, rounded once
#[inline(always)]
pub fn fma(a: f32, b: f32, c: f32) -> f32 {
    intrinsics::fmaf32(a, b, c)
}

/// The correctly rounded square root.
#[inline(always)]
pub fn sqrt(x: f32) -> f32 {
    intrinsics::sqrtf32(x)
}

/// The largest integer that is not above x; saturates.
#[inline(always)]
pub fn floor_i32(x: f32) -> i32 {
    let value: i32;
    unsafe {
        asm!("cvt.rmi.s32.f32 {}, {};", out(reg32) value, in(reg32) x,
             options(pure, nomem, nostack));
    }
    value
}

/// min and max of PTX: a NaN gives way to a number.
#[inline(always)]
pub fn min(a: f32, b: f32) -> f32 {
    let value: f32;
    unsafe {
        asm!("min.f32 {}, {}, {};", out(reg32) value, in(reg32) a, in(reg32) b,
             options(pure, nomem, nostack));
    }
    value
}

/// See `min`.
#[inline(always)]
pub fn max(a: f32, b: f32) -> f32 {
    let value: f32;
    unsafe {
        asm!("max.f32 {}, {}, {};", out(reg32) value, in(reg32) a, in(reg32) b,
             options(pure, nomem, nostack));
    }
    value
}
