"""Server-sent events, as lines of a response."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass
class ServerSentEvent:
    """One event of a stream."""

    data: str
    # Absent where a stream cannot be resumed after it.
    id: str | None


def server_sent_events(lines: Iterable[bytes]) -> Iterator[ServerSentEvent]:
    """The events in the lines of a stream. One that is cut off is left out: it comes again."""
    data: list[str] = []
    number: str | None = None
    for raw in lines:
        line = raw.decode("utf-8", "replace").rstrip("\r\n")
        if not line:
            if data:
                yield ServerSentEvent("\n".join(data), number)
            data, number = [], None
            continue
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            data.append(value)
        elif name == "id":
            number = value
