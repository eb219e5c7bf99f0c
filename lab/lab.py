#!/usr/bin/env python3
"""Drive a real coding agent, headless and offline, against fake_model.py.

    lab.py run AGENT STEP [STEP ...]   one session, step by step
    lab.py show RUN_DIR                every captured hook call of a run

STEP is KIND:SCENARIO, KIND one of
    new       a fresh session                        (new:write_commit)
    resume    resume the session of the step before  (resume:say)
    continue  the most recent session here           (continue:say)
    fork      branch off the session before          (fork:say)
    id=UUID   a fresh session with an id from outside
    prompt    resume, with a literal prompt          (prompt:/compact)

Environment
    LAB_CLAUDE, LAB_CODEX, LAB_GEMINI, LAB_QWEN, LAB_COPILOT, LAB_OPENCODE
                  the agents' programs (`cargo xtask lab path` prints them)
    LAB_MODEL     the model that Codex is told to use (default gpt-5.5, which edits by patches)
    LAB_OTEL      where the agents send their own telemetry, such as http://127.0.0.1:7477 (default: nowhere)
    LAB_OTEL_HEADERS
                  the headers for that, such as "authorization=Bearer TOKEN"
    LAB_OPENCODE_PLUGIN
                  a directory with the package that OpenCode would install at its start
    LAB_NODE      directory of a `node`, put first in PATH
    LAB_ROOT      runs are kept below it (default: a new temporary directory)
    LAB_NETNS     1 = a network namespace with loopback only (default), 0 = the host's network
    LAB_TIMEOUT   seconds per step (default 120), then the agent gets LAB_SIGNAL (default TERM)
    LAB_HOOK_CMD  hook command instead of hooks/capture.py; it gets the event as last argument
"""
import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import agents

HERE = Path(__file__).resolve().parent
PYTHON = sys.executable
CAPTURE = HERE / "hooks" / "capture.py"


def enter_netns():
    """Starts this program again where no address but loopback exists."""
    if os.environ.get("LAB_NETNS", "1") == "0" or os.environ.get("LAB_IN_NETNS"):
        return
    os.environ["LAB_IN_NETNS"] = "1"
    flags = ["-n"] if os.geteuid() == 0 else ["-Un", "--map-current-user", "--keep-caps"]
    inner = ["sh", "-c", 'ip link set lo up && exec "$@"', "sh", sys.executable, *sys.argv]
    os.execvp("unshare", ["unshare", *flags, *inner])


class FakeModel:
    """A running fake_model.py."""

    def __init__(self, log_dir):
        log_dir.mkdir(parents=True, exist_ok=True)
        port_file = log_dir / "port"
        env = dict(os.environ, LAB_PORT_FILE=str(port_file), LAB_LOG_DIR=str(log_dir))
        self.process = subprocess.Popen([PYTHON, str(HERE / "fake_model.py")], env=env,
                                        stdout=subprocess.DEVNULL)
        for _ in range(200):
            if port_file.exists():
                self.port = int(port_file.read_text())
                urllib.request.urlopen(self.url("/healthz"), timeout=5).read()
                return
            time.sleep(0.05)
        raise SystemExit("the fake model did not start")

    def url(self, path=""):
        return f"http://127.0.0.1:{self.port}{path}"

    def stop(self):
        self.process.terminate()
        self.process.wait(10)


