"""A gateway: its operations, and what takes more than one request."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from types import TracebackType

from siglum_client import models
from siglum_client._drive import Drive
from siglum_client._events import ServerSentEvent
from siglum_client._operations import Operations
from siglum_client._problem import ProblemError, SiglumError, Unreachable
from siglum_client._transport import LONG, EventStream, Lost, Patience, fresh_key, quoted


class Gateway(Operations):
    """A gateway. Each operation of the API is a method; `iter_…` goes through all pages of a list."""

    def with_token(self, token: str) -> Gateway:
        """The same gateway with another token, such as that of a session."""
        return Gateway(
            self._address.geturl(), token, timeout=self._timeout, patience=self._patience, allow_plain=self._allow_plain
        )

    def __enter__(self) -> Gateway:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def drive(self, session: str, *, holder: str, term: float = 60.0) -> Drive:
        """Acquires the lease of a session, for `term` seconds from each renewal. `holder` is the name of the driver that
        others see, such as a host or a program."""
        return Drive(self, session, holder, term)

    def stream_events(self, session: str, *, after: int = 0) -> Iterator[models.SealedPosition]:
        """Each receipt of a session with its entries, as it is sealed, after the receipt of this number. Does not end by
        itself. When its connection breaks, it goes on where it was: nothing is left out and nothing comes twice."""
        patience = Patience(self._patience)
        path = f"/v1/sessions/{quoted(session)}/stream"
        while True:
            failure: SiglumError = Unreachable(f"GET {path}: the stream ended")
            stream: EventStream | None = None
            try:
                stream = self._stream("GET", path, headers={"last-event-id": str(after)})
                for event in stream or ():
                    sealed: models.SealedPosition = json.loads(event.data)
                    after = sealed["receipt"]["number"]
                    yield sealed
                    patience.renew()
            except (Lost, ProblemError) as lost:
                failure = _failure(lost, f"GET {path}")
            if stream is not None and stream.lived:
                patience.renew()
            patience.wait(failure)

    def stream_run(
        self,
        body: models.SendMessages,
        *,
        session: str | None = None,
        idempotency_key: str | None = None,
        traceparent: str | None = None,
    ) -> Iterator[models.RunEvent]:
        """Sends messages to an agent, and returns the events of its run, to the last one, `finished`. `session` is the id
        of a session or a conversation, in place of `conversation_id` in the body. When the connection breaks, the stream
        goes on where it was; the messages are executed once."""
        key = idempotency_key or body.get("turn_key") or fresh_key()
        path = f"/v1/sessions/{quoted(session)}/messages" if session else "/v1/messages"
        headers = {"idempotency-key": key, "traceparent": traceparent}
        position, patience = _Position(), Patience(self._patience)
        while not position.is_at_end:
            failure: SiglumError = Unreachable(f"POST {path}: the stream ended")
            stream: EventStream | None = None
            began = time.monotonic()
            try:
                stream = self._resumed(position.session, position) if position.session else None
                # At first, and when the run has ended in the meantime: the same key leads to what came of it.
                if stream is None:
                    position.replayed = bool(position.session)
                    stream = self._stream("POST", path, query={"format": "events"}, body=body, headers=headers, slow=True)
                for event in stream or ():
                    yield from position.read(event)
                    patience.renew()
            except (Lost, ProblemError) as lost:
                failure = _failure(lost, f"POST {path}")
            if stream is not None and stream.lived or stream is None and time.monotonic() - began >= LONG:
                patience.renew()
            if not position.is_at_end:
                patience.wait(failure)

    def follow_run(self, session: str) -> Iterator[models.RunEvent]:
        """The events of the active run of a session, from its start to its end; none if no run is active. `list_messages`
        has what was said in runs that ended. If the connection breaks and the run ends before there is another one, it raises
        `Unreachable`, because its last events are missing."""
        position, patience = _Position(), Patience(self._patience)
        while not position.is_at_end:
            failure: SiglumError = Unreachable(f"the run of {session}: the stream ended")
            stream: EventStream | None = None
            try:
                stream = self._resumed(session, position)
                if stream is None and position.trace:
                    raise Unreachable(f"the run of {session} ended while the connection was broken; list_messages has what was said")
                if stream is None:
                    return
                for event in stream:
                    yield from position.read(event)
                    patience.renew()
            except (Lost, ProblemError) as lost:
                failure = _failure(lost, f"the run of {session}")
            if stream is not None and stream.lived:
                patience.renew()
            if not position.is_at_end:
                patience.wait(failure)

    def _resumed(self, session: str, position: _Position) -> EventStream | None:
        """The stream of the active run, after what was read of it; nothing if none or another one is active."""
        path = f"/v1/sessions/{quoted(session)}/messages/stream"
        stream = self._stream("GET", path, headers={"last-event-id": str(position.last) if position.last else None})
        if stream is not None and position.trace and stream.trace != position.trace:
            stream.close()
            return None
        return stream


class _Position:
    """How far a run was read."""

    def __init__(self) -> None:
        self.last, self.session, self.trace = 0, "", ""
        self.is_at_end = False
        # Whether the run is told from its beginning again. If it is over, it is told in fewer pieces with numbers of
        # their own; its end has the whole answer.
        self.replayed = False

    def read(self, event: ServerSentEvent) -> Iterator[models.RunEvent]:
        """The event, unless it was read before."""
        run_event: models.RunEvent = json.loads(event.data)
        if run_event["type"] == "started":
            run = run_event["run"]
            self.replayed = self.replayed and run["trace_id"] == self.trace
            self.session, self.trace = run["session"], run["trace_id"]
        self.is_at_end = run_event["type"] == "finished"
        number = int(event.id) if event.id else None
        if self.replayed and not self.is_at_end and (number is None or number <= self.last):
            return
        self.last = number or self.last
        yield run_event


def _failure(lost: Lost | ProblemError, what: str) -> SiglumError:
    """What a stream fails with if it cannot go on in time. What is refused for good is raised."""
    if isinstance(lost, Lost):
        return Unreachable(f"{what}: {lost}")
    if not lost.may_repeat(once=False):
        raise lost
    return lost
