#!/usr/bin/env python3
"""A small agent that tells Siglum what it does: it writes a file and commits it."""

import json
import subprocess
import sys
import uuid
from pathlib import Path


class Recorder:
    """A session on its way to `siglum record`; each line is stored when `say` returns."""

    def __init__(self, agent):
        self.session = str(uuid.uuid4())
        self.number = 0
        command = ["siglum", "record", "--agent", agent, "--ack", "--quiet"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def say(self, line_type, **fields):
        self.number += 1
        line = {"v": 1, "type": line_type, "session": self.session, "id": str(self.number), **fields}
        print(json.dumps(line), file=self.process.stdin, flush=True)
        if self.process.stdout.readline() != f"{self.number}\n":
            sys.exit(f"line {self.number} was not stored")

    def call(self, tool, kind, run, **fields):
        """Runs a tool. Siglum looks at the files before and after."""
        call = {"call": f"call-{self.number}", "tool": tool, "kind": kind}
        paths = {"paths": fields["paths"]} if "paths" in fields else {}
        self.say("tool_call", **call, **fields)
        output = run()
        self.say("tool_result", **call, **paths, output=output)


def write():
    Path("fruit.txt").write_text("apple\npear\n")
    return "written"


def commit():
    return subprocess.check_output(["sh", "-c", COMMIT], text=True)


COMMIT = "git add fruit.txt && git commit -q -m 'Add fruit'"

session = Recorder("python-agent")
session.say("session_start", model="model-1")
session.say("link", link="issue=42")
session.say("prompt", turn="1", text="Write a list of fruit and commit it.")
session.call("write", "edit", write, paths=["fruit.txt"])
session.call("bash", "shell", commit, input=COMMIT)
session.say("message", text="Done.", message="m-1")
session.say("usage", message="m-1", input=150, output=20, model="model-1")
session.say("turn_end", turn="1")
session.say("session_end", reason="done")
print(session.session)
