#!/usr/bin/env python3
"""Drives an agent over the Agent Client Protocol, against fake_model.py, and writes down every line.

    acp_client.py AGENT STEP [STEP ...]

AGENT is claude, codex, gemini, opencode or pi. STEP is one of
    new                 session/new
    load                session/load of the session so far, in a new process
    resume              session/resume of it, in a new process
    fork                session/fork of it, in the same process
    list                session/list
    prompt:SCENARIO     session/prompt with the scenario's markers; its permission requests are answered
    say:TEXT            session/prompt with a literal text
    cancel:SCENARIO     session/prompt, cancelled (session/cancel) when the first tool call is running
    mode:ID             session/set_mode
    model:ID            session/set_model, or the configuration option `model` where there is one
    set:ID=VALUE        session/set_config_option
    kill                SIGKILL to the program that speaks the protocol; says who lives on
    wait:SECONDS        waits
    close               closes its standard input; says who lives on
    killbelow           SIGKILL to what the adapter started

Environment: as lab.py, and
    LAB_CLAUDE_ACP, LAB_CODEX_ACP, LAB_PI, LAB_PI_ACP   (`cargo xtask lab path` prints them)
    ACP_ALLOW   the kind of option that answers a permission request (default allow_once; none = leaves it open)
    ACP_SIGLUM  the program `siglum`: its hooks are installed first
    ACP_KEEP    1 = permissions are asked, not bypassed
    ACP_ENV     more variables, as JSON
"""
import itertools
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import agents
import lab

TIMEOUT_S = float(os.environ.get("LAB_TIMEOUT", "60"))
TRACEPARENT = "00-{trace:032x}-00f067aa0ba902b7-01"


def below(pid):
    """Every process below one, deepest last."""
    children = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = stat.read_text()
        except OSError:
            continue
        parent = int(text[text.rindex(")") + 2:].split()[1])
        children.setdefault(parent, []).append(int(stat.parent.name))
    found, rest = [], [pid]
    while rest:
        new = children.get(rest.pop(), [])
        found += new
        rest += new
    return found


def named(pid):
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return None
    group = f" (group {os.getpgid(pid)})"
    return None if state == "Z" else " ".join(Path(w.decode("utf-8", "replace")).name for w in words[:3])[:60] + group


class Connection:
    """One process that speaks the protocol on its pipes."""

    def __init__(self, command, cwd, env, log, stderr):
        self.log, self.ids, self.waiting, self.running = log, itertools.count(), {}, threading.Event()
        self.process = subprocess.Popen(command, cwd=cwd, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=open(stderr, "ab"), start_new_session=True)
        threading.Thread(target=self.read, daemon=True).start()

    def write_down(self, who, message):
        with open(self.log, "a", encoding="utf-8") as file:
            file.write(json.dumps({"from": who, "line": message}, ensure_ascii=False) + "\n")

    def send(self, message):
        message = {"jsonrpc": "2.0", **message}
        self.write_down("client", message)
        self.process.stdin.write((json.dumps(message) + "\n").encode())
        self.process.stdin.flush()

    def read(self):
        for line in self.process.stdout:
            try:
                message = json.loads(line)
            except ValueError:
                self.write_down("agent", {"not json": line.decode("utf-8", "replace")})
                continue
            self.write_down("agent", message)
            if "method" in message and "id" in message:
                self.answer(message)
            elif "method" in message:
                update = message["params"].get("update", {})
                if update.get("sessionUpdate") in ("tool_call", "tool_call_update"):
                    self.running.set()
            else:
                slot = self.waiting.pop(message["id"], None)
                if slot:
                    slot[1] = message
                    slot[0].set()
        for slot in self.waiting.values():
            slot[1] = {"error": "the program ended"}
            slot[0].set()

    def answer(self, message):
        if message["method"] != "session/request_permission":
            self.send({"id": message["id"], "error": {"code": -32601, "message": "not supported"}})
            return
        want = os.environ.get("ACP_ALLOW", "allow_once")
        if want == "none":
            return
        options = message["params"]["options"]
        option = next((o for o in options if o["kind"] == want), options[0])
        self.send({"id": message["id"], "result": {"outcome": {"outcome": "selected", "optionId": option["optionId"]}}})

    def start(self, method, params):
        number, slot = next(self.ids), [threading.Event(), None]
        self.waiting[number] = slot
        self.send({"id": number, "method": method, "params": params})
        return slot

    def call(self, method, params, timeout=TIMEOUT_S):
        return self.finish(self.start(method, params), timeout)

    def finish(self, slot, timeout=TIMEOUT_S):
        if not slot[0].wait(timeout):
            return {"error": f"no answer within {timeout:g} s"}
        return slot[1]


