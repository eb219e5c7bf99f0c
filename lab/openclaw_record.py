#!/usr/bin/env python3
"""Record what OpenClaw calls a context engine with, one file for each scenario.

    openclaw_record.py OUT_DIR      e.g. crates/tests/fixtures/openclaw

Ids, generations and times are replaced in the order of their appearance, paths are made generic, and what an engine
does not decide by is left out; names, order and meaning of the calls stay as OpenClaw made them.
"""
import json
import os
import re
import signal
import sys
import threading
import time
from pathlib import Path

import lab
from openclaw import HERE, TOKEN, OpenClaw, wait_until

KEEP = ("sessionId", "sessionKey", "agentId", "sessionTarget", "sessionFile", "messages", "prompt", "tokenBudget",
        "model", "isHeartbeat", "advancementKey", "admission", "terminal", "force", "currentTokenCount",
        "compactionTarget", "customInstructions", "parentSessionKey", "childSessionKey", "contextMode",
        "parentSessionId", "parentSessionFile", "childSessionId", "childSessionFile", "ttlMs", "reason",
        "nextSessionId", "nextSessionKey", "resumedFrom", "targetSessionKey", "targetKind", "outcome", "ok",
        "compacted", "result", "messageCount", "compactedCount", "tokenCount", "previousSessionId", "message",
        "prePromptMessageCount")
OF_MESSAGE = ("role", "content", "timestamp", "idempotencyKey", "toolCallId", "toolName", "isError", "stopReason",
              "summary", "tokensBefore", "customType", "display")
ID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|\b[0-9a-f]{32}\b|\b(?:call|chatcmpl)[_-][0-9a-f]{24}\b")
LONG = 600


class Generic:
    """Gives what differs from run to run a name by order."""

    def __init__(self, host):
        self.names, self.first = {}, None
        self.paths = [(str(host.home), "/home/dev"), (str(host.work), "/home/dev/work"), (str(host.dir), "/home/dev/run")]

    def name(self, found):
        text = found.group(0)
        if text not in self.names:
            number = len(self.names) + 1
            if "-" in text and "_" not in text and not text.startswith("chatcmpl"):
                self.names[text] = f"00000000-0000-4000-8000-{number:012x}"
            elif "_" in text or "-" in text:
                self.names[text] = f"{text[:4]}_{number:024x}"
            else:
                self.names[text] = f"{number:032x}"
        return self.names[text]

    def text(self, value):
        for path, generic in self.paths:
            value = value.replace(path, generic)
        value = ID.sub(self.name, value)
        return value if len(value) <= LONG else value[:LONG] + f"…(+{len(value) - LONG})"

    def value(self, value, key=None):
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.value(v) for v in value]
        if isinstance(value, dict):
            if "role" in value and "content" in value:
                value = {k: v for k, v in value.items() if k in OF_MESSAGE}
            return {k: self.value(v, k) for k, v in value.items()}
        if key == "timestamp" and isinstance(value, (int, float)):
            self.first = self.first or value
            return 1_700_000_000_000 + round(value - self.first)
        return value


def generic_calls(generic, lines):
    calls = []
    for line in lines:
        if line["kind"] == "step":
            calls.append({"step": line["name"]})
            continue
        params = {k: v for k, v in (line["params"] or {}).items() if k in KEEP}
        call = {"hook" if line["kind"] == "hook" else "call": line["name"], "params": generic.value(params)}
        if line.get("context") and line["kind"] == "hook":
            inner = {k: v for k, v in line["context"].items() if k.lower().endswith(("key", "id"))}
            call["context"] = generic.value(inner)
        for more in ("answer", "earlier"):
            if more in line:
                call[more] = line[more]
        calls.append(call)
    return calls


class Recorder:
    def __init__(self, out, **settings):
        self.out, folder = Path(out), Path(os.environ.get("LAB_ROOT", "/tmp"))
        self.file, self.down = folder / "calls.jsonl", folder / "down"
        self.file.write_text("")
        self.down.unlink(missing_ok=True)
        env = {"LAB_OPENCLAW_RECORD": str(self.file), "LAB_OPENCLAW_DOWN": str(self.down)}
        self.host = OpenClaw("probe", HERE / "plugins" / "openclaw_probe", settings, env).start()
        self.generic = Generic(self.host)   # one for all files of a plan: an id has one name in them

    def step(self, name):
        print(f"  {name}", flush=True)
        with open(self.file, "a") as file:
            file.write(json.dumps({"kind": "step", "name": name}) + "\n")

    def lines(self):
        return [json.loads(line) for line in self.file.read_text().splitlines()]

    def count(self, name):
        return sum(1 for line in self.lines() if line["name"] == name)

    def save(self, name, about):
        whole = {"host": "openclaw", "version": version(), "about": about,
                 "calls": generic_calls(self.generic, self.lines())}
        text = json.dumps(whole, indent=1, ensure_ascii=False)
        (self.out / f"{name}.json").write_text(text + "\n")
        self.file.write_text("")
        print(f"{name}: {len(whole['calls'])} lines", flush=True)

    def say(self, step, key, text, check=True):
        self.step(step)
        return self.host.say(key, text, check)


