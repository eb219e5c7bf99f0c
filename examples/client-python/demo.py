"""A session from its creation to its end; tells what came of it in one JSON object."""

from __future__ import annotations

import itertools
import json
import os
import sys

from siglum_client import Gateway, Json, Refused

TURNS = 3


def main() -> None:
    gateway = Gateway(os.environ["SIGLUM_GATEWAY"], os.environ["SIGLUM_GATEWAY_TOKEN"])
    refusals: list[Json] = []

    def refused(work: object, *arguments: object, **more: object) -> None:
        try:
            work(*arguments, **more)  # type: ignore[operator]
        except Refused as error:
            refusals.append({"status": error.status, "code": error.code, "field": error.field, "detail": error.detail})

    refused(gateway.create, "house", links={"issue_number": True})
    links = {"issue_number": 42, "pipeline_id": "nightly", "agent_role": "coder", "labels": {"team": "parts"}}
    session = gateway.create("house", conversation=sys.argv[1], links=links, repositories=["example/parts"])
    session.lease("demo")
    receipts = []
    for number in range(1, TURNS + 1):
        events: list[Json] = [
            {"type": "prompt", "key": f"{number}.prompt", "text": f"Please sort list {number}."},
            {"type": "tool_call", "call": f"{number}.call", "tool": "Bash", "class": "shell", "input": "make test"},
            {"type": "tool_result", "call": f"{number}.call", "tool": "Bash", "class": "shell", "output": "ok"},
            {"type": "message", "key": f"{number}.answer", "text": f"List {number} is sorted ✓."},
        ]
        receipts.append(session.commit(f"turn-{number}", events))
        session.keep_alive()
    # The same key with the same events is the same turn; with others it is refused.
    again = session.commit(f"turn-{TURNS}", events)
    refused(session.commit, f"turn-{TURNS}", events[:1])
    entries = list(session.events())
    streamed = list(itertools.islice(session.stream(), TURNS))
    resumed = list(itertools.islice(session.stream(after=1), TURNS - 1))
    session.end()
    told = {
        "session": session.id,
        "receipts": [receipt["digest"] for receipt in receipts],
        "again": again["digest"],
        "refusals": refusals,
        "entries": [entry["key"] for entry in entries],
        "streamed": [sealed["receipt"]["digest"] for sealed in streamed],
        "resumed": [sealed["receipt"]["digest"] for sealed in resumed],
        "shown": session.show(),
    }
    json.dump(told, sys.stdout)


main()
