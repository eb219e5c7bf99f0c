"""A session from its creation to its end, and what came of it in one JSON object: for a test that loses answers on the way,
and compares it with what the program shows."""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Callable
from typing import Any

from siglum_client import Gateway, ProblemError, models

TURNS = 3


def main() -> None:
    with Gateway() as gateway:
        json.dump(report(gateway), sys.stdout)


def report(gateway: Gateway) -> dict[str, Any]:
    refusals: list[dict[str, Any]] = []

    def refused(work: Callable[[], object]) -> None:
        try:
            work()
        except ProblemError as error:
            refusals.append({"status": error.status, "code": error.code, "field": error.field, "detail": error.detail})

    wrong: Any = {"issue_number": True}
    refused(lambda: gateway.create_session({"agent": "house", "links": wrong}))
    created = gateway.create_session({
        "agent": "house",
        "conversation_id": sys.argv[1],
        "links": {"issue_number": 42, "pipeline_id": "nightly", "agent_role": "coder", "labels": {"team": "parts"}},
        "repositories": ["example/parts"],
    })
    session = created["session"]["id"]
    with gateway.with_token(created["token"]["secret"]) as own:
        receipts = []
        with own.drive(session, holder="report") as drive:
            for number in range(1, TURNS + 1):
                events: list[models.TurnEvent] = [
                    {"type": "prompt", "key": f"{number}.prompt", "text": f"Please sort list {number}."},
                    {"type": "tool_call", "call": f"{number}.call", "tool": "Bash", "class": "shell", "input": "make test"},
                    {"type": "tool_result", "call": f"{number}.call", "tool": "Bash", "class": "shell", "output": "ok"},
                    {"type": "message", "key": f"{number}.answer", "text": f"List {number} is sorted ✓."},
                ]
                receipts.append(drive.commit(f"turn-{number}", events))
                own.keep_session_alive(session)
            # The same key with the same events is the same turn; with others it is refused.
            again = drive.commit(f"turn-{TURNS}", events)
            refused(lambda: drive.commit(f"turn-{TURNS}", events[:1]))
        entries = [entry["key"] for entry in own.iter_events(session, limit=5)]
        streamed = list(itertools.islice(own.stream_events(session), TURNS))
        resumed = list(itertools.islice(own.stream_events(session, after=1), TURNS - 1))
        own.end_session(session, {"outcome": "completed"})
        return {
            "session": session,
            "receipts": [receipt["digest"] for receipt in receipts],
            "again": again["digest"],
            "refusals": refusals,
            "entries": entries,
            "streamed": [sealed["receipt"]["digest"] for sealed in streamed],
            "resumed": [sealed["receipt"]["digest"] for sealed in resumed],
            "shown": own.get_session(session),
        }


main()
