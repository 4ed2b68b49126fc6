"""A thread a lane in Triton: scalars that differ from thread to thread, and what goes with them.

Triton takes a scalar for one value of the whole program, and every thread holds a copy of it. Here
one instruction of inline PTX gives each thread another: its number. Whatever follows from it differs
by thread, too, `if` and `while` branch by lane, and a load is a thread's own. What Triton gives to
one thread alone, stores and atomics, and what it has no word for, votes and matches, are inline PTX
as well. No document promises this; it holds for the compiler that made the PTX beside the kernels,
and the judge and the simulator see whether it does.
"""

import triton
import triton.language as tl

from tsdf import EMPTY


@triton.jit
def thread():
    """The number of the thread in its program: a scalar that differs from thread to thread."""
    return tl.inline_asm_elementwise(
        "mov.u32 $0, %tid.x;", "=r", [], dtype=tl.int32, is_pure=False, pack=1
    )


@triton.jit
def ballot(predicate):
    """The lanes of the warp whose predicate is set; all lanes must come here."""
    return tl.inline_asm_elementwise(
        "{ .reg .pred p; setp.ne.b32 p, $1, 0; vote.sync.ballot.b32 $0, p, 0xffffffff; }", "=r,r",
        [predicate.to(tl.int32)], dtype=tl.int32, is_pure=False, pack=1,
    )


@triton.jit
def same_lanes(value):
    """The lanes of the warp with the same value; all lanes must come here."""
    return tl.inline_asm_elementwise(
        "match.any.sync.b64 $0, $1, 0xffffffff;", "=r,l", [value], dtype=tl.int32, is_pure=False,
        pack=1,
    )


@triton.jit
def swap(at, key):
    """Puts a key into an entry that is empty; what was there."""
    return tl.inline_asm_elementwise(
        "atom.relaxed.gpu.global.cas.b64 $0, [$1], $2, $3;", "=l,l,l,l",
        [at.to(tl.int64), tl.full((), EMPTY, tl.int64), key], dtype=tl.int64, is_pure=False, pack=1,
    )


@triton.jit
def count_one(at):
    """Adds one; what was there."""
    return tl.inline_asm_elementwise(
        "atom.relaxed.gpu.global.add.u32 $0, [$1], 1;", "=r,l", [at.to(tl.int64)], dtype=tl.int32,
        is_pure=False, pack=1,
    )


@triton.jit
def count_dropped(at):
    tl.inline_asm_elementwise(
        "red.relaxed.gpu.global.add.u64 [$1], 1; mov.u32 $0, 0;", "=r,l", [at.to(tl.int64)],
        dtype=tl.int32, is_pure=False, pack=1,
    )


@triton.jit
def put(at, value):
    """A store that others' loads may race with."""
    tl.inline_asm_elementwise(
        "st.relaxed.gpu.global.b32 [$1], $2; mov.u32 $0, 0;", "=r,l,r", [at.to(tl.int64), value],
        dtype=tl.int32, is_pure=False, pack=1,
    )


@triton.jit
def add_to(at, value):
    """Adds a binary32 number."""
    tl.inline_asm_elementwise(
        "red.relaxed.gpu.global.add.f32 [$1], $2; mov.u32 $0, 0;", "=r,l,r", [at.to(tl.int64), value],
        dtype=tl.int32, is_pure=False, pack=1,
    )


@triton.jit
def entry_at(at):
    """The key and the block of an entry, in one load."""
    key, block = tl.inline_asm_elementwise(
        "ld.global.v2.b64 {$0, $1}, [$2];", "=l,=l,l", [at.to(tl.int64)],
        dtype=(tl.int64, tl.int64), is_pure=False, pack=1,
    )
    return key, block.to(tl.int32)
