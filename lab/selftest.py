#!/usr/bin/env python3
"""Checks fake_model.py without any agent: steps, streaming, canned answers, injected errors."""
import json
import tempfile
import urllib.error
import urllib.request
from pathlib import Path

import lab

SHELL = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
WRITE = {"type": "object", "required": ["file_path", "content"],
         "properties": {"file_path": {"type": "string"}, "content": {"type": "string"}}}
TOOLS = [{"name": "Write", "input_schema": WRITE}, {"name": "Bash", "input_schema": SHELL}]


def post(server, path, **body):
    request = urllib.request.Request(server.url(path), json.dumps(body).encode(),
                                     {"content-type": "application/json"})
    return urllib.request.urlopen(request, timeout=5).read().decode()


def ask(server, text, **body):
    message = {"role": "user", "content": text}
    return json.loads(post(server, "/v1/messages", model="m", messages=[message], **body))


def check_turns(server):
    messages = [{"role": "user", "content": "go [[scenario:write_commit]] [[cwd:/w]] [[run:self]]"}]
    first = json.loads(post(server, "/v1/messages", model="m", messages=messages, tools=TOOLS))
    call = first["content"][1]
    assert first["stop_reason"] == "tool_use" and call["name"] == "Write", first
    assert call["input"]["file_path"] == "/w/hello.txt", call
    result = {"type": "tool_result", "tool_use_id": call["id"], "content": "ok"}
    messages += [{"role": "assistant", "content": first["content"]},
                 {"role": "user", "content": [result]}]
    text = post(server, "/v1/messages", model="m", messages=messages, tools=TOOLS, stream=True)
    events = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: ")]
    assert events[0]["type"] == "message_start" and events[-1]["type"] == "message_stop"
    parts = [e["delta"].get("partial_json", "") for e in events if e["type"] == "content_block_delta"]
    assert "git commit" in json.loads("".join(parts))["command"], parts


def check_canned(server):
    assert ask(server, "hello")["content"][0]["text"] == "ok"
    schema = {"type": "object", "required": ["title"], "properties": {"title": {"type": "string"}}}
    titled = ask(server, "[[scenario:say]]", output_format={"schema": schema})
    assert json.loads(titled["content"][0]["text"]) == {"title": "x"}
    assert json.loads(post(server, "/v1/messages/count_tokens", messages=[]))["input_tokens"] > 0


def check_error(server):
    try:
        ask(server, "[[scenario:overload]]", tools=TOOLS)
        raise AssertionError("expected an HTTP error")
    except urllib.error.HTTPError as error:
        assert error.code == 529, error
    assert "injected" in ask(server, "[[scenario:overload]]", tools=TOOLS)["content"][0]["text"]


def main():
    logs = Path(tempfile.mkdtemp(prefix="siglum-lab-"))
    server = lab.FakeModel(logs)
    try:
        check_turns(server)
        check_canned(server)
        check_error(server)
    finally:
        server.stop()
    rows = [json.loads(line) for line in (logs / "requests.jsonl").read_text().splitlines()]
    assert [r["status"] for r in rows if r.get("scenario") == "overload"] == [529, 200], rows
    print("fake model: all answers as expected")


if __name__ == "__main__":
    main()
