#!/usr/bin/env python3
"""Shows Siglum's plug-in at work in a live OpenClaw gateway, on loopback, with a scripted model.

    openclaw_compat.py          all of it; exit code 1 if anything is not as it should be

Environment: as openclaw.py, and SIGLUM_BIN (the program), LAB_PLUGIN (integrations/openclaw).
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import lab
from openclaw import HERE, OpenClaw, wait_until

TICKS = 10
BEAT = "agent:main:main:heartbeat"
ASSEMBLED = re.compile(r"siglum: (\S+) assembles (\d+) earlier entries of (\S+) \((\S+)\)")
_failed = []


def show(what, true, seen=""):
    print(f"  {'ok  ' if true else 'FAIL'} {what}{f': {seen}' if seen != '' else ''}", flush=True)
    if not true:
        _failed.append(what)


def heading(text):
    print(f"\n{text}", flush=True)


class Ledger:
    """`siglum serve` with a ledger of its own, and a launcher's token for it."""

    def __init__(self, folder):
        self.home = folder / "siglum"
        self.home.mkdir()
        self.log, self.url, self.process = folder / "siglum.log", None, None
        self.token = json.loads(self.run("token", "create", "--json"))["data"]["secret"]
        self.file = folder / "token"
        self.file.write_text(self.token)
        self.file.chmod(0o600)

    def env(self):
        return {"HOME": str(self.home), "SIGLUM_HOME": str(self.home / "ledger"), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}

    def run(self, *args):
        done = subprocess.run([os.environ["SIGLUM_BIN"], *args], env=self.env(), cwd=self.home, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"siglum {' '.join(args)}: {done.stderr}")
        return done.stdout

    def start(self):
        listen = self.url.removeprefix("http://") if self.url else "127.0.0.1:0"
        err = open(self.log, "ab")
        command = [os.environ["SIGLUM_BIN"], "serve", "--listen", listen, "--json"]
        self.process = subprocess.Popen(command, env=self.env(), cwd=self.home, stdout=subprocess.PIPE, stderr=err, text=True)
        self.url = json.loads(self.process.stdout.readline())["data"]["address"]
        return self

    def stop(self):
        self.process.terminate()
        self.process.wait(30)

    def ask(self, method, path, given):
        url, data = self.url + path, None
        if method == "GET":
            url += "?" + urllib.parse.urlencode(given)
        else:
            data = json.dumps(given).encode()
        headers = {"authorization": f"Bearer {self.token}", "content-type": "application/json"}
        try:
            with urllib.request.urlopen(urllib.request.Request(url, data, headers, method=method), timeout=30) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            raise SystemExit(f"{method} {path} {given}: {error.code} {error.read().decode()}") from error

    def route(self, key):
        return self.ask("GET", "/v1/route", {"route_key": key})

    def contexts(self, key):
        """The contexts of a route, oldest first."""
        return list(reversed(self.route(key)["contexts"]))

    def explain(self, context):
        return self.ask("GET", f"/v1/sessions/{context['session']}/context/explanation", {})

    def sees(self, context):
        """What a run of this context would be given."""
        keys = {k: context[k] for k in ("route_key", "context_key")}
        return self.ask("POST", "/v1/contexts/assemble", {**keys, "budget": 10_000_000, "accept_gaps": True})["messages"]


def texts(messages):
    return [message["text"] for message in messages]


def assembled(host, route):
    """How many earlier entries each assemble of a route was given, with the context and its cause."""
    found = [m.groups() for m in ASSEMBLED.finditer(host.log())]
    return [(int(count), context, cause) for key, count, context, cause in found if key == route]


# ---- without the bridge

def without():
    heading(f"Without the bridge: a context engine that goes by the session key, {TICKS} isolated ticks")
    record = Path(os.environ["LAB_ROOT"]) / "probe.jsonl"
    host = OpenClaw("probe", HERE / "plugins" / "openclaw_probe", env={"LAB_OPENCLAW_RECORD": str(record)}).start()
    try:
        for _ in range(TICKS):
            host.tick()
    finally:
        host.close()
    lines = [json.loads(line) for line in record.read_text().splitlines()]
    ticks = [line for line in lines if line["name"] == "assemble" and line["params"]["sessionKey"] == BEAT]
    seen = [line["earlier"] for line in ticks]
    show("earlier ticks that each tick is given", seen == list(range(TICKS)), seen)
    ids = {line["params"]["sessionId"] for line in ticks}
    show("session keys and session ids", len(ids) == TICKS, f"1 and {len(ids)}")


# ---- with it

