"""Evaluates one saxpy candidate the way a script around CuPy would: compile with RawModule (NVRTC), check against
numpy in float64, time with events. Prints the time since the process started.

    python3 tests/gpu/bench_cupy.py CANDIDATE.cu
"""
import os
import sys


def since_start():
    """Seconds since this process started, from /proc (its resolution is a clock tick, 10 ms)."""
    ticks = float(open("/proc/self/stat").read().rsplit(")", 1)[1].split()[19])
    uptime = float(open("/proc/uptime").read().split()[0])
    return uptime - ticks / os.sysconf("SC_CLK_TCK")


start = since_start()

import cupy  # noqa: E402  (its import is part of what is measured)
import numpy  # noqa: E402

CHECK_SIZES = (1, 255, 256, 1000, 65537)
TIMED_SIZE = 1 << 22
SAMPLES = 200


def inputs(n, seed):
    rng = numpy.random.default_rng(seed)
    return [rng.uniform(-1, 1, n).astype(numpy.float32) for _ in range(2)]


def launch(kernel, x, y, z, n):
    kernel(((n + 255) // 256,), (256,), (x, y, z, numpy.float32(2.5), numpy.int32(n)))


def check(kernel, n, seed):
    x, y = inputs(n, seed)
    z = cupy.full(n, numpy.nan, dtype=numpy.float32)
    launch(kernel, cupy.asarray(x), cupy.asarray(y), z, n)
    want = 2.5 * x.astype(numpy.float64) + y
    numpy.testing.assert_allclose(z.get(), want, rtol=1e-6, atol=1e-6)


def measure(kernel, n):
    x, y = (cupy.asarray(a) for a in inputs(n, 7))
    z = cupy.empty(n, dtype=numpy.float32)
    flush = cupy.empty(128 << 20, dtype=numpy.uint8)
    times = []
    for _ in range(SAMPLES):
        flush.fill(0)
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        begin.record()
        launch(kernel, x, y, z, n)
        end.record()
        end.synchronize()
        times.append(1e3 * cupy.cuda.get_elapsed_time(begin, end))
    return sorted(times)[SAMPLES // 2]


def main():
    source = open(sys.argv[1]).read()
    imported = since_start()
    module = cupy.RawModule(code=source, backend="nvrtc", options=("--std=c++17",))
    kernel = module.get_function("saxpy")
    compiled = since_start()
    for seed in range(3):
        for n in CHECK_SIZES:
            check(kernel, n, seed)
    checked = since_start()
    median = measure(kernel, TIMED_SIZE)
    print(f"saxpy passed, median {median:.1f} us (n = {TIMED_SIZE}, L2 flushed)")
    print(f"python {start:.2f} s, imports by {imported:.2f} s, compiled by {compiled:.2f} s, "
          f"checked by {checked:.2f} s, timed by {since_start():.2f} s since process start")


if __name__ == "__main__":
    main()
