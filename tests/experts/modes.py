"""Which functions of PyTorch each mode of an arm calls, with the stand-in in its place."""
import ctypes
import json
import sys

import torch  # the stand-in

scope = {"__name__": "torch_arm"}
exec(open(sys.argv[1]).read(), scope)
driver = torch.driver
assert driver.cuInit(0) == 0
address = (ctypes.c_uint64 * 3)()
for i in range(3):
    assert driver.cuMemAlloc_v2(ctypes.byref(address, 8 * i), ctypes.c_size_t(4)) == 0
texts = []
for mode in ["eager", "compile", "overhead", "graph"]:
    torch.cuda.seen = []
    request = {"name": "t", "source": "return a * x", "mode": mode, "params": {"a": 2},
               "buffers": [{"name": "x", "role": "input", "dtype": "f32", "shape": [1]},
                           {"name": "k", "role": "input", "dtype": "u32", "shape": [1]},
                           {"name": "y", "role": "output", "dtype": "f32", "shape": [1]}],
               "sets": [dict(zip("xyk", address))], "stream": 1, "device": 0}
    room, keep = ctypes.create_string_buffer(1 << 16), []
    scope["prepare"](json.dumps(request), ctypes.addressof(room), len(room), keep)
    answer = json.loads(room.value)
    assert answer.get("version") == "stand-in", answer
    texts.append(f"{mode}: {', '.join(torch.cuda.seen)}")
print(*texts, sep="; ")