def heartbeats(host, ledger):
    heading(f"With the bridge: {TICKS} isolated ticks")
    sent = [host.tick() for _ in range(TICKS)]
    seen = assembled(host, BEAT)
    show("earlier entries that each tick is given", [n for n, _, _ in seen] == [0] * TICKS, [n for n, _, _ in seen])
    route, contexts = ledger.route(BEAT), ledger.contexts(BEAT)
    keys = {context["context_key"] for context in contexts}
    show("route keys and context keys", len(keys) == TICKS and BEAT not in keys, f"1 and {len(keys)}, such as {contexts[0]['context_key']}")
    show("why they came to be", {context["cause"] for context in contexts} == {"tick"}, "tick")
    show("what each of them holds", all(len(ledger.sees(c)) == 2 for c in contexts), "its prompt and its answer")
    show("the route is alive", route["route"]["runs"] >= TICKS, f"{route['route']['runs']} runs, the last {route['route']['last'].get('outcome')}")
    heading("Delivery of what a tick says, through the live gateway, to a chat on loopback")
    show("alerts that arrived", len(sent) == TICKS and all(len(s) == 1 for s in sent), f"{len(sent)}, such as {sent[0][0]}")


def overflow(host, ledger):
    heading("A tick whose model call is too large")
    before = {c["context_key"]: json.dumps(ledger.sees(c)) for c in ledger.contexts(BEAT)}
    host.tick(scenario="overflow")
    after = {c["context_key"]: c for c in ledger.contexts(BEAT)}
    new = [c for key, c in after.items() if key not in before]
    show("contexts of that tick", len(new) == 1, [c["context_key"] for c in new])
    same = [json.dumps(ledger.sees(after[key])) == text for key, text in before.items()]
    show("the others are the same, byte for byte", len(same) == TICKS and all(same), f"{sum(same)} of {len(same)}")
    compacted = re.findall(r"siglum: (\S+) was compacted in (\S+) alone", host.log())
    show("compacted", compacted == [(BEAT, new[0]["context_key"])], compacted)
    show("its summary is seen there", any(m["origin"] == "summary" for m in ledger.sees(new[0])), [m["origin"] for m in ledger.sees(new[0])])


def ordinary(host, ledger):
    heading("An ordinary conversation")
    key = "agent:main:incident-42"
    for number, scenario in enumerate(("say", "say", "tool"), 1):
        host.say(key, f"[[scenario:{scenario}]] message {number}")
    contexts = ledger.contexts(key)
    show("both keys are equal", [c["context_key"] for c in contexts] == [key], contexts[0]["context_key"])
    show("earlier entries that each turn is given", [n for n, _, _ in assembled(host, key)] == [0, 2, 4], [n for n, _, _ in assembled(host, key)])
    second = [m["__openclaw"]["id"] for m in host.messages(key) if m["role"] == "user"][1]

    heading("A fork from message 2")
    child = host.call("sessions.fork", sessionKey=key, entryId=second)["sessionKey"]
    host.say(child, "[[scenario:say]] in the fork")
    fork = ledger.contexts(child)[-1]
    show("cause, and what it came from", (fork["cause"], fork.get("parent")) == ("fork", key), f"{fork['cause']} of {fork.get('parent')}")
    show("it was given the prefix alone", [n for n, _, _ in assembled(host, child)] == [2], [n for n, _, _ in assembled(host, child)])

    heading("A rewind to message 2")
    parent = json.dumps(ledger.sees(contexts[0]))
    host.call("sessions.rewind", sessionKey=key, entryId=second)
    host.say(key, "[[scenario:say]] instead")
    old, new = ledger.contexts(key)
    show("the route goes over to another context", (new["cause"], new.get("parent")) == ("rewind", key), f"{new['context_key']} ({new['cause']} of {new.get('parent')})")
    show("earlier entries that the turn is given", assembled(host, key)[-1][0] == 2, assembled(host, key)[-1][0])
    seen = texts(ledger.sees(new))
    show("abandoned turns are not seen", not any("message 2" in t or "message 3" in t for t in seen), [t[:30] for t in seen])
    show("the old branch is as it was", json.dumps(ledger.sees(old)) == parent)


def resets(host, ledger):
    heading("A reset, which keeps session key, session id and generation")
    key = "agent:main:desk"
    host.say(key, "[[scenario:say]] before")
    host.call("sessions.reset", key=key)
    host.say(key, "[[scenario:say]] after")
    host.say(key, "[[scenario:say]] and on")
    old, new = ledger.contexts(key)
    show("the route goes over to another context", new["cause"] == "reset", f"{new['context_key']} ({new['cause']})")
    show("earlier entries that each turn is given", [n for n, _, _ in assembled(host, key)] == [0, 0, 2], [n for n, _, _ in assembled(host, key)])
    show("what was said before can be read", "before" in str(texts(ledger.sees(old))))