def version():
    return json.loads((Path(os.environ["LAB_OPENCLAW"]).parent / "package.json").read_text())["version"]


def users(messages):
    return [m["__openclaw"]["id"] for m in messages if m["role"] == "user"]


def conversations(r):
    key = "agent:main:incident-42"
    r.file.write_text("")
    for number, scenario in enumerate(("say", "say", "tool"), 1):
        r.say(f"turn {number}", key, f"[[scenario:{scenario}]] message {number}")
    r.save("ordinary", "Three turns of one conversation, the last with a tool call")
    second = users(r.host.messages(key))[1]
    r.step("fork before message 2")
    child = r.host.call("sessions.fork", sessionKey=key, entryId=second)["sessionKey"]
    r.say("turn in the fork", child, "[[scenario:say]] in the fork")
    r.save("fork", "A fork of the conversation in `ordinary`: a new key, no hook, the prefix in `messages`")
    r.step("rewind to before message 2")
    r.host.call("sessions.rewind", sessionKey=key, entryId=second)
    r.say("turn after", key, "[[scenario:say]] instead")
    r.say("and another", key, "[[scenario:say]] and on")
    r.save("rewind", "The conversation in `ordinary` goes back to message 2: another session id, no hook")
    r.say("overflow", key, "[[scenario:overflow]] large")
    r.save("overflow", "A turn whose model call is too large: compact, then the turn goes on")
    r.step("compact by hand")
    r.host.call("sessions.compact", key=key)
    r.say("turn after", key, "[[scenario:say]] after")
    r.save("compact", "Somebody compacts by hand")


def resets(r):
    key = "agent:main:desk"
    r.say("turn 1", key, "[[scenario:say]] before")
    r.step("reset")
    r.host.call("sessions.reset", key=key)
    for number in (2, 3):
        r.say(f"turn {number}", key, f"[[scenario:say]] message {number}")
    r.save("reset", "A reset keeps session key, session id and generation; the lifecycle revision changes")
    r.say("turn in lower case", "agent:main:matrix:room:!abc:example.org", "[[scenario:say]] one")
    r.say("turn in upper case", "agent:main:matrix:room:!ABC:example.org", "[[scenario:say]] two")
    r.save("case", "Keys that differ in case alone")


def subagents(r):
    key = "agent:main:lead"
    r.say("turn 1", key, "[[scenario:say]] before")
    for scenario in ("spawn", "spawn_fork"):
        ended = r.count("onSubagentEnded")
        r.say(scenario, key, f"[[scenario:{scenario}]] go")
        wait_until(lambda seen=ended: r.count("onSubagentEnded") > seen, "the end of a sub-agent")
    r.say("turn after", key, "[[scenario:say]] after")
    r.save("subagent", "Two sub-agents: one with nothing of its parent, one that goes on from it")


def engine_down(r):
    key = "agent:main:outage"
    r.say("turn A", key, "[[scenario:say]] A")
    r.down.write_text("lost")
    r.say("turn B, whose answer gets lost", key, "[[scenario:say]] B")
    r.down.unlink()
    r.say("turn C", key, "[[scenario:say]] C")
    r.save("lost_answer", "The answer to a commit got lost: the same turn comes again before the next one")
    r.down.write_text("away")
    r.say("turn D, the engine is away", key, "[[scenario:say]] D")
    r.say("turn E, still away", key, "[[scenario:say]] E")
    r.down.unlink()
    r.say("turn F, back", key, "[[scenario:say]] F")
    r.say("turn G", key, "[[scenario:say]] G")
    r.save("away", "The engine is away for two turns: the first comes late, the second never")


