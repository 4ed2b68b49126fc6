"""A PyTorch arm in a trusted runner: what lua/perigee/lib/torch.lua runs in the interpreter that it
has embedded. Tensors are views of the runner's buffers; two C callbacks enqueue a run and, after
the clock has stopped, copy what PyTorch allocated into the task's outputs."""
import ctypes
import gc
import json
import os
import textwrap
import traceback

# dtype: DLPack's code and bits. Unsigned numbers of more than 8 bits are given as signed ones of the
# same bits: PyTorch has types for them and few operations, not even the copy of "reduce-overhead".
TYPES = {"f64": (2, 64), "f32": (2, 32), "f16": (2, 16), "bf16": (4, 16), "bool": (6, 8),
         "i8": (0, 8), "i16": (0, 16), "i32": (0, 32), "i64": (0, 64),
         "u8": (1, 8), "u16": (0, 16), "u32": (0, 32), "u64": (0, 64)}
# What is compiled is little, and the helpers of many threads take seconds to start.
os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
CUDA = 2
CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)
WARMUP = 3


class Managed(ctypes.Structure):
    """DLPack's DLManagedTensor."""
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32),
                ("device", ctypes.c_int32), ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8),
                ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("offset", ctypes.c_uint64),
                ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


def tensor(torch, buffer, address, device, keep):
    """A view of the runner's memory on `device`, DLPack's kind and number. `keep` holds what must
    live as long as it."""
    new_capsule = ctypes.pythonapi.PyCapsule_New
    new_capsule.restype, new_capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p,
                                                                   ctypes.c_void_p]
    shape = buffer["shape"]
    extents = (ctypes.c_int64 * max(1, len(shape)))(*shape)
    code, bits = TYPES[buffer["dtype"]]
    managed = Managed(address, *device, len(shape), code, bits, 1, extents)
    keep.append((extents, managed))
    return torch.utils.dlpack.from_dlpack(new_capsule(ctypes.addressof(managed), b"dltensor", None))


def function(torch, request, inputs):
    """The task's lines as a function of its inputs; parameters are global names in it."""
    scope = dict(request["params"], torch=torch, F=getattr(torch.nn, "functional", None))
    body = textwrap.indent(textwrap.dedent(request["source"]).strip("\n"), "    ")
    exec(compile(f"def f({', '.join(inputs)}):\n{body}\n", request["name"], "exec"), scope)
    return scope["f"]


# What an operation loads when it is first called, and what the compiler makes once.
FIRST_CALLS = {
    "libraries": ["a @ a", "a.half() @ a.half()", "torch.nn.functional.conv2d(x, x)",
                  "torch.fft.fft(a)", "torch.linalg.cholesky_ex(a)", "torch.linalg.solve_ex(a, a)",
                  "a.to_sparse_csr() @ a[0]", "torch.sort(a[0])", "torch.softmax(a, 1).sum()"],
    "compile": ["torch.compile(lambda a: a + 1)(a)"],
}


def warm(what):
    """Import ahead of need; with "libraries" the device's, too. What fails here is told later."""
    words = what.split()
    try:
        import torch
        if "compile" in words:
            import torch._inductor.compile_fx
        if "libraries" not in words:
            return
        a = torch.eye(64, device="cuda")
        scope = {"torch": torch, "a": a, "x": a.view(1, 1, 64, 64)}
    except Exception:  # noqa: BLE001
        return
    for line in [line for word in words for line in FIRST_CALLS[word]]:
        try:
            eval(line, scope)
        except Exception:  # noqa: BLE001
            pass
    torch.cuda.synchronize()


