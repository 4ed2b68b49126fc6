"""Perigee inside Python, by ctypes: python3 axpy.py LIBPERIGEE.SO [DEVICE]."""
import ctypes
import sys

SOURCE = b"""
extern "C" __global__ void axpy(float a, const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i];
}
"""
N = 1000

if len(sys.argv) < 2:
    raise SystemExit("usage: python3 axpy.py LIBPERIGEE.SO [DEVICE]")
pg = ctypes.CDLL(sys.argv[1])
pg.pg_error_new.restype = ctypes.c_void_p
pg.pg_error_message.restype = ctypes.c_char_p
error = ctypes.c_void_p(pg.pg_error_new())
device, module, kernel = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
ref = ctypes.byref


def check(status):
    if status:
        raise SystemExit(pg.pg_error_message(error).decode())


def upload(array):
    at, size = ctypes.c_uint64(), ctypes.c_size_t(ctypes.sizeof(array))
    check(pg.pg_alloc(device, size, ref(at), error))
    check(pg.pg_upload(device, at, array, size, error))
    return at


spec = sys.argv[2].encode() if len(sys.argv) > 2 else b"auto"
check(pg.pg_open(spec, ref(device), error))
check(pg.pg_build(device, SOURCE, b"axpy.cu", None, 0, ref(module), error))
check(pg.pg_find_kernel(device, module, b"axpy", ref(kernel), error))

x, y = (ctypes.c_float * N)(*range(N)), (ctypes.c_float * N)()
arguments = [ctypes.c_float(2), upload(x), upload(y), ctypes.c_int(N)]
pointers = (ctypes.c_void_p * 4)(*[ctypes.addressof(a) for a in arguments])
grid, block = (ctypes.c_uint32 * 3)(4, 1, 1), (ctypes.c_uint32 * 3)(256, 1, 1)
check(pg.pg_start(device, kernel, grid, block, 0, pointers, 4, error))
check(pg.pg_sync(device, error))
check(pg.pg_download(device, y, arguments[2], ctypes.c_size_t(4 * N), error))
wrong = sum(y[i] != 2 * i for i in range(N))
print(f"{wrong} of {N} elements wrong")
pg.pg_close(device)
pg.pg_error_free(error)
sys.exit(wrong > 0)
