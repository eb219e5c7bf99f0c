#!/usr/bin/env python3
"""A played agent that speaks the Agent Client Protocol on standard input and output.

What it does is told by the last message of a prompt, line by line. Lines without `!` are said as they are.

  !say TEXT                 a message chunk (a `|` in TEXT splits it into several chunks)
  !parts TEXT               the same text in chunks that end behind each `_`
  !think TEXT               a thought chunk
  !next [ID]                the chunks behind this are another message
  !tool ID NAME KIND INPUT  a tool call that runs (INPUT: JSON)
  !done ID OUTPUT           it returned
  !fail ID OUTPUT           it failed
  !ask ID TITLE             asks for permission for call ID (allow / always / reject); a refused call fails, and
                            `[allow]`, `[reject]` or `[cancelled]` is said
  !usage INPUT OUTPUT MODEL told with the answer to the prompt; `!cost TOKENS` as an update on the way
  !sleep SECONDS            ends at once when the run is cancelled; `!deaf SECONDS` does not
  !env NAME                 says the value of a variable
  !meta                     says the `_meta` of the prompt
  !whole                    says the whole prompt
  !seen                     says how many prompts this native session had before
  !pid                      says the process id
  !child SECONDS            starts a process below itself and says its id
  !sh COMMAND               runs a command of the shell in the working directory
  !stderr TEXT              writes to standard error
  !stop REASON              ends the prompt with this stop reason
  !error TEXT               answers the prompt with an error
  !crash CODE               ends the process at once

Variables: PLAYED_ACP_LOG (each message that came, as a JSON line with the process id), PLAYED_ACP_STATE (a directory in
which native sessions outlive the process), PLAYED_ACP_NATIVE (the id of the next native session), PLAYED_ACP_START
(`crash`, `hang` or `garbage` before the first answer), PLAYED_ACP_WHILE (a file: PLAYED_ACP_START is for processes that
begin while it is there), PLAYED_ACP_NO_LOAD (native sessions cannot be loaded), PLAYED_ACP_HISTORY (a JSON file with the
sessions that are listed: an object of ids with `cwd`, `title`, `updatedAt` and the `updates` that loading replays, among
which `{"ask": TITLE}` asks for permission and `{"flood": COUNT}` says so many chunks of a mebibyte).
"""
import json
import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
import uuid

ENV = os.environ
# Looked at once, so that whoever reads in the log that a process was asked to begin knows how it does.
START = ENV.get("PLAYED_ACP_START") if os.path.exists(ENV.get("PLAYED_ACP_WHILE", "/")) else None
out_lock = threading.Lock()
answers = {}
next_id = [0]
cancelled = {}
sessions = {}
jobs = queue.Queue()


def send(message):
    with out_lock:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def update(session, body):
    send({"method": "session/update", "params": {"sessionId": session, "update": body}})


def ask(method, params, session):
    with out_lock:
        next_id[0] += 1
        number = next_id[0]
    answers[number] = queue.Queue()
    send({"id": number, "method": method, "params": params})
    while True:
        try:
            return answers[number].get(timeout=0.05)
        except queue.Empty:
            if cancelled[session].is_set():
                # The client answers what it was asked, also when it cancels.
                return answers[number].get(timeout=10)


def log(message):
    if "PLAYED_ACP_LOG" in ENV:
        with open(ENV["PLAYED_ACP_LOG"], "a") as file:
            file.write(json.dumps({"pid": os.getpid(), "message": message}) + "\n")


def kept(session):
    state = ENV.get("PLAYED_ACP_STATE")
    return os.path.join(state, session + ".json") if state else None


def keep(session):
    if kept(session):
        with open(kept(session), "w") as file:
            json.dump(sessions[session], file)


def text_of(prompt):
    return "\n".join(block.get("text", "") for block in prompt if block.get("type") == "text")


