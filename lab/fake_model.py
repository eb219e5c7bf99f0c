#!/usr/bin/env python3
"""A scripted model server on loopback, for driving real coding agents without an account.

Speaks as much of four protocols (dialects.py) as the agents need, streamed and plain, and answers
requests to count tokens, to list models, and GET /healthz.

A reply comes from a JSON scenario. The newest user message with a marker `[[scenario:NAME]]`
names it, the step is found by counting the tool results after that message. The server keeps no
session state, so any number of sessions can run at once and a sub-agent gets its own script
through the marker in its prompt. `[[cwd:/path]]` is the value of {{cwd}} in scenario strings,
`[[run:ID]]` is copied to the request log.

Environment: LAB_HOST, LAB_PORT (0 = any free port), LAB_PORT_FILE (the port is written there),
LAB_SCENARIOS (folders that are looked through before the own one), LAB_LOG_DIR (requests.jsonl),
LAB_LOG_BODIES=1. Python 3.9+, standard library only.
"""
import gzip
import json
import os
import re
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import dialects
from dialects import new_id

OWN_SCENARIOS = Path(__file__).resolve().parent / "scenarios"
SCENARIOS = [*map(Path, filter(None, os.environ.get("LAB_SCENARIOS", "").split(os.pathsep))), OWN_SCENARIOS]
LOG_DIR = Path(os.environ.get("LAB_LOG_DIR", "."))
LOG_BODIES = os.environ.get("LAB_LOG_BODIES") == "1"

UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.I)
MARK = re.compile(r"\[\[(scenario|cwd|run):([^\]]*)\]\]")
# How the agent asks for a compaction summary (such a request still declares tools).
SUMMARY = re.compile(r"(detailed|concise|structured) summary|CONTEXT CHECKPOINT|<summary>|"
                     r"state_snapshot|compact(ing|ion)", re.I)
SECRET_HEADER = re.compile(r"authorization|api-key|cookie|token", re.I)
HOLD_LIMIT_S = 120

_lock = threading.Lock()
_count = {"requests": 0}
_fired = {}     # (run, scenario, step) -> how often an injected HTTP error was served
_once = {}      # (run, scenario) -> next step, for scenarios with "once": true


def log(record):
    line = json.dumps({"t": round(time.time(), 3), **record}, ensure_ascii=False)
    with _lock, open(LOG_DIR / "requests.jsonl", "a", encoding="utf-8") as file:
        file.write(line + "\n")


# ---- what a request says

def markers(events):
    """-> (index of the message with the scenario's marker or None, marker values)"""
    start, found = None, {}
    for i, (role, text) in enumerate(events):
        for key, value in MARK.findall(text) if role == "user" else ():
            found[key] = value
            start = i if key == "scenario" else start
    return start, found


# ---- what the scenario answers

# What a call of a scenario is called by the agents, in order of preference.
OPS = {"shell": ["Bash", "bash", "run_shell_command", "exec_command", "shell_command", "shell"],
       "write": ["Write", "write", "write_file", "apply_patch"],
       "edit": ["Edit", "edit", "replace", "apply_patch"], "read": ["Read", "read", "read_file"],
       "subagent": ["Agent", "Task", "task", "agent", "spawn_agent", "invoke_agent"]}
ARGUMENTS = {"command": ["command", "cmd"], "path": ["file_path", "filePath", "path", "absolute_path"],
             "old": ["old_string", "oldString"], "new": ["new_string", "newString"],
             "prompt": ["prompt", "message", "task", "objective"],
             "agent": ["subagent_type", "agent_type", "agent_name", "agent"]}
# The kind of sub-agent that does anything, where it has another name than in the scenarios.
KINDS = {"spawn_agent": "default", "invoke_agent": "generalist"}
OTHER_KINDS = ["general-purpose", "general"]
# Where the schema of the tool names none: OpenCode tells them in its description.
UNNAMED_KINDS = {"task": "general"}


