"""A terminal for `perigee` alone: plays a script of what is typed and what must then appear.
Called by test_prompt.sh; prints one `ok` or `not ok` line a step."""
import os
import pty
import re
import select
import signal
import sys
import time

LIMIT_S = 20


class Terminal:
    def __init__(self, command, environment):
        self.seen = ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execvpe(command[0], command, {**os.environ, **environment})

    def read(self, seconds):
        """What comes within that time, without the terminal's own codes; "" at the end."""
        if not select.select([self.fd], [], [], seconds)[0]:
            return ""
        try:
            data = os.read(self.fd, 65536).decode("utf-8", "replace")
        except OSError:
            return None
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r|\x1b[=>]", "", data)

    def expect(self, pattern):
        """Wait until the pattern appears in what was not yet looked at."""
        end = time.time() + LIMIT_S
        while time.time() < end:
            found = re.search(pattern, self.seen, re.S)
            if found:
                self.seen = self.seen[found.end():]
                return True
            data = self.read(0.2)
            if data is None:
                found = re.search(pattern, self.seen, re.S)
                return bool(found)
            self.seen += data
        return False

    def type(self, text):
        os.write(self.fd, text.encode())

    def status(self):
        """The exit status, or None when it did not end."""
        end = time.time() + LIMIT_S
        while time.time() < end:
            self.read(0.05)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                return os.waitstatus_to_exitcode(status)
        os.kill(self.pid, signal.SIGKILL)
        return None


failed = 0


def check(what, ok, terminal):
    global failed
    print(("ok " if ok else "not ok ") + what)
    if not ok:
        failed += 1
        print("# " + repr(terminal.seen[-400:]))


def step(terminal, what, typed, *patterns):
    terminal.type(typed)
    check(what, all([terminal.expect(p) for p in patterns]), terminal)


command, folder, kind = sys.argv[1], sys.argv[2], sys.argv[3]
home = {"XDG_DATA_HOME": folder, "TERM": "dumb" if kind == "dumb" else "xterm"}
t = Terminal([command], home)
check("a greeting and a prompt", t.expect(r"pg is the library.*\n> "), t)
step(t, "an expression", "1 + 1\n", r"\n2\n> ")
step(t, "= an expression", "= { 1, x = 'y' }\n", r'\n\{ 1, x = "y" \}\n> ')
step(t, "a statement of several lines", "function f(x)\n", r">> ")
step(t, "and its end", "return 2 * x end\n", r"> ")
step(t, "which is then there", "f(21)\n", r"\n42\n> ")
step(t, "a mistake is said", "pg.arrray\n", r"error: perigee has no 'arrray'.*did you mean 'array'\?\n> ")
t.type("while true do end\n")
time.sleep(0.5)
step(t, "control-C ends a chunk, not the prompt", "\x03", r"error: interrupted\n> ")
step(t, "after which all goes on", "3 * 4\n", r"\n12\n> ")
if kind == "edited":
    t.type("half a line")
    time.sleep(0.5)
    step(t, "control-C gives a line up", "\x03", r"\n> ")
    t.type("\x03")
    t.type("\x03")
    time.sleep(0.5)
    step(t, "and so do several", "\n5 * 5\n", r"\n25\n> ")
    step(t, "TAB completes a name", "pg.from_b\t", r"pg\.from_bytes")
    step(t, "that is used", " ~= nil\n", r"\ntrue\n> ")
    step(t, "TAB shows what there is", "pg.json.\t", r"array +decode +encode +null")
    step(t, "and keeps the line", "null == pg.json.null\n", r"\ntrue\n> ")
    step(t, "arrow up brings the last line again", "6 * 7\n", r"\n42\n> ")
    step(t, "and it runs", "\x1b[A\n", r"\n42\n> ")
    step(t, "letters beyond ASCII", "'gr\u00fc\u00df' .. 1\n", "\ngr\u00fc\u00df1\n> ")
time.sleep(0.5)  # the prompt is there a moment before keys are read one by one
t.type("\x04")
check("control-D ends with status 0", t.status() == 0, t)
if kind == "edited":
    t = Terminal([command], home)
    t.expect(r"\n> ")
    step(t, "another session remembers", "\x1b[A\x1b[A\n", r"\n42\n> ")
    time.sleep(0.5)
    t.type("\x04")
    t.status()
sys.exit(failed > 0)
