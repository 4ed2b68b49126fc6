# Python that runs while its kernel is compiled tries to read the host's files and the judge's memory,
# to reach the network, to leave files and processes behind, and to kill the judge.
# task: vector/saxpy
# verdict: compile_error
# reason: worked: none
import os
import signal
import socket

PARENTS = [os.getppid(), 1]


def read(path):
    with open(path, "rb") as file:
        return file.read(1)


def write(path):
    with open(path, "wb") as file:
        file.write(b"left behind")
    os.unlink(path)


ATTEMPTS = {
    "reads /etc/passwd": lambda: read("/etc/passwd"),
    "reads another's environment": lambda: [read(f"/proc/{pid}/environ") for pid in PARENTS],
    "reads another's memory": lambda: [read(f"/proc/{pid}/mem") for pid in PARENTS],
    "writes to /tmp": lambda: write("/tmp/perigee-left-behind"),
    "writes to HOME": lambda: write(os.path.expanduser("~/perigee-left-behind")),
    "makes a socket": lambda: socket.socket().connect(("127.0.0.1", 9)),
    "signals its parent": lambda: os.kill(os.getppid(), signal.SIGCONT),
    "leaves its session": os.setsid,
}

worked = []
for what, attempt in ATTEMPTS.items():
    try:
        attempt()
        worked.append(what)
    except (OSError, ValueError):
        pass
raise RuntimeError("worked: " + (", ".join(worked) or "none"))