def example(schema):
    """The smallest value that fits a JSON schema."""
    schema = schema or {}
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        return schema["enum"][0]
    for key in ("anyOf", "oneOf", "allOf"):
        if schema.get(key):
            return example(schema[key][0])
    kind = schema.get("type") or "string"
    kind = (kind[0] if isinstance(kind, list) else kind).lower()
    if kind == "object":
        known = schema.get("properties") or {}
        return {k: example(known.get(k)) for k in schema.get("required") or []}
    if kind == "array":
        return [example(schema.get("items"))] * int(schema.get("minItems") or 0)
    return {"string": "x", "integer": 1, "number": 1, "boolean": False}.get(kind)


def fill(value, values):
    """Replaces {{name}} in every string below value."""
    if isinstance(value, str):
        return re.sub(r"\{\{(\w+)\}\}", lambda m: str(values.get(m.group(1), m.group(0))), value)
    if isinstance(value, list):
        return [fill(v, values) for v in value]
    if isinstance(value, dict):
        return {k: fill(v, values) for k, v in value.items()}
    return value


def patch_of(call):
    """An edit as a patch in the form of Codex."""
    def lines(sign, text):
        return "".join(f"{sign}{line}\n" for line in text.splitlines())

    if "content" in call:
        body = f"*** Add File: {call['path']}\n" + lines("+", call["content"])
    else:
        body = f"*** Update File: {call['path']}\n@@\n" + lines("-", call["old"]) + lines("+", call["new"])
    return f"*** Begin Patch\n{body}*** End Patch\n"


def script_of(call):
    """A call as the JavaScript that a model of Codex writes in place of a tool call."""
    inner = f'exec_command({json.dumps({"cmd": call["command"]})})' if call["op"] == "shell" else \
        f"apply_patch({json.dumps(patch_of(call))})"
    return "exec", f"const r = await tools.{inner}; text(r);"


def bind(call, tools):
    """A call of the scenario as (tool name, input) for the tools this request declares."""
    if "name" in call:                                        # literal, perhaps optional
        name, given = call["name"], call.get("input", {})
        fields = (tools.get(name) or {}).get("properties")
        given = {k: v for k, v in given.items() if fields is None or k in fields}
        return (name, given) if name in tools or not call.get("optional") else None
    if tools.get("exec", {}).get("x-javascript") and call["op"] in ("shell", "write", "edit"):
        return script_of(call)
    name = next((n for n in OPS[call["op"]] if n in tools), None)
    if name == "apply_patch":
        return name, patch_of(call) if tools[name].get("x-freeform") else {"input": patch_of(call)}
    if name is None and call["op"] == "write":                # no tool that writes: by the shell
        text = call["content"].rstrip("\n")
        command = f"cat > '{call['path']}' <<'LAB_EOF'\n{text}\nLAB_EOF"
        return bind({"op": "shell", "command": command}, tools)
    return (name, arguments(call, name, tools[name])) if name else None


def arguments(call, tool, schema):
    known, given = schema.get("properties") or {}, {}
    for key, value in call.items():
        if key in ("op", "args"):
            continue
        names = ARGUMENTS.get(key, [key])
        name = next((n for n in names if n in known), None if known else names[0])
        if name and key == "agent":
            value = kind_of(value, tool, schema)
        if name:
            given[name] = value
    if "edits" in known and "old" in call:                    # Pi: several changes in one call
        given["edits"] = [{"oldText": call["old"], "newText": call["new"]}]
    given.update(call.get("args") or {})
    for key in schema.get("required") or []:
        given.setdefault(key, example(known.get(key)))
    return given


def kind_of(wanted, tool, schema):
    """A kind of sub-agent that the tool has: the one of the scenario, else one that does anything."""
    if tool in KINDS:
        return KINDS[tool]
    told = json.dumps(schema)
    return next((kind for kind in [wanted, *OTHER_KINDS] if f'"{kind}"' in told), UNNAMED_KINDS.get(tool, wanted))


