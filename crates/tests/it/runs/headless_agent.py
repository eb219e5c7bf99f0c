#!/usr/bin/env python3
"""A played agent that is run once, by what it is told on standard input: it writes `stream-json` as Claude Code does.

What it does is told by its prompt, line by line. Lines without `!` are said as they are.

  !tool ID NAME INPUT   a tool call (INPUT: JSON)
  !done ID OUTPUT       it returned
  !sleep SECONDS
  !child SECONDS        starts a process below itself and says its id
  !pid                  says the process id
  !env NAME             says the value of a variable
  !arguments            says what it was started with
  !stderr TEXT          writes to standard error
  !error TEXT           ends with an error as its result
  !crash CODE           ends without a result

PLAYED_STATE is a directory in which its sessions outlive it.
"""
import json
import os
import subprocess
import sys
import time
import uuid

ENV = os.environ
STATE = ENV["PLAYED_STATE"]
count = [0]


def write(record):
    sys.stdout.write(json.dumps({**record, "session_id": session}) + "\n")
    sys.stdout.flush()


def option(name):
    found = [argument.split("=", 1)[1] for argument in sys.argv[1:] if argument.startswith(name + "=")]
    return found[0] if found else None


def message(block):
    count[0] += 1
    name = "msg_%s_%d" % (session[:8], count[0])
    usage = {"input_tokens": 100, "output_tokens": 10}
    start = {"id": name, "model": model, "usage": usage}
    if block["type"] == "text":
        write({"type": "stream_event", "event": {"type": "message_start", "message": start}})
        for part in (block["text"][:3], block["text"][3:]):
            delta = {"type": "text_delta", "text": part}
            write({"type": "stream_event", "event": {"type": "content_block_delta", "index": 0, "delta": delta}})
    write({"type": "assistant", "message": {**start, "content": [block]}, "parent_tool_use_id": None})


def say(text):
    message({"type": "text", "text": text})


def result(**more):
    usage = {"input_tokens": 100 * count[0], "output_tokens": 10 * count[0]}
    write({"type": "result", "subtype": "success", "is_error": False, "stop_reason": "end_turn", "usage": usage, **more})


def line(line):
    word, _, rest = line.partition(" ")
    if not word.startswith("!"):
        say(line)
    elif word == "!tool":
        call, name, given = (rest.split(" ", 2) + ["{}"])[:3]
        message({"type": "tool_use", "id": call, "name": name, "input": json.loads(given)})
    elif word == "!done":
        call, output = (rest.split(" ", 1) + [""])[:2]
        content = [{"type": "tool_result", "tool_use_id": call, "content": output}]
        write({"type": "user", "message": {"role": "user", "content": content}, "parent_tool_use_id": None})
    elif word == "!sleep":
        time.sleep(float(rest))
    elif word == "!child":
        # In a group of its own, as agents start their commands.
        child = subprocess.Popen(["sleep", rest], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL, start_new_session=True)
        say(str(child.pid))
    elif word == "!pid":
        say(str(os.getpid()))
    elif word == "!env":
        say("%s=%s" % (rest, ENV.get(rest, "")))
    elif word == "!arguments":
        say(" ".join(sys.argv[1:]))
    elif word == "!stderr":
        print(rest, file=sys.stderr, flush=True)
    elif word == "!error":
        result(is_error=True, result=rest)
        sys.exit(1)
    elif word == "!crash":
        os._exit(int(rest or 1))


resumed = option("--resume")
session = resumed or str(uuid.uuid4())
model = option("--model") or "played-1"
kept = os.path.join(STATE, session)
prompt = sys.stdin.read()
if resumed and not os.path.exists(kept):
    print("No conversation found with session ID: " + session, file=sys.stderr, flush=True)
    result(subtype="error_during_execution", is_error=True)
    sys.exit(1)
open(kept, "a").close()
write({"type": "system", "subtype": "init", "model": model})
for part in prompt.splitlines():
    if part.strip():
        line(part)
result()