def subagents(host, ledger):
    heading("Sub-agents: one with nothing, one that goes on from its parent")
    key = "agent:main:lead"
    host.say(key, "[[scenario:say]] before")
    children = []
    for number, scenario in enumerate(("spawn", "spawn_fork"), 1):
        host.say(key, f"[[scenario:{scenario}]] go")
        ended = re.compile(r"sub-agent (\S+) ended: done")
        children = wait_until(lambda n=number: (f := ended.findall(host.log())) and len(f) >= n and f, "the end of a sub-agent")
    told = [ledger.contexts(child)[-1] for child in children]
    show("causes and what they have of it", [(c["cause"], c["inherit"]) for c in told] == [("subagent", "none"), ("subagent", "all")],
         [(c["cause"], c["inherit"]) for c in told])
    show("parent", {c.get("parent") for c in told} == {key}, told[0].get("parent"))
    given = [assembled(host, child)[0][0] for child in children]
    show("earlier entries that they are given", given[0] == 0 and given[1] > 0, given)
    host.say(key, "[[scenario:say]] after")
    gaps = ledger.explain(ledger.contexts(key)[-1])["gaps"]
    show("what OpenClaw told the parent of them is handed over", all("filled_at" in g for g in gaps), f"{len(gaps)} gaps, all filled")


def cron(host, ledger):
    heading("Two runs of an isolated job")
    told = json.loads(host.cli("cron", "add", "--agent", "main", "--name", "nightly", "--every", "1d", "--session", "isolated",
                               "--message", "[[scenario:say]] nightly", "--no-deliver", "--json", "--token", "loopback-token"))
    key = f"agent:main:cron:{told['id']}"
    for number in (1, 2):
        # A run that is not quite over is said to be so, and the next one is not begun.
        wait_until(lambda: "already-running" not in host.cli("cron", "run", told["id"], "--token", "loopback-token", check=False),
                   "the end of a run")
        wait_until(lambda n=number: len(assembled(host, key)) >= n, "the run of a job")
    contexts = ledger.contexts(key)
    show("one route, a context for each run", [c["cause"] for c in contexts] == ["cron-run"] * 2, [c["cause"] for c in contexts])
    show("earlier entries that each is given", [n for n, _, _ in assembled(host, key)] == [0, 0], [n for n, _, _ in assembled(host, key)])


def outage(host, ledger):
    heading("The ledger is away for two turns, then back")
    key = "agent:main:outage"
    host.say(key, "[[scenario:say]] A")
    ledger.stop()
    for name in "CD":
        answer = json.loads(host.say(key, f"[[scenario:say]] {name}"))
        show(f"turn {name} goes on", "Hello there." in json.dumps(answer), "Hello there.")
    ledger.start()
    for name in "EF":
        host.say(key, f"[[scenario:say]] {name}")
    context = ledger.contexts(key)[-1]
    said = [m["text"][-1] for m in ledger.sees(context) if m["type"] == "user"]
    show("all turns are there, in order", said == list("ACDEF"), said)
    gaps = ledger.explain(context)["gaps"]
    show("the gap is known, and filled from OpenClaw's transcript", gaps and all("filled_at" in g for g in gaps), [(g["first"], g["last"]) for g in gaps])
    show("the log says so", "the ledger is away" in host.log() and "the ledger is back" in host.log())


def restart(host, ledger):
    heading("A restart of OpenClaw")
    key = "agent:main:restart"
    host.say(key, "[[scenario:say]] before")
    host.call("sessions.reset", key=key)
    host.say(key, "[[scenario:say]] after")
    before = ledger.route(key)["route"]["context_key"]
    host.stop()
    host.start()
    host.say(key, "[[scenario:say]] again")
    show("the same context goes on", ledger.route(key)["route"]["context_key"] == before, before)
    show("earlier entries that the turn is given", assembled(host, key)[-1][0] == 2, assembled(host, key)[-1][0])


def main():
    lab.enter_netns()
    os.environ["LAB_ROOT"] = str(Path(tempfile.mkdtemp(prefix="compat-", dir=os.environ.get("LAB_ROOT"))))
    only = sys.argv[1:]
    version = json.loads((Path(os.environ["LAB_OPENCLAW"]).parent / "package.json").read_text())["version"]
    print(f"OpenClaw {version}; nothing but loopback exists")
    if not only or "without" in only:
        without()
    plugin = Path(os.environ["LAB_ROOT"]) / "plugin"
    shutil.copytree(os.environ["LAB_PLUGIN"], plugin)
    ledger = Ledger(Path(os.environ["LAB_ROOT"])).start()
    host = OpenClaw("siglum", plugin, {"plugin": {"url": ledger.url, "tokenFile": str(ledger.file), "retryMs": 500}}).start()
    try:
        for part in (heartbeats, overflow, ordinary, resets, subagents, cron, outage, restart):
            if not only or part.__name__ in only:
                part(host, ledger)
        heading("What the plug-in had to say of problems")
        lines = [line for line in host.log().splitlines() if "siglum:" in line and ("cannot" in line or "error" in line.lower())]
        show("nothing but what was done on purpose", not lines, lines[:3])
    finally:
        host.close()
        ledger.stop()
    print(f"\n{'all as it should be' if not _failed else f'{len(_failed)} not as they should be'}; logs in {os.environ['LAB_ROOT']}")
    sys.exit(1 if _failed else 0)


if __name__ == "__main__":
    main()
