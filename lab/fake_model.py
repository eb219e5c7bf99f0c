#!/usr/bin/env python3
"""A scripted model server on loopback, for driving a real coding agent without an account.

Speaks as much of the Anthropic protocol as Claude Code needs: POST /v1/messages (streamed and
plain), POST /v1/messages/count_tokens, GET /v1/models and /healthz.

A reply comes from a JSON scenario. The newest user message with a marker `[[scenario:NAME]]`
names it, the step is found by counting the tool results after that message. The server keeps no
session state, so any number of sessions can run at once and a sub-agent gets its own script
through the marker in its prompt. `[[cwd:/path]]` is the value of {{cwd}} in scenario strings,
`[[run:ID]]` is copied to the request log.

Environment: LAB_HOST, LAB_PORT (0 = any free port), LAB_PORT_FILE (the port is written there),
LAB_SCENARIOS, LAB_LOG_DIR (requests.jsonl), LAB_LOG_BODIES=1. Python 3.9+, standard library only.
"""
import gzip
import json
import os
import re
import sys
import threading
import time
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

SCENARIOS = Path(os.environ.get("LAB_SCENARIOS") or Path(__file__).resolve().parent / "scenarios")
LOG_DIR = Path(os.environ.get("LAB_LOG_DIR", "."))
LOG_BODIES = os.environ.get("LAB_LOG_BODIES") == "1"

MARK = re.compile(r"\[\[(scenario|cwd|run):([^\]]*)\]\]")
# How the agent asks for a compaction summary (such a request still declares tools).
SUMMARY = re.compile(r"(detailed|concise|structured) summary|<summary>|compact(ing|ion)", re.I)
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

def text_of(content):
    """Text of a string, a part, or a list of parts."""
    if content is None or isinstance(content, str):
        return content or ""
    if isinstance(content, dict):
        return content.get("text") or text_of(content.get("content"))
    return "\n".join(filter(None, map(text_of, content)))


def events_of(body):
    """The messages as (role, text), with role "result" for tool results."""
    events = []
    for message in body.get("messages", []):
        parts = message.get("content")
        if isinstance(parts, str):
            events.append((message["role"], parts))
            continue
        for part in parts or []:
            if part.get("type") == "tool_result":
                events.append(("result", text_of(part.get("content"))))
            elif part.get("type") == "text":
                events.append((message["role"], part.get("text", "")))
    return events


def markers(events):
    """-> (index of the message with the scenario's marker or None, marker values)"""
    start, found = None, {}
    for i, (role, text) in enumerate(events):
        for key, value in MARK.findall(text) if role == "user" else ():
            found[key] = value
            start = i if key == "scenario" else start
    return start, found


# ---- what the scenario answers

OPS = {"shell": ["Bash"], "write": ["Write"], "edit": ["Edit"], "read": ["Read"],
       "subagent": ["Agent", "Task"]}
ARGUMENTS = {"path": "file_path", "old": "old_string", "new": "new_string", "agent": "subagent_type"}


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
    kind = kind[0] if isinstance(kind, list) else kind
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


def bind(call, tools):
    """A call of the scenario as (tool name, input) for the tools this request declares."""
    if "name" in call:                                        # literal, perhaps optional
        known = call["name"] in tools or not call.get("optional")
        return (call["name"], call.get("input", {})) if known else None
    name = next((n for n in OPS[call["op"]] if n in tools), None)
    if name is None:
        return None
    schema = tools[name] or {}
    known = schema.get("properties") or {}
    given = {ARGUMENTS.get(k, k): v for k, v in call.items() if k not in ("op", "args")}
    given = {k: v for k, v in given.items() if not known or k in known}
    given.update(call.get("args") or {})
    for key in schema.get("required") or []:
        given.setdefault(key, example(known.get(key)))
    return name, given


def load_scenario(name):
    try:
        return json.loads((SCENARIOS / (re.sub(r"[^\w.-]", "_", name) + ".json")).read_text())
    except FileNotFoundError:
        return {"turns": [{"text": f"(no scenario called {name})"}]}


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
    if SUMMARY.search(last) and not MARK.search(last) and "<task-notification>" not in last:
        return summary_of(values), "summary"
    return None, "turn"


