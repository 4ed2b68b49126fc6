"""PyTorch's lines of tasks on the CPU: what lua/perigee/lib/torch_arm.py does with them on a GPU,
with tensors over the host's arrays. tests/experts/lines.lua runs this in its own process."""
scope = {"__name__": "torch_arm"}
CPU = 1  # DLPack's


def prepare(arm_path):
    with open(arm_path) as file:
        exec(compile(file.read(), arm_path, "exec"), scope)

    class OnCpu(scope["Arm"]):
        def begin(self, request):
            return CPU, 0

        def wait(self):
            pass

        def traced(self, f, arguments):
            """What torch.compile makes of them, without a compiler behind it."""
            self.torch.compiler.reset()
            return self.eager(self.torch.compile(f, dynamic=False, backend="aot_eager"), arguments)

    return OnCpu


def run(arm_path, request):
    """Nothing, or what went wrong, as text."""
    try:
        arm = prepare(arm_path)(request)
        arm.enqueue(0)
        arm.finish(0)
        return ""
    except Exception as e:  # noqa: BLE001 - whatever PyTorch raises is told
        return f"{type(e).__name__}: {e}".replace("\n", " ")
