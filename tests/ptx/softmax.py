"""A Triton kernel and how softmax.ptx was made from it: python tests/ptx/softmax.py > tests/ptx/softmax.ptx"""
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def softmax(x, total, out, n, block: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, block)
    v = tl.load(x + row * n + i, mask=i < n, other=-float("inf"))
    v = tl.exp(v - tl.max(v, 0))
    sum = tl.sum(v, 0)
    tl.atomic_add(total, sum)
    tl.store(out + row * n + i, v / sum, mask=i < n)


source = ASTSource(
    fn=softmax,
    signature={"x": "*fp32", "total": "*fp32", "out": "*fp32", "n": "i32", "block": "constexpr"},
    constexprs={"block": 256},
)
print(triton.compile(source, target=GPUTarget("cuda", 80, 32)).asm["ptx"], end="")
