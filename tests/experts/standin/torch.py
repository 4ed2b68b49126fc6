"""A stand-in for PyTorch over the driver that libcuda.so.1 is: vectors of f32 that live where the
runner's buffers are, and a product of a number with one, worked out when it is copied, so that the
replay of a graph computes anew. It notes how it was used."""
import ctypes
import struct

__version__ = "stand-in"
float32 = bfloat16 = "f32"
driver = ctypes.CDLL("libcuda.so.1")
driver.cuMemcpyDtoH_v2.argtypes = [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_size_t]
driver.cuMemcpyHtoD_v2.argtypes = [ctypes.c_uint64, ctypes.c_void_p, ctypes.c_size_t]


class Tensor:
    def __init__(self, address, shape, factor=1):
        self.address, self.shape, self.factor = address, tuple(shape), factor

    def __rmul__(self, a):
        return Tensor(self.address, self.shape, a * self.factor)

    def reshape(self, shape):
        assert tuple(shape) == self.shape
        return self

    def copy_(self, other):
        data = (ctypes.c_float * self.shape[0])()
        assert driver.cuMemcpyDtoH_v2(data, other.address, ctypes.sizeof(data)) == 0
        for i, value in enumerate(data):
            data[i] = other.factor * value
        assert driver.cuMemcpyHtoD_v2(self.address, data, ctypes.sizeof(data)) == 0


class utils:
    class dlpack:
        @staticmethod
        def from_dlpack(capsule):
            pointer = ctypes.pythonapi.PyCapsule_GetPointer
            pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
            raw = ctypes.string_at(pointer(capsule, b"dltensor"), 64)
            data, kind, device, ndim, code, bits, lanes, shape, strides, offset, _, deleter = (
                struct.unpack("QiiiBBHQQQQQ", raw))
            assert (kind, device, lanes) == (2, 0, 1)
            if (code, bits) != (2, 32):
                cuda.note(f"type {code}/{bits}")
            assert not (strides or offset or deleter)
            return Tensor(data, (ctypes.c_int64 * ndim).from_address(shape))


def compile(f, dynamic, mode="default"):
    def compiled(*a):
        cuda.note("compiled " + mode)
        return f(*a)
    return compiled


class no_grad:
    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


class compiler:
    @staticmethod
    def reset():
        cuda.note("reset")

    @staticmethod
    def cudagraph_mark_step_begin():
        cuda.note("step")


class nn:
    functional = None


class backends:
    class cuda:
        class matmul:
            allow_tf32 = True

    class cudnn:
        allow_tf32 = True
        benchmark = False


class cuda:
    seen = []

    @classmethod
    def note(cls, what):
        if what not in cls.seen:
            cls.seen.append(what)

    class ExternalStream:
        def __init__(self, stream):
            assert stream != 0

    class Stream:
        pass

    @staticmethod
    def set_device(device):
        assert device == 0

    @staticmethod
    def set_stream(stream):
        cuda.note("stream")

    @staticmethod
    def empty_cache():
        cuda.note("emptied")

    @staticmethod
    def synchronize():
        pass

    class CUDAGraph:
        def replay(self):
            cuda.note("replay")

    class graph:
        def __init__(self, graph, stream):
            pass

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass
