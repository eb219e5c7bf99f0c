#!/usr/bin/env python3
"""Records conversations over the Agent Client Protocol as fixtures: record_acp.py DIR

DIR/AGENT/VERSION/NAME.jsonl gets one line per message, {"from": "client" | "agent", "line": MESSAGE}; places are
generic, and long lists of models and commands are cut to their first entries. Recorded again for a new version.
"""
import json
import os
import re
import sys
from pathlib import Path

import acp_client
import lab

NAMES = {"claude": "claude-code"}
# What answers without questions: the mode's name.
FREE = {"claude": ["mode:bypassPermissions"], "codex": ["mode:agent-full-access"], "gemini": ["mode:yolo"]}
# What asks before each tool.
ASKING = {"claude": ["mode:default"], "gemini": ["mode:default"], "codex": ["mode:read-only"]}
AGAIN = {"claude": "resume", "codex": "resume", "opencode": "resume", "pi": "load"}
LONG = {"availableModels", "availableCommands", "options", "configOptions"}
KEPT = 2


def conversations(agent):
    free = FREE.get(agent, [])
    yield "turns", ["new", *free, "prompt:write_commit", "prompt:say"]
    yield "two_tools", ["new", *free, "prompt:two_tools"]
    yield "cancelled", ["new", *free, "cancel:slow", "prompt:say"]
    if agent in ASKING:
        yield "asked", ["new", *ASKING[agent], "prompt:write_commit"]
    if agent in AGAIN:
        yield "again", ["new", *free, "prompt:write_commit", AGAIN[agent], "prompt:say"]
    if agent == "claude":
        yield "subagent", ["new", *free, "prompt:subagent"]
        yield "agent_killed", ["new", *free, "killbelow:slow"]


def generic(text, run):
    for place, name in ((run.work, "/home/dev/project"), (run.home, "/home/dev"), (run.dir / "tmp", "/tmp")):
        text = text.replace(str(place), name).replace(str(place).replace("/", "-"), name.replace("/", "-"))
    text = text.replace(str(run.dir), "/home/dev/lab").replace(run.dir.name, "lab")
    text = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:4000", text)
    for part in ("LAB_CLAUDE", "LAB_CODEX", "LAB_PI"):
        if os.environ.get(part):
            text = text.replace(os.environ[part], "/usr/bin/" + part[4:].lower())
    return text


def shortened(value):
    if isinstance(value, dict):
        asked = "toolCall" in value
        return {k: v[:KEPT] if k in LONG and isinstance(v, list) and not asked else shortened(v)
                for k, v in value.items()}
    return [shortened(v) for v in value] if isinstance(value, list) else value


def record(agent, name, steps, target):
    talk = acp_client.Conversation(agent)
    try:
        for step in steps:
            talk.step(step)
        if talk.connection:
            talk.end()
    finally:
        talk.server.stop()
    lines = [json.loads(generic(line, talk.run)) for line in talk.log.read_text().splitlines()]
    version = next(line["line"]["result"]["agentInfo"]["version"] for line in lines
                   if "agentInfo" in line["line"].get("result", {}))
    folder = target / NAMES.get(agent, agent) / version
    folder.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps({**line, "line": shortened(line["line"])}, ensure_ascii=False) + "\n" for line in lines)
    (folder / f"{name}.jsonl").write_text(text)


def main():
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    lab.enter_netns()
    for agent in sys.argv[2:] or ["claude", "codex", "gemini", "opencode", "pi"]:
        for name, steps in conversations(agent):
            print(f"== {agent} {name}", flush=True)
            record(agent, name, steps, Path(sys.argv[1]))


if __name__ == "__main__":
    main()
