#!/usr/bin/env python3
"""Records what agents write that run by their own headless mode: record_headless.py DIR

DIR/claude-code/VERSION/NAME.jsonl gets each line of standard output as it came; places are generic, and what an agent
says of itself when it begins is cut to what says which session it is. Recorded again for a new version.
"""
import json
import re
import subprocess
import sys
from pathlib import Path

import agents
import lab
from record_acp import generic

ARGUMENTS = ["-p", "--output-format", "stream-json", "--verbose", "--include-partial-messages"]
ALLOWED = ["--permission-mode", "bypassPermissions"]
# Name, and for each run its scenario and whether all is allowed.
CONVERSATIONS = [("turns", ["write_commit", "say"]), ("two_tools", ["two_tools"]), ("subagent", ["subagent"]),
                 ("refused", ["write_commit"]), ("overload", ["overload"])]
# What an agent says of itself that is no part of a conversation.
OF_ITSELF = {"tools", "mcp_servers", "slash_commands", "agents", "skills", "plugins", "memory_paths", "output_style",
             "terminal_reason", "fast_mode_state"}


def run(agent, place, server, scenario, more):
    done = subprocess.run([place.program, *ARGUMENTS, *more], cwd=place.work, text=True, capture_output=True,
                          env={**place.env(), **agent.env(place, server)}, timeout=120,
                          input=lab.prompt_for(place, scenario), check=False)
    # As Claude Code names directories after places.
    slug = re.sub(r"[^A-Za-z0-9]", "-", str(place.work))
    return [json.loads(generic(line, place).replace(slug, "-home-dev-project")) for line in done.stdout.splitlines() if line.startswith("{")]


def is_cut(line):
    """Whether it is a part of a tool's input, which may cut a place in two; the whole of it comes behind."""
    return line.get("event", {}).get("delta", {}).get("type") == "input_json_delta"


def record(name, scenarios, target):
    agent, place = agents.Claude(), lab.Run("claude")
    server, lines, native = lab.FakeModel(place.dir / "server"), [], None
    try:
        for scenario in scenarios:
            again = ["--resume", native] if native else []
            lines += run(agent, place, server, scenario, [*again, *([] if name == "refused" else ALLOWED)])
            native = next(line["session_id"] for line in lines if line.get("subtype") == "init")
    finally:
        server.stop()
    version = next(line["claude_code_version"] for line in lines if line.get("subtype") == "init")
    folder = target / "claude-code" / version
    folder.mkdir(parents=True, exist_ok=True)
    kept = [{k: v for k, v in line.items() if k not in OF_ITSELF} for line in lines if not is_cut(line)]
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in kept)
    (folder / f"{name}.jsonl").write_text(text)


def main():
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    lab.enter_netns()
    for name, scenarios in CONVERSATIONS:
        print(f"== {name}", flush=True)
        record(name, scenarios, Path(sys.argv[1]))


if __name__ == "__main__":
    main()