def killed(r):
    key = "agent:main:killed"
    r.say("turn 1", key, "[[scenario:say]] one")
    r.down.write_text("away")
    r.say("turn 2, not committed", key, "[[scenario:say]] two")
    r.step("kill -9 and start again")
    r.host.stop(signal.SIGKILL)
    r.down.unlink()
    r.host.start()
    r.say("turn 3", key, "[[scenario:say]] three")
    r.save("killed_before_commit", "Killed between an answer and its commit: it comes before the next assemble")
    r.step("turn 4, killed while the model answers")
    asked = r.count("assemble")
    going = threading.Thread(target=lambda: r.host.say(key, f"[[scenario:slow]] [[cwd:{r.host.work}]] four", False))
    going.start()
    wait_until(lambda: r.count("assemble") > asked, "the assemble of a turn")
    wait_until(lambda: "slow" in (r.host.dir / "model" / "requests.jsonl").read_text(), "the call of the model")
    r.host.stop(signal.SIGKILL)
    going.join()
    (r.host.work / "go-on").write_text("")
    r.step("start again")
    commits = r.count("commitTurn")
    r.host.start()
    wait_until(lambda: r.count("commitTurn") > commits, "the turn that is taken up again")
    r.say("turn 5", key, "[[scenario:say]] five")
    r.save("killed_in_turn", "Killed while the model answers: OpenClaw takes the turn up by itself")
    r.step("stop and start again")
    r.host.stop()
    r.host.start()
    r.say("turn 6", key, "[[scenario:say]] six")
    r.save("restart", "A restart while nothing happens")


def cron(r):
    def job(name, target):
        told = r.host.cli("cron", "add", "--agent", "main", "--name", name, "--every", "1d", "--session", target,
                          "--message", f"[[scenario:say]] {name}", "--no-deliver", "--json", "--token", TOKEN)
        return json.loads(told)["id"]

    for name, target, about in (
            ("nightly", "isolated", "Two runs of an isolated job: the key of each run ends in its session id"),
            ("release-watch", "session:release-watch", "Two runs of a job with a session of its own")):
        identity = job(name, target)
        r.file.write_text("")
        for number in (1, 2):
            commits = r.count("commitTurn")
            r.step(f"run {number}")
            r.host.cli("cron", "run", identity, "--token", TOKEN)
            wait_until(lambda seen=commits: r.count("commitTurn") > seen, "the run of a job")
        r.save("cron_isolated" if target == "isolated" else "cron_named", about)


def heartbeats(r):
    r.say("turn", "agent:main:main", "[[scenario:say]] hello")
    for number in (1, 2, 3):
        r.step(f"tick {number}")
        r.host.tick()
    r.save("heartbeat_isolated", "A turn of the main session, then three isolated ticks: one key, three session ids")
    for key in ("agent:main:main:heartbeat", "agent:main:main:heartbeat:heartbeat"):
        r.step(f"woken as {key}")
        r.host.tick(key)
    r.save("heartbeat_suffix", "Woken by keys with more suffixes: the key converges")
    r.step("tick that overflows")
    r.host.tick(scenario="overflow")
    r.save("heartbeat_overflow", "A tick whose model call is too large: compact has the session id of that tick")


def heartbeat_shared(r):
    r.say("turn", "agent:main:main", "[[scenario:say]] hello")
    r.step("tick")
    r.host.tick()
    r.say("turn after", "agent:main:main", "[[scenario:say]] after")
    r.save("heartbeat_shared", "A heartbeat that is not isolated, in the main session")


def idle(r):
    key = "agent:main:idle"
    r.say("turn 1", key, "[[scenario:say]] before")
    r.step("nothing for longer than the limit")
    time.sleep(65)              # the limit of OpenClaw is a minute, by the clock
    for number in (2, 3):
        r.say(f"turn {number}", key, f"[[scenario:say]] message {number}")
    r.save("idle", "Nothing was said for too long: another session id and generation")


PLANS = [(heartbeats, {}), (conversations, {}), (resets, {}), (subagents, {}), (engine_down, {}), (cron, {}),
         (killed, {}), (heartbeat_shared, {"isolated": False}), (idle, {"idle": 1})]


def main():
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    lab.enter_netns()
    out, only = Path(sys.argv[1]), sys.argv[2:]
    out.mkdir(parents=True, exist_ok=True)
    for plan, settings in PLANS:
        if only and plan.__name__ not in only:
            continue
        print(plan.__name__, flush=True)
        recorder = Recorder(out, **settings)
        try:
            plan(recorder)
        finally:
            recorder.host.close()


if __name__ == "__main__":
    main()