class Run:
    """One run: home, repository, captured hook calls, logs."""

    def __init__(self, agent):
        base = Path(os.environ.setdefault("LAB_ROOT", tempfile.mkdtemp(prefix="siglum-lab-")))
        base.mkdir(parents=True, exist_ok=True)
        self.dir = Path(tempfile.mkdtemp(prefix=agent + "-", dir=base))
        self.program = os.environ.get("LAB_" + agent.upper())
        if not self.program:
            raise SystemExit(f"set LAB_{agent.upper()}; `cargo xtask lab path` prints it")
        self.capture, self.home, self.work = (self.dir / n for n in ("hooks.jsonl", "home", "work"))
        self.home.mkdir()
        (self.dir / "tmp").mkdir()
        self.capture.touch()
        self.make_repository()

    def hook_command(self, event):
        own = os.environ.get("LAB_HOOK_CMD")
        return f"{own} {shlex.quote(event)}" if own else \
            shlex.join([PYTHON, str(CAPTURE), str(self.capture), event])

    def make_repository(self):
        git = ["git", "-C", str(self.work)]
        subprocess.run(["git", "init", "-q", "-b", "main", str(self.work)], check=True)
        for key, value in (("user.name", "Lab"), ("user.email", "lab@example.invalid"),
                           ("commit.gpgsign", "false")):
            subprocess.run([*git, "config", key, value], check=True)
        (self.work / "README.md").write_text("# lab repository\n")
        subprocess.run([*git, "add", "-A"], check=True)
        subprocess.run([*git, "commit", "-q", "-m", "initial"], check=True)

    def env(self):
        path = os.environ.get("PATH", "/usr/bin:/bin")
        if os.environ.get("LAB_NODE"):
            path = os.environ["LAB_NODE"] + os.pathsep + path
        return {"HOME": str(self.home), "PATH": path, "LANG": "C.UTF-8", "TERM": "dumb",
                "SHELL": "/bin/bash", "USER": "lab", "TMPDIR": str(self.dir / "tmp"),
                "NO_PROXY": "127.0.0.1,localhost"}

    def events(self):
        return [json.loads(line) for line in self.capture.read_text().splitlines()]


def prompt_for(run, scenario):
    return f"Please do the work. [[scenario:{scenario}]] [[cwd:{run.work}]] [[run:{run.dir.name}]]"


def wait_for(process):
    """The exit code; after LAB_TIMEOUT the agent is sent LAB_SIGNAL, at last its group is killed."""
    try:
        return process.wait(float(os.environ.get("LAB_TIMEOUT", "120")))
    except subprocess.TimeoutExpired:
        process.send_signal(getattr(signal, "SIG" + os.environ.get("LAB_SIGNAL", "TERM")))
    try:
        code = process.wait(10)
    except subprocess.TimeoutExpired:
        code = None
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    return f"stopped ({code if code is not None else process.wait()})"


def run_step(agent, run, server, number, step, session):
    kind, _, what = step.partition(":")
    if kind.startswith("id="):
        kind, session = "id", kind[3:]
    prompt = what if kind == "prompt" else prompt_for(run, what)
    command = agent.command(run, kind, prompt, session)
    log = run.dir / f"step{number}"
    log.with_suffix(".cmd").write_text(shlex.join(command) + "\n")
    start = time.time()
    with open(log.with_suffix(".out"), "wb") as out, open(log.with_suffix(".err"), "wb") as err:
        process = subprocess.Popen(command, cwd=run.work, env={**run.env(), **agent.env(run, server)},
                                   stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                   start_new_session=True)
        code = wait_for(process)
    session = agent.session_id(run) or session
    print(f"step {number} {step}: exit {code}, {time.time() - start:.1f} s, session {session}", flush=True)
    for suffix in (".out", ".err") if code else ():
        print(log.with_suffix(suffix).read_text("utf-8", "replace")[-2000:])
    return session


def run_steps(name, steps):
    enter_netns()
    agent, run = agents.AGENTS[name](), Run(name)
    server, session = FakeModel(run.dir / "server"), None
    try:
        agent.configure(run, server)
        for number, step in enumerate(steps, 1):
            session = run_step(agent, run, server, number, step, session)
    finally:
        server.stop()
    show(run.dir)
    subprocess.run(["git", "-C", str(run.work), "log", "--oneline"], check=False)
    print(f"run directory: {run.dir}")
    for path in agent.transcripts(run):
        print(f"transcript: {path}")


def show(run_dir):
    keys = ("session_id", "prompt_id", "agent_id", "tool_name", "source", "trigger", "reason")
    for line in (Path(run_dir) / "hooks.jsonl").read_text().splitlines():
        event = json.loads(line)
        body = event["stdin"] if isinstance(event["stdin"], dict) else {}
        print(f'{event["event"]:20}', *(f"{k}={str(body[k])[:8]}" for k in keys if body.get(k)))


def main():
    verb, rest = (sys.argv[1] if len(sys.argv) > 1 else ""), sys.argv[2:]
    if verb == "run" and len(rest) >= 2 and rest[0] in agents.AGENTS:
        run_steps(rest[0], rest[1:])
    elif verb == "show" and len(rest) == 1:
        show(rest[0])
    else:
        raise SystemExit(__doc__)


if __name__ == "__main__":
    main()