class Conversation:
    def __init__(self, name):
        self.name, self.agent, self.run = name, agents.AGENTS[name](), lab.Run(name)
        self.server = lab.FakeModel(self.run.dir / "server")
        self.agent.configure(self.run, self.server)
        self.log = self.run.dir / "acp.jsonl"
        self.session, self.connection, self.turn = None, None, 0
        self.siglum()

    def env(self):
        return {**self.run.env(), **self.agent.env(self.run, self.server), **self.agent.acp_env(self.run),
                **json.loads(os.environ.get("ACP_ENV", "{}"))}

    def siglum(self):
        program = os.environ.get("ACP_SIGLUM")
        if program:
            subprocess.run([program, "init", "--yes"], cwd=self.run.work, env=self.env(), check=True,
                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

    def connect(self):
        self.connection = Connection(self.agent.acp(self.run), self.run.work, self.env(), self.log,
                                     self.run.dir / "acp.err")
        answer = self.connection.call("initialize", {
            "protocolVersion": 1, "clientCapabilities": {"fs": {"readTextFile": False, "writeTextFile": False},
                                                         "terminal": False},
            "clientInfo": {"name": "lab", "version": "0"}})
        self.show("initialize", answer)

    def place(self):
        return {"cwd": str(self.run.work), "mcpServers": []}

    def show(self, what, answer):
        print(f"{what}: {json.dumps(answer.get('result', answer))[:1500]}", flush=True)

    def open(self, method):
        if self.connection is None or method in ("session/load", "session/resume"):
            if self.connection:
                self.end()
            self.connect()
        given = {} if method == "session/new" else {"sessionId": self.session}
        self.turn += 1
        meta = {"_meta": {"traceparent": TRACEPARENT.format(trace=0x1000 + self.turn)}} \
            if os.environ.get("ACP_META_NEW") else {}
        answer = self.connection.call(method, {**given, **self.place(), **meta})
        self.show(method, answer)
        self.session = (answer.get("result") or {}).get("sessionId") or self.session
        print(f"session {self.session}", flush=True)

    def prompt(self, text):
        self.turn += 1
        return self.connection.start("session/prompt", {
            "sessionId": self.session, "prompt": [{"type": "text", "text": text}],
            "_meta": {"traceparent": TRACEPARENT.format(trace=self.turn)}})

    def cancel(self, scenario):
        self.connection.running.clear()
        slot = self.prompt(lab.prompt_for(self.run, scenario))
        self.connection.running.wait(TIMEOUT_S)
        time.sleep(float(os.environ.get("ACP_CANCEL_AFTER", "2")))
        start = time.time()
        self.connection.send({"method": "session/cancel", "params": {"sessionId": self.session}})
        self.show("cancelled", self.connection.finish(slot))
        print(f"answered after {time.time() - start:.1f} s")

    def busy(self, scenario, what):
        """Something ends while a prompt is running."""
        connection = self.connection
        connection.running.clear()
        slot = self.prompt(lab.prompt_for(self.run, scenario))
        connection.running.wait(TIMEOUT_S)
        time.sleep(2)
        what()
        self.show("prompt", connection.finish(slot, 15))

    def end(self):
        """Closes the pipe, as a client does that is done."""
        pids = below(self.connection.process.pid)
        self.connection.process.stdin.close()
        start = time.time()
        try:
            print(f"exit {self.connection.process.wait(10)} after {time.time() - start:.1f} s")
        except subprocess.TimeoutExpired:
            print("still there 10 s after its input was closed")
            self.connection.process.kill()
            self.connection.process.wait()
        self.alive(pids)
        self.connection = None

    def kill(self):
        pids = below(self.connection.process.pid)
        print("tree:", self.connection.process.pid, [named(p) for p in pids])
        os.kill(self.connection.process.pid, signal.SIGKILL)
        self.connection.process.wait()
        time.sleep(2)
        self.alive(pids)
        self.connection = None

    def kill_below(self):
        pids = below(self.connection.process.pid)
        print("tree:", [named(p) for p in pids])
        for pid in pids[:1]:
            os.kill(pid, signal.SIGKILL)

    def alive(self, pids):
        left = {p: named(p) for p in pids if named(p)}
        print("alive afterwards:", list(left.values()) or "nobody", flush=True)
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def step(self, step):
        kind, _, what = step.partition(":")
        if kind in ("new", "load", "resume", "fork"):
            self.open(f"session/{kind}")
        elif kind == "list":
            self.show("list", self.connection.call("session/list", {"cwd": str(self.run.work)}))
        elif kind in ("prompt", "say"):
            text = what if kind == "say" else lab.prompt_for(self.run, what)
            self.show("prompt", self.connection.finish(self.prompt(text)))
        elif kind == "cancel":
            self.cancel(what)
        elif kind == "mode":
            self.show("mode", self.connection.call("session/set_mode", {"sessionId": self.session, "modeId": what}))
        elif kind == "model":
            self.show("model", self.connection.call("session/set_model", {"sessionId": self.session, "modelId": what}))
        elif kind == "set":
            option, _, value = what.partition("=")
            self.show("set", self.connection.call("session/set_config_option", {
                "sessionId": self.session, "configId": option, "value": value}))
        elif kind == "wait":
            time.sleep(float(what))
        elif kind == "close":
            self.end()
        elif kind == "kill":
            self.busy(what, self.kill) if what else self.kill()
        elif kind == "killbelow":
            self.busy(what, self.kill_below)
        elif kind == "closing":
            self.busy(what, self.end)
        else:
            raise SystemExit(__doc__)


def main():
    if len(sys.argv) < 3 or sys.argv[1] not in agents.AGENTS:
        raise SystemExit(__doc__)
    lab.enter_netns()
    talk = Conversation(sys.argv[1])
    try:
        for step in sys.argv[2:]:
            print(f"-- {step}", flush=True)
            talk.step(step)
        if talk.connection:
            talk.end()
    finally:
        talk.server.stop()
    print(f"run directory: {talk.run.dir}")


if __name__ == "__main__":
    main()