def load_scenario(name):
    file = re.sub(r"[^\w.-]", "_", name) + ".json"
    path = next((path for path in (folder / file for folder in SCENARIOS) if path.exists()), None)
    return json.loads(path.read_text()) if path else {"turns": [{"text": f"(no scenario called {name})"}]}


def step_of(script, results, key):
    """-> (step, tool results that earlier steps account for)"""
    step, seen, last = 0, 0, len(script["turns"]) - 1
    while step < last:
        need = len(script["turns"][step].get("tools") or [])
        if need == 0 or seen + need > results:
            break
        seen, step = seen + need, step + 1
    if script.get("once"):                  # survives compaction: no step is served twice
        with _lock:
            step = min(max(step, _once.get(key, 0)), last)
            _once[key] = step + 1
        seen = results
    return step, seen


def summary_of(values):
    """A compaction summary. It carries the markers on if the scenario can go on after it."""
    once = load_scenario(values["scenario"]).get("once")
    carried = " ".join(f"[[{k}:{v}]]" for k, v in values.items()) if once else ""
    return f"<summary>\nWork in progress. {carried}\n</summary>"


def canned(events, tools, schema, values):
    """The answer to a request that is not a turn of the scenario, with the reason."""
    last = next((text for role, text in reversed(events) if role == "user"), "")
    if schema is not None:
        return json.dumps(example(schema)), "json"
    if "scenario" not in values:
        return "ok", "no marker"
    if not tools:
        return "Summary: work in progress.", "no tools"
    if last.startswith("[SUGGESTION MODE"):     # Claude Code, beside the conversation
        return "go on", "suggestion"
    if SUMMARY.search(last) and not MARK.search(last) and "<task-notification>" not in last:
        return summary_of(values), "summary"
    return None, "turn"


def decide(events, tools, schema):
    """-> (turn with "text" and "calls", what the log says about the choice)"""
    start, values = markers(events)
    info = {"scenario": values.get("scenario"), "run": values.get("run"), "cwd": values.get("cwd")}
    text, info["why"] = canned(events, tools, schema, values)
    if text is not None:
        return {"text": text, "calls": [], "tools": tools}, info
    results = sum(1 for role, _ in events[start + 1:] if role == "result")
    script = load_scenario(values["scenario"])
    step, seen = step_of(script, results, (info["run"], info["scenario"]))
    last = next((text for role, text in reversed(events) if role == "result"), "")
    values = {**values, "result_uuid": (UUID.findall(last) or [""])[-1]}
    turn = fill(script["turns"][step], values)
    wanted = turn.get("tools") or []
    if results >= seen + len(wanted):       # answered already: the last turn only speaks
        wanted = []
    calls = [bound for bound in (bind(call, tools) for call in wanted) if bound]
    info.update(step=step, results=results, unbound=len(wanted) - len(calls))
    return {**turn, "calls": calls, "tools": tools,
            "text": turn.get("text", "" if calls else "Done.")}, info


# ---- how it is answered

def tokens_of(turn, events):
    told = turn.get("usage") or {}
    return {"input": told.get("input", 100 + 50 * len(events)), "output": told.get("output", 20),
            "cache_write": told.get("cache_write", 10), "cache_read": told.get("cache_read", 3 * len(events))}


def injected_error(turn, info):
    """The HTTP status to fail with, as often as the turn asks for it."""
    if not turn.get("http_error"):
        return None
    key = (info["run"], info["scenario"], info["step"])
    with _lock:
        _fired[key] = _fired.get(key, 0) + 1
        return int(turn["http_error"]) if _fired[key] <= turn.get("error_times", 1) else None


def hold(turn):
    """Waits as the turn says: some seconds, or until a file exists."""
    time.sleep(float(turn.get("hold_s") or 0))
    end = time.time() + HOLD_LIMIT_S
    while turn.get("hold_file") and not os.path.exists(turn["hold_file"]) and time.time() < end:
        time.sleep(0.05)