def decide(events, tools, schema):
    """-> (turn with "text" and "calls", what the log says about the choice)"""
    start, values = markers(events)
    info = {"scenario": values.get("scenario"), "run": values.get("run"), "cwd": values.get("cwd")}
    text, info["why"] = canned(events, tools, schema, values)
    if text is not None:
        return {"text": text, "calls": []}, info
    results = sum(1 for role, _ in events[start + 1:] if role == "result")
    script = load_scenario(values["scenario"])
    step, seen = step_of(script, results, (info["run"], info["scenario"]))
    turn = fill(script["turns"][step], values)
    wanted = turn.get("tools") or []
    if results >= seen + len(wanted):       # answered already: the last turn only speaks
        wanted = []
    calls = [bound for bound in (bind(call, tools) for call in wanted) if bound]
    info.update(step=step, results=results, unbound=len(wanted) - len(calls))
    return {**turn, "calls": calls, "text": turn.get("text", "" if calls else "Done.")}, info


# ---- how it is written

def new_id(prefix):
    return prefix + uuid.uuid4().hex[:24]


def message_of(turn, model, events):
    content = [{"type": "text", "text": turn["text"]}] if turn["text"] else []
    content += [{"type": "tool_use", "id": new_id("toolu_"), "name": name, "input": given}
                for name, given in turn["calls"]]
    usage = turn.get("usage") or {}
    return {"id": new_id("msg_"), "type": "message", "role": "assistant", "model": model,
            "content": content, "stop_reason": "tool_use" if turn["calls"] else "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": usage.get("input", 100 + 50 * len(events)),
                      "output_tokens": usage.get("output", 20),
                      "cache_creation_input_tokens": usage.get("cache_write", 10),
                      "cache_read_input_tokens": usage.get("cache_read", 3 * len(events))}}


def stream_of(message):
    yield {"type": "message_start", "message": dict(message, content=[], stop_reason=None)}
    for i, block in enumerate(message["content"]):
        is_text = block["type"] == "text"
        empty = dict(block, text="") if is_text else dict(block, input={})
        yield {"type": "content_block_start", "index": i, "content_block": empty}
        whole = block["text"] if is_text else json.dumps(block["input"])
        for at in range(0, len(whole), 24):
            part = whole[at:at + 24]
            delta = {"type": "text_delta", "text": part} if is_text else \
                {"type": "input_json_delta", "partial_json": part}
            yield {"type": "content_block_delta", "index": i, "delta": delta}
        yield {"type": "content_block_stop", "index": i}
    yield {"type": "message_delta",
           "delta": {"stop_reason": message["stop_reason"], "stop_sequence": None},
           "usage": {"output_tokens": message["usage"]["output_tokens"]}}
    yield {"type": "message_stop"}


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
            raw = f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
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
            return self.send_json({"has_more": False, "data": [
                {"id": "fake-model", "type": "model", "display_name": "fake-model",
                 "created_at": "2025-01-01T00:00:00Z"}]})
        return self.send_json({"error": {"type": "not_found_error", "message": "not found"}}, 404)

    def do_POST(self):
        path = self.path.split("?")[0]
        try:
            body = json.loads(self.read_body() or b"{}")
        except ValueError:
            return self.send_json({"error": {"message": "bad json"}}, 400)
        try:
            if path.endswith("/v1/messages"):
                self.messages(body)
            elif path.endswith("/count_tokens"):
                self.send_json({"input_tokens": max(1, len(json.dumps(body)) // 4)})
            else:
                log({"method": "POST", "path": self.path, "why": "other"})
                self.send_json({})
        except (BrokenPipeError, ConnectionResetError):
            log({"path": self.path, "why": "client gone"})

    def messages(self, body):
        form = body.get("output_format") or (body.get("output_config") or {}).get("format") or {}
        tools = {t["name"]: t.get("input_schema") for t in body.get("tools") or [] if "name" in t}
        events = events_of(body)
        turn, info = decide(events, tools, form.get("schema"))
        message = message_of(turn, body.get("model") or "", events)
        with _lock:
            _count["requests"] += 1
            number = _count["requests"]
        status = injected_error(turn, info)
        log({"seq": number, "path": self.path, "model": message["model"], **info, "status": status or 200,
             "message_id": message["id"], "usage": message["usage"], "events": len(events),
             "calls": [name for name, _ in turn["calls"]], "metadata": body.get("metadata"),
             "headers": self.headers_for_log()})
        if LOG_BODIES:
            (LOG_DIR / f"body-{number:04d}.json").write_text(json.dumps(body, indent=1))
        if status:
            return self.send_json({"type": "error", "error": {"type": "overloaded_error",
                                                              "message": "injected"}}, status)
        hold(turn)
        return self.send_stream(stream_of(message)) if body.get("stream") else self.send_json(message)


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
