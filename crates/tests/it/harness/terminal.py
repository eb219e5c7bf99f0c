"""Opens a terminal as a person has one: a session of its own, an interactive shell with job control.

Usage: terminal.py COMMAND... What comes on standard input is typed; what the terminal shows goes to
standard output. The process leaves its parent first, so that nothing is above it but the system.
"""

import os
import pty
import select
import shutil
import sys

if os.fork():
    os._exit(0)
owner = os.environ.pop("TERMINAL_OWNER", "")
if owner:
    # Whoever holds the other end of a terminal is known by its program: this one goes on under that
    # name, as a copy of the interpreter.
    place = os.path.join(os.environ.get("TMPDIR", "/tmp"), "siglum-terminals-%d" % os.getuid())
    os.makedirs(place, exist_ok=True)
    program = os.path.join(place, owner)
    if not os.path.exists(program):
        fresh = "%s.%d" % (program, os.getpid())
        shutil.copy(os.path.realpath(sys.executable), fresh)
        os.rename(fresh, program)
    os.environ["PYTHONHOME"] = sys.base_prefix
    os.execv(program, [owner, *sys.argv])
os.environ.pop("PYTHONHOME", None)
os.setsid()
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
sources = [0, terminal]
while terminal in sources:
    ready, _, _ = select.select(sources, [], [])
    if 0 in ready:
        typed = os.read(0, 4096)
        if typed:
            os.write(terminal, typed)
        else:
            os.kill(pid, 9)
            sources.remove(0)
    if terminal in ready:
        try:
            shown = os.read(terminal, 4096)
        except OSError:
            shown = b""
        if not shown:
            break
        os.write(1, shown)