class Play:
    """One prompt."""

    def __init__(self, request):
        self.request = request
        self.params = request["params"]
        self.session = self.params["sessionId"]
        self.message = str(uuid.uuid4())
        self.usage = None
        self.model = None
        self.stop = "end_turn"

    def say(self, text, kind="agent_message_chunk"):
        body = {"sessionUpdate": kind, "content": {"type": "text", "text": text}, "messageId": self.message}
        update(self.session, body)

    def sleep(self, seconds, deaf=False):
        until = time.monotonic() + float(seconds)
        while time.monotonic() < until:
            if not deaf and cancelled[self.session].is_set():
                return
            time.sleep(0.02)

    def tool(self, rest):
        call, name, kind, given = (rest.split(" ", 3) + ["{}"])[:4]
        update(self.session, {
            "sessionUpdate": "tool_call", "toolCallId": call, "title": name, "kind": kind,
            "status": "in_progress", "rawInput": json.loads(given), "_meta": {"toolName": name},
        })

    def end(self, rest, status):
        call, output = (rest.split(" ", 1) + [""])[:2]
        update(self.session, {
            "sessionUpdate": "tool_call_update", "toolCallId": call, "status": status,
            "content": [{"type": "content", "content": {"type": "text", "text": output}}],
        })

    def permission(self, rest):
        call, title = rest.split(" ", 1)
        options = [("allow", "Allow", "allow_once"), ("always", "Always allow", "allow_always"),
                   ("reject", "Reject", "reject_once")]
        answer = ask("session/request_permission", {
            "sessionId": self.session, "toolCall": {"toolCallId": call, "title": title},
            "options": [{"optionId": i, "name": n, "kind": k} for i, n, k in options],
        }, self.session)
        outcome = answer.get("result", {}).get("outcome", {"outcome": "error"})
        self.say("[%s]" % outcome.get("optionId", outcome["outcome"]))

    def line(self, line):
        word, _, rest = line.partition(" ")
        if not word.startswith("!"):
            self.say(line)
        elif word == "!say":
            for chunk in rest.split("|"):
                self.say(chunk)
        elif word == "!parts":
            for chunk in re.split("(?<=_)", rest):
                self.say(chunk)
        elif word == "!think":
            self.say(rest, "agent_thought_chunk")
        elif word == "!next":
            self.message = rest or str(uuid.uuid4())
        elif word == "!tool":
            self.tool(rest)
        elif word == "!done":
            self.end(rest, "completed")
        elif word == "!fail":
            self.end(rest, "failed")
        elif word == "!ask":
            self.permission(rest)
        elif word == "!usage":
            read, written, self.model = rest.split(" ")
            self.usage = {"inputTokens": int(read), "outputTokens": int(written),
                          "totalTokens": int(read) + int(written)}
        elif word == "!cost":
            update(self.session, {"sessionUpdate": "usage_update", "used": int(rest), "size": 200000})
        elif word == "!sleep":
            self.sleep(rest)
        elif word == "!deaf":
            self.sleep(rest, deaf=True)
        elif word == "!env":
            self.say("%s=%s" % (rest, ENV.get(rest, "")))
        elif word == "!meta":
            self.say(json.dumps(self.params.get("_meta")))
        elif word == "!whole":
            self.say(text_of(self.params["prompt"]))
        elif word == "!seen":
            self.say(str(sessions[self.session]["prompts"]))
        elif word == "!pid":
            self.say(str(os.getpid()))
        elif word == "!child":
            child = subprocess.Popen(["sleep", rest], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
            self.say(str(child.pid))
        elif word == "!sh":
            done = subprocess.run(["sh", "-c", rest], cwd=sessions[self.session]["cwd"], stdin=subprocess.DEVNULL,
                                  capture_output=True, text=True, check=False)
            self.say(done.stdout.strip())
        elif word == "!stderr":
            print(rest, file=sys.stderr, flush=True)
        elif word == "!stop":
            self.stop = rest
        elif word == "!error":
            raise RuntimeError(rest)
        elif word == "!crash":
            os._exit(int(rest or 1))

    def run(self):
        text = text_of(self.params["prompt"])
        script = text.splitlines()
        try:
            for line in script:
                if cancelled[self.session].is_set():
                    break
                if line.strip():
                    self.line(line)
        except RuntimeError as error:
            send({"id": self.request["id"], "error": {"code": -32000, "message": str(error)}})
            return
        finally:
            sessions[self.session]["prompts"] += 1
            keep(self.session)
        stop = "cancelled" if cancelled[self.session].is_set() else self.stop
        result = {"stopReason": stop}
        if self.usage:
            result["usage"] = self.usage
        if self.model:
            result["_meta"] = {"model": self.model}
        send({"id": self.request["id"], "result": result})


def history():
    if "PLAYED_ACP_HISTORY" not in ENV:
        return {}
    with open(ENV["PLAYED_ACP_HISTORY"]) as file:
        return json.load(file)


def listed(params):
    """Two sessions on each page."""
    all_of_them = [(name, session) for name, session in sorted(history().items())
                   if params.get("cwd") in (None, session["cwd"])]
    begin = int(params.get("cursor") or 0)
    page = [{"sessionId": name, **{key: session[key] for key in ("cwd", "title", "updatedAt") if key in session}}
            for name, session in all_of_them[begin:begin + 2]]
    more = {"nextCursor": str(begin + 2)} if begin + 2 < len(all_of_them) else {}
    return {"sessions": page, **more}


def replay(session, body):
    if "ask" in body:
        next_id[0] += 1
        answers[next_id[0]] = queue.Queue()
        send({"id": next_id[0], "method": "session/request_permission", "params": {
            "sessionId": session, "toolCall": {"toolCallId": "asked", "title": body["ask"]},
            "options": [{"optionId": "allow", "name": "Allow", "kind": "allow_once"}]}})
    elif "flood" in body:
        for _ in range(body["flood"]):
            update(session, {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "x" * (1 << 20)}})
    else:
        update(session, body)