# ---- the server

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def read_body(self):
        if "chunked" not in (self.headers.get("transfer-encoding") or "").lower():
            data = self.rfile.read(int(self.headers.get("content-length") or 0))
        else:
            data = b""
            while size := int(self.rfile.readline().split(b";")[0], 16):
                data += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        packed = (self.headers.get("content-encoding") or "").lower() == "gzip"
        return gzip.decompress(data) if packed else data

    def send_json(self, value, status=200):
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.send_header("request-id", new_id("req_"))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def send_stream(self, events):
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.send_header("request-id", new_id("req_"))
        self.end_headers()
        for event in events:
            name = f"event: {event['type']}\n" if "type" in event else ""
            data = event if isinstance(event, str) else json.dumps(event)
            raw = f"{name}data: {data}\n\n".encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(raw), raw))
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()

    def headers_for_log(self):
        return {k.lower(): "***" if SECRET_HEADER.search(k) else v for k, v in self.headers.items()}

    def do_HEAD(self):
        self.send_json({})

    def do_GET(self):
        path = self.path.split("?")[0]
        log({"method": "GET", "path": self.path})
        if path == "/healthz":
            return self.send_json({"ok": True, "pid": os.getpid()})
        if path.endswith("/models"):
            dialect = dialects.Gemini if "v1beta" in path else \
                dialects.Anthropic if "anthropic-version" in self.headers else dialects.Responses
            return self.send_json(dialect.models)
        return self.send_json({"error": {"type": "not_found_error", "message": "not found"}}, 404)

    def do_POST(self):
        path = self.path.split("?")[0]
        try:
            body = json.loads(self.read_body() or b"{}")
        except ValueError:
            return self.send_json({"error": {"message": "bad json"}}, 400)
        try:
            dialect = next((d for d in dialects.DIALECTS if d.path.search(path)), None)
            if dialect:
                self.answer(dialect, body)
            elif path.endswith(("/count_tokens", ":countTokens")):
                count = max(1, len(json.dumps(body)) // 4)
                self.send_json({"input_tokens": count, "totalTokens": count})
            else:
                log({"method": "POST", "path": self.path, "why": "other"})
                self.send_json({})
        except (BrokenPipeError, ConnectionResetError):
            log({"path": self.path, "why": "client gone"})

    def answer(self, dialect, body):
        events, tools, schema = dialect.read(body)
        turn, info = decide(events, tools, schema)
        tokens = tokens_of(turn, events)
        message = dialect.write(turn, body.get("model") or "fake-model", tokens)
        with _lock:
            _count["requests"] += 1
            number = _count["requests"]
        status = injected_error(turn, info)
        log({"seq": number, "path": self.path, "api": dialect.__name__.lower(), **info, "status": status or 200,
             "message_id": message["id"], "tokens": tokens, "events": len(events),
             "calls": [name for name, _ in turn["calls"]], "metadata": body.get("metadata"),
             "headers": self.headers_for_log()})
        if LOG_BODIES:
            (LOG_DIR / f"body-{number:04d}.json").write_text(json.dumps(body, indent=1))
        if status:
            error = {"type": turn.get("error_type", "overloaded_error"),
                     "message": turn.get("error_message", "injected")}
            return self.send_json({"type": "error", "error": error}, status)
        hold(turn)
        streamed = body.get("stream") or "streamGenerateContent" in self.path
        return self.send_stream(dialect.stream(message)) if streamed else self.send_json(message)


def main():
    LOG_DIR.mkdir(parents=True, exist_ok=True)
    address = (os.environ.get("LAB_HOST", "127.0.0.1"), int(os.environ.get("LAB_PORT", "0")))
    server = ThreadingHTTPServer(address, Handler)
    server.daemon_threads = True
    port = server.server_address[1]
    if os.environ.get("LAB_PORT_FILE"):         # renamed into place: a reader never sees half of it
        target = Path(os.environ["LAB_PORT_FILE"])
        target.with_suffix(".new").write_text(str(port))
        target.with_suffix(".new").replace(target)
    print(f"fake model on http://{address[0]}:{port}", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        sys.exit(0)


if __name__ == "__main__":
    main()
