# Python that runs while its kernel is compiled tries to read the host's files and other processes'
# memory, to signal, pin and slow them, the judge among them (any process but its own), to reach the
# network, to hide memory, and to leave files and processes behind.
# task: vector/saxpy
# verdict: compile_error
# reason: worked: none
import ctypes
import mmap
import os
import signal
import socket

# Its parent, and whatever may be the judge or the shell that started it: ids that lie just before.
OTHERS = [os.getppid(), 1, *range(max(2, os.getppid() - 50), os.getppid())]


def read(path):
    with open(path, "rb") as file:
        return file.read(1)


def write(path):
    with open(path, "wb") as file:
        file.write(b"left behind")
    os.unlink(path)


def call(number, *arguments):
    if ctypes.CDLL(None, use_errno=True).syscall(number, *arguments) < 0:
        raise OSError(ctypes.get_errno(), "denied")


def any_of(attempt):
    """Succeeds with the first of the other processes for which `attempt` does."""
    for pid in OTHERS:
        try:
            return attempt(pid)
        except OSError:
            pass
    raise OSError("none")


TGKILL = 234  # of x86-64

ATTEMPTS = {
    "reads /etc/passwd": lambda: read("/etc/passwd"),
    "reads another's environment": lambda: any_of(lambda pid: read(f"/proc/{pid}/environ")),
    "reads another's memory": lambda: any_of(lambda pid: read(f"/proc/{pid}/mem")),
    "writes to /tmp": lambda: write("/tmp/perigee-left-behind"),
    "writes to HOME": lambda: write(os.path.expanduser("~/perigee-left-behind")),
    "makes a socket": lambda: socket.socket().connect(("127.0.0.1", 9)),
    "signals another": lambda: any_of(lambda pid: os.kill(pid, signal.SIGCONT)),
    "signals a thread": lambda: any_of(lambda pid: call(TGKILL, pid, pid, signal.SIGCONT)),
    "pins another": lambda: any_of(lambda pid: os.sched_setaffinity(pid, os.sched_getaffinity(0))),
    "slows another": lambda: any_of(lambda pid: os.setpriority(os.PRIO_PROCESS, pid, 19)),
    "hides memory": lambda: os.memfd_create("hidden"),
    "shares memory": lambda: mmap.mmap(-1, 4096),
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
