"""A client of Siglum's gateway in one module, with the standard library alone.

What is sent can be sent again: a session is created under an idempotency key, a turn is committed under a key of the
driver's. So an answer that was lost is asked for again until it comes, and what was asked for is done once.
"""

from __future__ import annotations

import http.client
import json
import time
import urllib.parse
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Json = dict[str, Any]


class Refused(Exception):
    """The gateway refused a request: the code says why, and the field which part of it is wrong."""

    def __init__(self, status: int, problem: Json) -> None:
        self.status = status
        self.code: str = problem.get("code", "unknown")
        self.field: str | None = problem.get("field")
        self.detail: str = problem.get("detail", "")
        where = f" ({self.field})" if self.field else ""
        super().__init__(f"{self.code}{where}: {self.detail}")


class Unreachable(Exception):
    """No answer came in time. Whether the last request was done is not known: ask again with the same key."""


class Gateway:
    """One gateway, and the token to ask it with."""

    def __init__(self, url: str, token: str, patience: float = 60.0) -> None:
        address = urllib.parse.urlsplit(url)
        if address.scheme not in ("http", "https") or address.hostname is None:
            raise ValueError("the address of a gateway begins with http:// or https://")
        self._address, self._token, self._patience = address, token, patience
        self._connection: http.client.HTTPConnection | None = None

    def create(
        self,
        agent: str,
        *,
        conversation: str | None = None,
        links: Mapping[str, Any] | None = None,
        repositories: Sequence[str] = (),
    ) -> Session:
        """Creates a session, or finds the one of this agent and conversation."""
        wanted: Json = {"agent": agent, "links": dict(links or {}), "repositories": list(repositories)}
        if conversation is not None:
            wanted["conversation_id"] = conversation
        created = self.ask("POST", "/v1/sessions", wanted, {"idempotency-key": uuid.uuid4().hex})
        url = urllib.parse.urlunsplit(self._address)
        own = Gateway(url, created["token"]["secret"], self._patience)
        return Session(own, created["session"])

    def ask(self, method: str, path: str, body: Json | None = None, headers: Mapping[str, str] | None = None) -> Json:
        """Asks until there is an answer: again after a lost connection, and where the gateway cannot serve just now."""
        deadline, pause = time.monotonic() + self._patience, 0.05
        while True:
            why = "it cannot serve"
            try:
                status, wait, answer = self._once(method, path, body, headers or {})
                if status < 300:
                    return answer
                if status not in (429, 503):
                    raise Refused(status, answer)
                pause = max(pause, wait)
            except (OSError, http.client.HTTPException, json.JSONDecodeError) as error:
                self._drop()
                why = str(error) or type(error).__name__
            if time.monotonic() + pause > deadline:
                raise Unreachable(f"{method} {path}: {why}")
            time.sleep(pause)
            pause = min(2 * pause, 2.0)

    def _once(self, method: str, path: str, body: Json | None, headers: Mapping[str, str]) -> tuple[int, float, Json]:
        if self._connection is None:
            self._connection = self.connect()
        content = None if body is None else json.dumps(body).encode()
        self._connection.request(method, path, content, {**self.headers(), **headers})
        response = self._connection.getresponse()
        answer = json.loads(response.read())
        return response.status, float(response.headers.get("retry-after", 0)), answer

    def connect(self) -> http.client.HTTPConnection:
        kind = http.client.HTTPSConnection if self._address.scheme == "https" else http.client.HTTPConnection
        return kind(self._address.hostname or "", self._address.port, timeout=35)

    def headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self._token}", "content-type": "application/json"}

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None


class Session:
    """One session, which acts with a token of its own."""

    def __init__(self, gateway: Gateway, record: Json) -> None:
        self.gateway, self.record = gateway, record
        self.id: str = record["id"]
        self._path = f"/v1/sessions/{self.id}"
        self._epoch = self._head = 0
        self._nonce = uuid.uuid4().hex

    def lease(self, holder: str, seconds: float = 60.0) -> Json:
        """Takes the right to write. Renew it with `lease` again, well before it runs out."""
        wanted = {"holder": holder, "nonce": self._nonce, "term_ms": int(seconds * 1000)}
        lease = self.gateway.ask("POST", f"{self._path}/lease", wanted)
        self._epoch, self._head = lease["epoch"], lease["head"]
        return lease

    def commit(self, key: str, events: Sequence[Json]) -> Json:
        """Commits a turn, and gives its receipt. The same key with the same events is one turn, however often."""
        said = {"epoch": self._epoch, "expected_head": self._head, "events": list(events)}
        done = self.gateway.ask("PUT", f"{self._path}/turns/{urllib.parse.quote(key, safe='')}", said)
        receipt: Json = done["receipt"]
        self._head = max(self._head, receipt["last"])
        return receipt

    def keep_alive(self) -> Json:
        """Says that the session lives."""
        return self.gateway.ask("POST", f"{self._path}/keep-alive")

    def show(self) -> Json:
        """The session as the gateway has it."""
        return self.gateway.ask("GET", self._path)

    def events(self, after: int = 0) -> Iterator[Json]:
        """What is in its log behind a sequence, page by page."""
        cursor = str(after)
        while cursor is not None:
            page = self.gateway.ask("GET", f"{self._path}/events?cursor={cursor}")
            yield from page["items"]
            cursor = page.get("next")

    def stream(self, after: int = 0) -> Iterator[Json]:
        """Each receipt with its entries, as it is sealed, behind the receipt of this number; does not end by itself.

        A stream that breaks goes on where it was: nothing is left out and nothing comes twice.
        """
        while True:
            connection = self.gateway.connect()
            try:
                headers = {**self.gateway.headers(), "last-event-id": str(after)}
                connection.request("GET", f"{self._path}/stream", headers=headers)
                response = connection.getresponse()
                if response.status != 200 and response.status not in (429, 503):
                    raise Refused(response.status, json.loads(response.read()))
                data: list[str] = []
                for raw in response if response.status == 200 else ():
                    line = raw.decode().rstrip("\r\n")
                    if line.startswith("data:"):
                        data.append(line[5:].removeprefix(" "))
                    elif not line and data:
                        sealed = json.loads("\n".join(data))
                        data.clear()
                        after = sealed["receipt"]["number"]
                        yield sealed
            except (OSError, http.client.HTTPException):
                pass
            finally:
                connection.close()
            time.sleep(0.2)

    def end(self, outcome: str = "completed", **more: int) -> Json:
        """Ends the session: `completed`, `lost`, `failed` with its `code`, `signalled` with its `signal`."""
        return self.gateway.ask("POST", f"{self._path}/end", {"outcome": outcome, **more})
