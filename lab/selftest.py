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


def check_responses(server):
    """Codex: a shell tool, and files by freeform patches."""
    tools = [{"type": "function", "name": "exec_command", "parameters": {
                 "type": "object", "properties": {"cmd": {"type": "string"}}, "required": ["cmd"]}},
             {"type": "custom", "name": "apply_patch"}]
    asked = {"type": "message", "role": "user", "content": [
        {"type": "input_text", "text": "go [[scenario:write_commit]] [[cwd:/w]] [[run:self]]"}]}
    first = json.loads(post(server, "/v1/responses", model="m", input=[asked], tools=tools))
    call = first["output"][1]
    assert call["type"] == "custom_tool_call" and "*** Add File: /w/hello.txt\n+" in call["input"], call
    result = {"type": "custom_tool_call_output", "call_id": call["call_id"], "output": "ok"}
    text = post(server, "/v1/responses", model="m", input=[asked, call, result], tools=tools, stream=True)
    events = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: ")]
    assert [e["sequence_number"] for e in events] == list(range(len(events))), events
    last = events[-1]["response"]
    assert "git commit" in json.loads(last["output"][1]["arguments"])["cmd"], last
    assert last["usage"]["input_tokens_details"]["cached_tokens"] == 6, last["usage"]


def check_chat(server):
    """Qwen Code, Copilot, OpenCode: functions, and a stream that ends with a word."""
    named = {"filePath": {"type": "string"}, "content": {"type": "string"}}
    tools = [{"type": "function", "function": {"name": name, "parameters": schema}} for name, schema in (
        ("bash", SHELL), ("write", {"type": "object", "properties": named, "required": ["filePath", "content"]}))]
    asked = {"role": "user", "content": "go [[scenario:write_commit]] [[cwd:/w]] [[run:self]]"}
    first = json.loads(post(server, "/v1/chat/completions", model="m", messages=[asked], tools=tools))
    said = first["choices"][0]["message"]
    call = said["tool_calls"][0]
    assert json.loads(call["function"]["arguments"])["filePath"] == "/w/hello.txt", call
    result = {"role": "tool", "tool_call_id": call["id"], "content": "ok"}
    text = post(server, "/v1/chat/completions", model="m", messages=[asked, said, result], tools=tools, stream=True)
    lines = [line[6:] for line in text.splitlines() if line.startswith("data: ")]
    assert lines.pop() == "[DONE]", text
    chunks = [json.loads(line) for line in lines]
    given = "".join(c["function"]["arguments"] for chunk in chunks[:-1]
                    for c in chunk["choices"][0]["delta"].get("tool_calls", []))
    assert "git commit" in json.loads(given)["command"], given
    assert chunks[-1]["usage"]["prompt_tokens_details"]["cached_tokens"] == 9, chunks[-1]


def check_gemini(server):
    """Gemini CLI: declared functions, answers without ids."""
    tools = [{"functionDeclarations": [{"name": "run_shell_command", "parametersJsonSchema": SHELL},
                                       {"name": "write_file", "parametersJsonSchema": WRITE}]}]
    asked = {"role": "user", "parts": [{"text": "go [[scenario:write_commit]] [[cwd:/w]] [[run:self]]"}]}
    path = "/v1beta/models/m:streamGenerateContent?alt=sse"
    text = post(server, path, contents=[asked], tools=tools)
    first = json.loads(text.removeprefix("data: "))
    said, call = first["candidates"][0]["content"]["parts"]
    assert said["text"] and call["functionCall"]["args"]["file_path"] == "/w/hello.txt", first
    result = {"role": "user", "parts": [{"functionResponse": {"name": "write_file", "response": {"output": "ok"}}}]}
    second = json.loads(post(server, "/v1beta/models/m:generateContent", contents=[asked, result], tools=tools))
    assert "git commit" in second["candidates"][0]["content"]["parts"][1]["functionCall"]["args"]["command"]
    assert second["usageMetadata"]["promptTokenCount"] == 206, second["usageMetadata"]


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
        check_responses(server)
        check_chat(server)
        check_gemini(server)
        check_canned(server)
        check_error(server)
    finally:
        server.stop()
    rows = [json.loads(line) for line in (logs / "requests.jsonl").read_text().splitlines()]
    assert [r["status"] for r in rows if r.get("scenario") == "overload"] == [529, 200], rows
    print("fake model: all answers as expected")


if __name__ == "__main__":
    main()