class Arm:
    def __init__(self, request):
        import torch
        self.torch = torch
        device = self.begin(request)
        names = [b["name"] for b in request["buffers"]]
        by_name = {b["name"]: b for b in request["buffers"]}
        inputs = [n for n in names if by_name[n]["role"] == "input"]
        self.outputs = [n for n in names if by_name[n]["role"] == "output"]
        self.memory = []
        sets = [{n: tensor(torch, by_name[n], io[n], device, self.memory)
                 for n in inputs + self.outputs} for io in request["sets"]]
        self.into = [[io[n] for n in self.outputs] for io in sets]
        self.made = [None] * len(sets)
        f = function(torch, request, inputs)
        arguments = [[io[n] for n in inputs] for io in sets]
        with torch.no_grad():
            self.calls = getattr(self, request["mode"])(f, arguments)
            for _ in range(WARMUP):
                for number in range(len(sets)):
                    self.enqueue(number)
                    self.finish(number)
            self.wait()

    # ---- where it runs ----

    def begin(self, request):
        """What DLPack calls the device that everything goes to from here on."""
        torch, device = self.torch, request["device"]
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.backends.cudnn.allow_tf32 = False
        torch.backends.cudnn.benchmark = True
        torch.cuda.set_device(device)
        torch.cuda.empty_cache()  # of the arm before
        self.stream = torch.cuda.ExternalStream(request["stream"])
        torch.cuda.set_stream(self.stream)
        return CUDA, device

    def wait(self):
        self.torch.cuda.synchronize()

    # ---- one callable a set ----

    def eager(self, f, arguments):
        return [lambda a=a: f(*a) for a in arguments]

    def compiled(self, f, **how):
        self.torch.compiler.reset()  # as in a new process
        return self.torch.compile(f, dynamic=False, **how)

    def compile(self, f, arguments):
        return self.eager(self.compiled(f), arguments)

    def overhead(self, f, arguments):
        compiled, begin = (self.compiled(f, mode="reduce-overhead"),
                           self.torch.compiler.cudagraph_mark_step_begin)

        def call(a):
            begin()
            return compiled(*a)
        return [lambda a=a: call(a) for a in arguments]

    def graph(self, f, arguments):
        return [self.captured(f, a) for a in arguments]

    def captured(self, f, a):
        torch = self.torch
        for _ in range(WARMUP):
            f(*a)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=torch.cuda.Stream()):
            result = f(*a)

        def replay():
            graph.replay()
            return result
        return replay

    # ---- what the runner calls ----

    def enqueue(self, number):
        self.made[number] = self.calls[number]()

    def finish(self, number):
        made = self.made[number]
        for to, value in zip(self.into[number], made if isinstance(made, tuple) else (made,)):
            to.copy_(value.reshape(to.shape))
        self.made[number] = None


def guarded(body, say):
    """A callback that answers 0, or 1 and says why."""
    def call(number):
        try:
            body(number)
            return 0
        except Exception as e:  # noqa: BLE001 - whatever PyTorch raises is told
            say({"error": f"{type(e).__name__}: {e}"})
            return 1
    return CALLBACK(call)


def prepare(text, room, bytes_of_room, keep):
    """Make an arm; the answer, JSON, goes to `room`. `keep` holds the arm until the next one."""
    def say(answer):
        data = json.dumps(answer).encode()[:bytes_of_room - 1]
        ctypes.memmove(room, data + b"\0", len(data) + 1)
    keep.clear()
    gc.collect()
    try:
        arm = Arm(json.loads(text))
    except ModuleNotFoundError as e:
        return say({"missing": str(e)})
    except Exception as e:  # noqa: BLE001
        last = traceback.extract_tb(e.__traceback__)[-1]
        return say({"error": f"{type(e).__name__}: {e} ({last.filename}:{last.lineno})"})
    no_grad = arm.torch.no_grad()
    no_grad.__enter__()
    calls = [guarded(arm.enqueue, say), guarded(arm.finish, say)]
    keep.extend([arm, calls, no_grad])
    gc.disable()
    say({"version": arm.torch.__version__,
         "enqueue": ctypes.cast(calls[0], ctypes.c_void_p).value,
         "finish": ctypes.cast(calls[1], ctypes.c_void_p).value})
