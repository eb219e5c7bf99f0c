"""A live OpenClaw gateway on loopback, with a scripted model and a chat service that only listens.

`openclaw_record.py` records with it what OpenClaw calls a context engine with, and `openclaw_compat.py` shows the
plug-in of Siglum at work in it. Nothing but loopback exists meanwhile (LAB_NETNS=0 does without).

Environment
    LAB_OPENCLAW  openclaw.mjs of an installed OpenClaw (`cargo xtask compat openclaw` sets it)
    LAB_NODE      directory of a `node` that OpenClaw takes
"""
import json
import os
import signal
import socket
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import lab

HERE = Path(__file__).resolve().parent
PERSON = "4242"         # whom the alerts go to
TOKEN = "loopback-token"
OVERFLOW = ("This model's maximum context length is 8192 tokens. However, your messages resulted in "
            "20000 tokens. Please reduce the length of the messages.")
# What the model says; a heartbeat always asks for "tick".
SCENARIOS = {
    "say": [{"text": "Hello there."}],
    "tool": [{"text": "Let me see.", "tools": [{"name": "exec", "input": {"command": "echo tool output"}}]},
             {"text": "I saw it."}],
    "tick": [{"text": "Something needs you: the build is red."}],
    "overflow": [{"text": "Looking.", "tools": [{"name": "exec", "input": {"command": "seq 1 900"}}]},
                 {"text": "Looking on.", "tools": [{"name": "exec", "input": {"command": "seq 900 1800"}}]},
                 {"http_error": 400, "error_type": "invalid_request_error", "error_message": OVERFLOW,
                  "text": "The disk is nearly full."}],
    "spawn": [{"text": "Handing it on.", "tools": [{"name": "tool_call", "input": {
                  "id": "sessions_spawn", "args": {"task": "look at the logs", "label": "logs"}}}]},
              {"text": "A helper is at it."}],
    "spawn_fork": [{"text": "Handing it on.", "tools": [{"name": "tool_call", "input": {
                       "id": "sessions_spawn", "args": {"task": "go on from here", "label": "branch",
                                                        "context": "fork"}}}]},
                   {"text": "A helper is at it."}],
    "slow": [{"text": "That took a while.", "hold_file": "{{cwd}}/go-on"}],
}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until(true, what, seconds=300):
    """What `true` returns, once it is something."""
    end = time.time() + seconds
    while time.time() < end:
        found = true()
        if found:
            return found
        time.sleep(0.1)
    raise SystemExit(f"gave up waiting {seconds} s for {what}")


class Chat:
    """As much of Telegram's bot API as OpenClaw's channel needs. Keeps what is sent."""

    def __init__(self):
        self.sent, chat = [], self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_POST(self):
                raw = self.rfile.read(int(self.headers.get("content-length") or 0))
                method = self.path.split("?")[0].rsplit("/", 1)[-1]
                try:
                    body = json.loads(raw or b"{}")
                except ValueError:
                    body = {}
                data = json.dumps({"ok": True, "result": chat.answer(method, body)}).encode()
                try:
                    self.send_response(200)
                    self.send_header("content-type", "application/json")
                    self.send_header("content-length", str(len(data)))
                    self.end_headers()
                    self.wfile.write(data)
                except (BrokenPipeError, ConnectionResetError):
                    pass

            do_GET = do_POST

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, method, body):
        person = {"id": int(PERSON), "type": "private", "first_name": "Dev"}
        if method == "getMe":
            return {"id": 1, "is_bot": True, "first_name": "Lab", "username": "lab_bot"}
        if method == "getUpdates":
            time.sleep(2)
            return []
        if method == "getChat":
            return person
        if method == "sendMessage":
            self.sent.append({"to": str(body.get("chat_id")), "text": body.get("text", "")})
            return {"message_id": len(self.sent), "date": int(time.time()), "chat": person,
                    "text": body.get("text", "")}
        return {"url": "", "pending_update_count": 0} if method == "getWebhookInfo" else True


