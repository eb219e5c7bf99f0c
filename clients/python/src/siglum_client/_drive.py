"""Driving a session: one driver at a time, turn after turn, as the crate `siglum-store` does it."""

from __future__ import annotations

import contextlib
import threading
from types import TracebackType
from typing import TYPE_CHECKING

from siglum_client import models
from siglum_client._problem import ProblemError, SiglumError, Unreachable
from siglum_client._transport import fresh_key

if TYPE_CHECKING:
    from siglum_client._operations import Operations


class Drive:
    """The right to write to a session. It is renewed in the background, until it is released or its process ends.

    Use it in a `with` statement, which releases it. A turn that is open then is treated as that of a driver that died.
    """

    def __init__(self, gateway: Operations, session: str, holder: str, term: float) -> None:
        self._gateway, self.session, self._term_ms = gateway, session, int(term * 1000)
        request: models.AcquireLease = {"holder": holder, "nonce": fresh_key(), "term_ms": self._term_ms}
        lease = gateway.acquire_lease(session, request)
        self._epoch, self._head = lease["epoch"], lease["head"]
        # How the turn that the driver before left open was settled.
        self.recovered = lease["recovered"]
        # The key of a turn that has a prompt and no answer: open it to answer, or to abort it.
        self.open_turn: str | None = lease.get("open")
        self._over = threading.Event()
        self._renewer = threading.Thread(target=self._renew_in_time, name=f"lease of {session}", daemon=True)
        self._renewer.start()

    def open(self, key: str) -> Turn:
        """Opens a turn, or continues the open turn of this key. If it was committed before, its `receipt` says so."""
        opened = self._gateway.open_turn(self.session, key, self._events([]))
        receipt = opened.get("receipt")
        if receipt is not None:
            self._head = max(self._head, receipt["last"])
        return Turn(self, key, receipt)

    def commit(self, key: str, events: list[models.TurnEvent]) -> models.Receipt:
        """Commits a turn: what was appended to it, and these events. The same key with the same events is one turn,
        however often it is committed."""
        receipt = self._gateway.commit_turn(self.session, key, self._events(events))["receipt"]
        self._head = max(self._head, receipt["last"])
        return receipt

    def renew(self) -> None:
        """Renews the lease now. Raises `problems.Fenced` if another driver has it."""
        self._gateway.renew_lease(self.session, {"epoch": self._epoch, "term_ms": self._term_ms})

    def release(self) -> None:
        """Gives the lease back. One that cannot be given back runs out."""
        self._over.set()
        with contextlib.suppress(SiglumError):
            self._gateway.release_lease(self.session, {"epoch": self._epoch})

    def __enter__(self) -> Drive:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def _renew_in_time(self) -> None:
        while not self._over.wait(self._term_ms / 3000):
            try:
                self.renew()
            except Unreachable:
                pass
            except ProblemError as problem:
                # What may pass is tried again. Of anything else, the next call of the driver is told, too.
                if not problem.may_repeat(once=False):
                    return

    def _events(self, events: list[models.TurnEvent]) -> models.TurnEvents:
        return {"epoch": self._epoch, "expected_head": self._head, "events": events}


class Turn:
    """A turn. What is appended to it survives the death of this process, and nobody sees it before it is committed."""

    def __init__(self, drive: Drive, key: str, receipt: models.Receipt | None) -> None:
        self._drive, self.key = drive, key
        # Of a turn that is committed.
        self.receipt = receipt

    def append(self, *events: models.TurnEvent) -> None:
        """Appends events. Append a call before its tool runs: if this process dies during the
        call, the next driver knows of it."""
        drive = self._drive
        drive._gateway.append_to_turn(drive.session, self.key, drive._events(list(events)))

    def commit(self, *events: models.TurnEvent) -> models.Receipt:
        """Commits it, with these events at its end."""
        self.receipt = self._drive.commit(self.key, list(events))
        return self.receipt

    def abort(self) -> None:
        """Drops it, with all that was appended."""
        drive = self._drive
        drive._gateway.abort_turn(drive.session, self.key, {"epoch": drive._epoch})
