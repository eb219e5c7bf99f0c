#!/usr/bin/env python3
"""Record the fixtures of the readers of Claude Code, Qwen Code and Copilot CLI from real runs.

    record.py [AGENT] OUT_DIR        e.g. claude crates/agents/src/claude_code/fixtures/2.1.329

Each plan below is one run of the real agent against the fake model. Transcripts are copied
between the steps, so that a resumed transcript starts with the bytes of the one before. Paths,
home, interpreter and kernel are made generic, and the vendor's long texts are cut; the order of
keys and lines stays as the agent wrote it.
"""
import json
import os
import re
import sys
from pathlib import Path

import agents
import lab

# (file, step) pairs: after the step, the transcript of the current session is copied to the file.
CLAUDE = [
    [("write_commit", "new:write_commit"), ("resume", "resume:say"), ("fork_child", "fork:say")],
    [("subagent_parent", "new:subagent")],
    [("edit", "new:edit")],
    [(None, "new:sub_write"), (None, "prompt:/compact"), ("compact", "resume:say")],
    [(None, "new:two_tools")],
    [(None, "new:autocompact"), (None, "prompt:/clear")],
]
QWEN = [
    [(None, "new:write_commit"), ("resume", "resume:say"), ("fork", "fork:say")],
    [("subagent_parent", "new:subagent")],
    [("two_tools", "new:two_tools")],
    [("edit", "new:edit")],
    [(None, "new:sub_write"), ("compress", "prompt:/compress")],
]
COPILOT = [
    [("write_commit", "new:write_commit"), ("resume", "resume:say")],
    [("subagent", "new:subagent")],
    [("two_tools", "new:two_tools")],
    [("edit", "new:edit")],
]
# By the agent: how it is driven, the file for its hook calls, the runs.
PLANS = {
    "claude": [(agents.Claude, "hooks.jsonl", CLAUDE)],
    "qwen": [(agents.Qwen, "hooks.jsonl", QWEN)],
    "copilot": [(agents.Copilot, "hooks.jsonl", COPILOT),
                (agents.CopilotAsClaude, "hooks_as_claude.jsonl",
                 [[(None, step) for _, step in plan] for plan in COPILOT])],
}
WHOLE = 3       # the hook calls of so many plans are kept whole, later ones add new kinds
KINDS = ("source", "tool_name", "toolName", "trigger", "reason", "agent_type", "agentName")
KEEP_ENV = ("AI_AGENT", "CLAUDECODE", "CLAUDE_CODE_CHILD_SESSION", "CLAUDE_CODE_SESSION_ID",
            "CLAUDE_PID", "QWEN_CODE", "QWEN_CODE_SESSION_ID", "QWEN_CODE_PROMPT_ID", "QWEN_CODE_AGENT_ID",
            "COPILOT_CLI", "COPILOT_AGENT_SESSION_ID")
# What carries the vendor's prompts and tool schemas: of no interest to the reader.
BULKY = ("rendered", "renderedRole")


def slug(path):
    return "".join(c if c.isalnum() else "-" for c in str(path))


def replacements(run):
    tmp = run.dir / "tmp"
    pairs = [(lab.PYTHON, "python3"), (str(lab.CAPTURE), "capture.py"),
             (slug(run.work), "-repo"), (str(run.home), "/home/dev"), (str(run.work), "/repo"),
             (str(tmp), "/tmp/agent"), (str(run.dir), "/tmp/run"), (f"[[run:{run.dir.name}]]", "[[run:lab]]"),
             (os.uname().release, "6.1.0")]
    return [(json.dumps(a)[1:-1], b) for a, b in pairs]


def cut(value, limit, items):
    if isinstance(value, str):
        return value if len(value) <= limit else value[:limit] + f"…(+{len(value) - limit})"
    if isinstance(value, list):
        return [cut(v, limit, items) for v in value[:items]]
    if isinstance(value, dict):
        return {k: cut(v, limit, items) for k, v in value.items()}
    return value


def generic(line, pairs):
    for old, new in pairs:
        line = line.replace(old, new)
    rec = json.loads(line)
    if rec.get("type", "").startswith("api-request"):
        rec = {k: rec[k] for k in ("type", "sessionId")}
    if rec.get("type") == "attachment":
        rec = {k: v for k, v in rec.items() if k not in BULKY}
        rec["attachment"] = {"type": rec["attachment"].get("type")}
    return json.dumps(cut(rec, 1500, 40), ensure_ascii=False, separators=(",", ":"))


def save(source, target, pairs):
    target.parent.mkdir(parents=True, exist_ok=True)
    lines = source.read_text().splitlines()
    target.write_text("".join(generic(line, pairs) + "\n" for line in lines))


def hooks(run, pairs, seen):
    seen["runs"] += 1
    whole = seen["runs"] <= WHOLE
    for event in run.events():
        body = event["stdin"] if isinstance(event["stdin"], dict) else {}
        kind = (event["event"], *(body.get(k) for k in KINDS))
        if not whole and kind in seen["kinds"]:
            continue
        seen["kinds"].add(kind)
        env = {k: v for k, v in event["env"].items() if k in KEEP_ENV}
        rec = {"event": event["event"], "stdin": event["stdin"], "env": env}
        yield generic(json.dumps(rec), pairs)


def record(agent, plan, out, sink, seen):
    run = lab.Run(agent.folder)
    server = lab.FakeModel(run.dir / "server")
    pairs, session = replacements(run), None
    try:
        agent.configure(run, server)
        for n, (name, step) in enumerate(plan, 1):
            parent, session = session, lab.run_step(agent, run, server, n, step, session)
            if step.startswith("fork:"):
                save(agent.transcript(run, parent), out / "fork_parent.jsonl", pairs)
            if name:
                save(agent.transcript(run, session), out / f"{name}.jsonl", pairs)
            beside = agent.subagents(agent.transcript(run, session))
            for child in sorted(beside.glob("agent-*.jsonl")):
                save(child, out / "subagents" / child.name, pairs)
                meta = child.with_suffix(".meta.json")
                if meta.exists():
                    (out / "subagents" / meta.name).write_text(generic(meta.read_text(), pairs) + "\n")
    finally:
        server.stop()
    for line in hooks(run, pairs, seen):
        sink.write(line + "\n")


def main():
    name, out = (["claude", *sys.argv[1:]][-2:] if len(sys.argv) in (2, 3) else (None, ""))
    if name not in PLANS:
        raise SystemExit(__doc__)
    lab.enter_netns()
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    for old in (out / "subagents").glob("agent-*"):
        old.unlink()
    for agent, hooks_file, plans in PLANS[name]:
        seen = {"runs": 0, "kinds": set()}
        with open(out / hooks_file, "w") as sink:
            for plan in plans:
                record(agent(), plan, out, sink, seen)
    leaks = [p for p in out.rglob("*.json*")
             if re.search(r"/root/|/home/(?!dev\b)", p.read_text())]
    if leaks:
        raise SystemExit(f"machine paths left in {', '.join(map(str, leaks))}")


if __name__ == "__main__":
    main()