def initialize(_params):
    if START == "crash":
        print("cannot begin: token=" + "ghp_" + "9fK2mQ7xLr4TzW8bNc3VhY6pDs1GjE5uRaXk", file=sys.stderr, flush=True)
        os._exit(3)
    if START == "hang":
        time.sleep(600)
    can_load = "PLAYED_ACP_NO_LOAD" not in ENV
    lists = {"list": {}} if "PLAYED_ACP_HISTORY" in ENV else {}
    return {
        "protocolVersion": 1,
        "agentCapabilities": {"loadSession": can_load, "promptCapabilities": {},
                              "sessionCapabilities": {**({"resume": {}} if can_load else {}), **lists}},
        "agentInfo": {"name": "played", "version": "1.0.0"}, "authMethods": [],
    }


def new(params):
    session = ENV.pop("PLAYED_ACP_NATIVE", None) or str(uuid.uuid4())
    sessions[session] = {"cwd": params["cwd"], "prompts": 0}
    cancelled[session] = threading.Event()
    keep(session)
    return {"sessionId": session, "modes": None}


def load(params):
    session = params["sessionId"]
    if session in history():
        for body in history()[session]["updates"]:
            replay(session, body)
        return {}
    if session not in sessions:
        if not kept(session) or not os.path.exists(kept(session)):
            raise KeyError(session)
        with open(kept(session)) as file:
            sessions[session] = json.load(file)
    cancelled[session] = threading.Event()
    if params.get("replay"):
        update(session, {"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": "earlier"}})
        update(session, {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "earlier answer"}})
    return {}


def load_with_replay(params):
    return load({**params, "replay": True})


METHODS = {"initialize": initialize, "session/list": listed, "session/new": new, "session/load": load_with_replay, "session/resume": load,
           "session/set_model": lambda _: {}, "session/set_mode": lambda _: {}}


def handle(message):
    log(message)
    method = message.get("method")
    if method is None:
        answers[message["id"]].put(message)
    elif method == "session/cancel":
        cancelled[message["params"]["sessionId"]].set()
    elif method == "session/prompt":
        cancelled[message["params"]["sessionId"]].clear()
        threading.Thread(target=Play(message).run, daemon=True).start()
    elif method in METHODS:
        try:
            send({"id": message["id"], "result": METHODS[method](message.get("params", {}))})
        except KeyError as error:
            send({"id": message["id"], "error": {"code": -32002, "message": "no session %s" % error}})
    elif "id" in message:
        send({"id": message["id"], "error": {"code": -32601, "message": "no method " + method}})


def main():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if START == "garbage":
        sys.stdout.write("Welcome to the agent!\n")
        sys.stdout.flush()
    for line in sys.stdin:
        if line.strip():
            handle(json.loads(line))


main()
