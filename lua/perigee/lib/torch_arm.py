"""A PyTorch arm in a trusted runner: what lua/perigee/lib/torch.lua runs in the interpreter that it
has embedded. Tensors are views of the runner's buffers; two C callbacks enqueue a run and, after
the clock has stopped, copy what PyTorch allocated into the task's outputs."""
import ctypes
import gc
import json
import textwrap
import traceback

TYPES = {"f64": "<f8", "f32": "<f4", "f16": "<f2", "bf16": "<i2", "i8": "|i1", "i16": "<i2",
         "i32": "<i4", "i64": "<i8", "u8": "|u1", "u16": "<u2", "u32": "<u4", "u64": "<u8",
         "bool": "|b1"}
CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)
WARMUP = 3


class Memory:
    """Device memory of the runner, as PyTorch takes it."""

    def __init__(self, address, shape, typestr):
        self.__cuda_array_interface__ = {
            "shape": tuple(shape), "typestr": typestr, "data": (address, False), "version": 3}


def tensor(torch, buffer, address):
    view = torch.as_tensor(Memory(address, buffer["shape"], TYPES[buffer["dtype"]]), device="cuda")
    return view.view(torch.bfloat16) if buffer["dtype"] == "bf16" else view


def function(torch, request, inputs):
    """The task's lines as a function of its inputs; parameters are global names in it."""
    scope = dict(request["params"], torch=torch, F=getattr(torch.nn, "functional", None))
    body = textwrap.indent(textwrap.dedent(request["source"]).strip("\n"), "    ")
    exec(compile(f"def f({', '.join(inputs)}):\n{body}\n", request["name"], "exec"), scope)
    return scope["f"]


class Arm:
    def __init__(self, request):
        import torch
        self.torch = torch
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.backends.cudnn.allow_tf32 = False
        torch.backends.cudnn.benchmark = True
        self.stream = torch.cuda.ExternalStream(request["stream"])
        torch.cuda.set_stream(self.stream)
        names = [b["name"] for b in request["buffers"]]
        by_name = {b["name"]: b for b in request["buffers"]}
        inputs = [n for n in names if by_name[n]["role"] == "input"]
        self.outputs = [n for n in names if by_name[n]["role"] == "output"]
        sets = [{n: tensor(torch, by_name[n], io[n]) for n in inputs + self.outputs}
                for io in request["sets"]]
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
            torch.cuda.synchronize()

    # ---- one callable a set ----

    def eager(self, f, arguments):
        return [lambda a=a: f(*a) for a in arguments]

    def compile(self, f, arguments):
        return self.eager(self.torch.compile(f, dynamic=False), arguments)

    def overhead(self, f, arguments):
        compiled, begin = (self.torch.compile(f, dynamic=False, mode="reduce-overhead"),
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