class OpenClaw:
    """One installation: home, workspace, model, chat, and the gateway while it runs."""

    def __init__(self, engine, plugin, settings=None, env=None):
        self.dir = Path(tempfile.mkdtemp(prefix="openclaw-", dir=os.environ.get("LAB_ROOT")))
        self.home, self.work, scenarios = (self.dir / n for n in ("home", "work", "scenarios"))
        for folder in (self.home / ".openclaw", self.work, scenarios, self.dir / "tmp"):
            folder.mkdir(parents=True)
        self.scenarios = scenarios
        for name, turns in SCENARIOS.items():
            self.script(name, turns)
        os.environ["LAB_SCENARIOS"] = str(scenarios)
        os.environ["LAB_LOG_BODIES"] = "1"
        self.model, self.chat = lab.FakeModel(self.dir / "model"), Chat()
        self.port, self.engine, self.plugin = free_port(), engine, Path(plugin)
        self.settings, self.extra, self.process = settings or {}, env or {}, None
        self.ticks = 0

    def script(self, name, turns):
        (self.scenarios / f"{name}.json").write_text(json.dumps({"turns": turns}))

    def configure(self):
        config = {
            "gateway": {"mode": "local", "port": self.port, "bind": "loopback",
                        "auth": {"mode": "token", "token": TOKEN}},
            "agents": {"defaults": {
                "workspace": str(self.work), "model": {"primary": "lab/fake-model"},
                "compaction": {"keepRecentTokens": 500, "reserveTokens": 1000},
                "heartbeat": {"every": "6h", "isolatedSession": self.settings.get("isolated", True),
                              "target": "telegram", "to": PERSON,
                              "prompt": "[[scenario:tick]] Look after things."}}},
            "models": {"mode": "merge", "providers": {"lab": {
                "baseUrl": self.model.url("/v1"), "apiKey": "dummy", "api": "openai-completions",
                "models": [{"id": "fake-model", "name": "fake", "reasoning": False, "input": ["text"],
                            "contextWindow": 200000, "maxTokens": 8000,
                            "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}}]}}},
            "tools": {"exec": {"notifyOnExit": False}},
            "session": {"resetByType": {"direct": {"mode": "idle", "idleMinutes": self.settings.get("idle", 600)}}},
            "channels": {"telegram": {"enabled": True, "botToken": "1:loopback", "apiRoot": self.chat.url,
                                      "dmPolicy": "allowlist", "allowFrom": [PERSON]}},
            "logging": {"file": str(self.dir / "openclaw.log")},
            "update": {"checkOnStart": False},
            "plugins": {"allow": [self.engine, "telegram"], "load": {"paths": [str(self.plugin)]},
                        "slots": {"contextEngine": self.engine},
                        "entries": {self.engine: {"enabled": True,
                                                  **({"config": self.settings["plugin"]}
                                                     if "plugin" in self.settings else {})}}}}
        (self.home / ".openclaw" / "openclaw.json").write_text(json.dumps(config, indent=1))

    def env(self):
        return {"HOME": str(self.home), "PATH": os.environ["LAB_NODE"] + os.pathsep + "/usr/bin:/bin",
                "LANG": "C.UTF-8", "TERM": "dumb", "SHELL": "/bin/bash", "USER": "dev", "TZ": "UTC",
                "TMPDIR": str(self.dir / "tmp"), "NO_PROXY": "127.0.0.1,localhost", "NO_COLOR": "1",
                "OPENCLAW_NO_RESPAWN": "1", "OPENCLAW_DISABLE_UPDATE_CHECK": "1", "OPENCLAW_HIDE_BANNER": "1",
                **self.extra}

    def start(self):
        self.configure()
        log = open(self.dir / "gateway.log", "ab")
        command = ["node", os.environ["LAB_OPENCLAW"], "gateway", "run", "--port", str(self.port), "--verbose"]
        self.process = subprocess.Popen(command, cwd=self.work, env=self.env(), stdin=subprocess.DEVNULL,
                                        stdout=log, stderr=log, start_new_session=True)
        wait_until(self.ready, "the gateway of OpenClaw")
        return self

    def ready(self):
        if self.process.poll() is not None:
            raise SystemExit(f"OpenClaw stopped; see {self.dir}/gateway.log")
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{self.port}/readyz", timeout=2).read()
            return True
        except (urllib.error.URLError, OSError):
            return False

    def stop(self, how=signal.SIGTERM):
        os.killpg(self.process.pid, how)
        self.process.wait(60)

    def close(self):
        if self.process and self.process.poll() is None:
            self.stop()
        self.model.stop()

    def cli(self, *args, check=True, seconds=300):
        done = subprocess.run(["node", os.environ["LAB_OPENCLAW"], *args], cwd=self.work, env=self.env(),
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=seconds)
        if check and done.returncode:
            raise SystemExit(f"openclaw {' '.join(args)}: {done.stdout[-1500:]}{done.stderr[-1500:]}\n{self.dir}")
        return done.stdout

    def call(self, method, **params):
        return json.loads(self.cli("gateway", "call", method, "--params", json.dumps(params), "--json",
                                   "--token", TOKEN))

    def say(self, key, text, check=True):
        """One turn of a person; returns the answer."""
        told = self.cli("agent", "--session-key", key, "-m", text, "--json", "--timeout", "240", check=check)
        return told

    def tick(self, key=None, scenario="tick"):
        """Wakes the heartbeat and waits until its alert has arrived. Each says something else: the same alert is not
        sent twice."""
        before = len(self.chat.sent)
        self.ticks += 1
        *turns, last = SCENARIOS[scenario]
        self.script("tick", [*turns, {**last, "text": f"{last['text']} ({self.ticks})"}])
        where = ["--session-key", key] if key else []
        self.cli("system", "event", "--mode", "now", "--text", "wake up", "--json", "--token", TOKEN, *where)
        wait_until(lambda: len(self.chat.sent) > before, "the alert of a heartbeat")
        return self.chat.sent[before:]

    def messages(self, key):
        return self.call("chat.history", sessionKey=key)["messages"]

    def log(self):
        return (self.dir / "gateway.log").read_text("utf-8", "replace")
