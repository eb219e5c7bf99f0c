"""Requests: sent, and repeated where that is safe."""

from __future__ import annotations

import contextlib
import http.client
import ipaddress
import json
import os
import random
import re
import socket
import time
import urllib.parse
import uuid
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

from siglum_client._events import ServerSentEvent, server_sent_events
from siglum_client._problem import ProblemError, SiglumError, Unreachable, problem_error

# The first pause between two tries and the longest one, in seconds.
_PAUSES = (0.1, 5.0)
# A gateway closes a connection on which nothing was sent for 15 seconds.
_IDLE = 10.0
# A stream says every 15 seconds that it lives.
_SILENT = 45.0
# A try that was under way for so long was answered by somebody: what ended it begins a new patience.
LONG = 60.0
# Raised where a connection fails, or ends in the middle of a response.
_LOST = (OSError, http.client.HTTPException)


def quoted(text: str) -> str:
    """A text as one part of a path."""
    return urllib.parse.quote(text, safe="")


def fresh_key() -> str:
    """A key for one request, under which it can be repeated."""
    return uuid.uuid4().hex


class Patience:
    """How long it is tried again, and the pauses between tries. Begins anew with each success."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self.renew()

    def renew(self) -> None:
        self._until = time.monotonic() + self._seconds
        self._pause = _PAUSES[0]

    def wait(self, failure: SiglumError) -> None:
        """Waits until the next try, or raises the failure if there is no time for another one."""
        pause = self._pause * random.uniform(0.5, 1.0)
        if isinstance(failure, ProblemError):
            pause = max(pause, failure.retry_after)
        if time.monotonic() + pause > self._until:
            raise failure
        time.sleep(pause)
        self._pause = min(2 * self._pause, _PAUSES[1])


class Transport:
    """One gateway, and the token that is sent to it.

    `address` and `token` are by default what the variables `SIGLUM_GATEWAY` and `SIGLUM_GATEWAY_TOKEN` contain.
    `timeout` is how long a gateway may be silent, and `patience` how long a request is tried again; both are in seconds. Plain
    HTTP reaches only this machine, unless `allow_plain` is true. Any number of threads can use one object. A `with` statement
    closes its connections.
    """

    def __init__(
        self,
        address: str | None = None,
        token: str | None = None,
        *,
        timeout: float = 30.0,
        patience: float = 60.0,
        allow_plain: bool = False,
    ) -> None:
        self._address = _checked(address or os.environ.get("SIGLUM_GATEWAY", ""), allow_plain)
        self._token = token or os.environ.get("SIGLUM_GATEWAY_TOKEN", "")
        if not self._token:
            raise ValueError("a gateway needs a token: pass it, or set SIGLUM_GATEWAY_TOKEN")
        # What cannot stand in a header would stand in an error.
        if not re.fullmatch(r"[!-~]+", self._token):
            raise ValueError("a token has printable characters without blanks; this one has others, such as the end of a line")
        self._timeout, self._patience, self._allow_plain = timeout, patience, allow_plain
        # Open connections on which nothing is under way, each with the time of its last use.
        self._idle: deque[tuple[http.client.HTTPConnection, float]] = deque()

    def close(self) -> None:
        """Closes the connections that are kept open for the next request."""
        while self._idle:
            self._idle.popleft()[0].close()

    def _call(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Any = None,
        headers: Mapping[str, str | None] | None = None,
        key: str | None = None,
        once: bool = False,
        slow: bool = False,
    ) -> Any:
        """Sends a request until it is answered, and returns the JSON of the answer.

        A request that is sent `once` is repeated only if nothing was done yet. A `slow` one may take as long as it does.
        """
        content = self._answer(method, path, query, body, {**(headers or {}), "idempotency-key": key}, once, slow)
        return json.loads(content) if content else None

    def _text(self, method: str, path: str, *, query: Mapping[str, Any] | None = None) -> str:
        """The same for an answer that is plain text."""
        return self._answer(method, path, query, None, {}, once=False, slow=False).decode()

    def _answer(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any] | None,
        body: Any,
        headers: Mapping[str, str | None],
        once: bool,
        slow: bool,
    ) -> bytes:
        sent = {**headers, "x-request-id": fresh_key()}
        patience = Patience(self._patience)
        while True:
            began = time.monotonic()
            try:
                with self._response(method, path, query, body, sent, None if slow else self._timeout, once) as response:
                    return response.read()
            except ProblemError as problem:
                if not problem.may_repeat(once):
                    raise
                patience.wait(problem)
            except Lost as lost:
                failure = Unreachable(f"{method} {path}: {lost}", sent["x-request-id"])
                if once and lost.was_sent:
                    raise failure from lost.cause
                if slow and time.monotonic() - began >= LONG:
                    patience.renew()
                patience.wait(failure)

    def _stream(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Any = None,
        headers: Mapping[str, str | None] | None = None,
        slow: bool = False,
    ) -> EventStream | None:
        """The events of one connection, which end with it; nothing where there is nothing to follow. A `slow` one may begin
        as late as it does: a message may wait for another run, and its agent has to start."""
        sent = {"accept": "text/event-stream", **(headers or {}), "x-request-id": fresh_key()}
        begins = None if slow else _SILENT
        stream = EventStream(self._response(method, path, query, body, sent, begins, own=True, silent=_SILENT))
        if stream.is_empty:
            stream.close()
            return None
        return stream

    @contextlib.contextmanager
    def _response(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any] | None,
        body: Any,
        headers: Mapping[str, str | None],
        timeout: float | None,
        own: bool,
        silent: float | None = None,
    ) -> Iterator[http.client.HTTPResponse]:
        """One try: the response, if it is no problem. On a connection of its `own`, or on one that is kept. After its head,
        it may be `silent` for so long, if that is another time."""
        connection: http.client.HTTPConnection | None = None
        was_sent = whole = False
        try:
            connection = self._connection(timeout, own)
            # A connection that ends with its response forgets its socket.
            connected = connection.sock
            was_sent = True
            all_headers = {"authorization": f"Bearer {self._token}"}
            all_headers.update({name: value for name, value in headers.items() if value is not None})
            content = None
            if body is not None:
                content, all_headers["content-type"] = json.dumps(body).encode(), "application/json"
            connection.request(method, self._address.path + path + _query(query), content, all_headers)
            response = connection.getresponse()
            if response.status >= 300:
                raise _problem(response, headers["x-request-id"] or "")
            if silent is not None:
                connected.settimeout(silent)
            yield response
            whole = response.isclosed()
        except _LOST as cause:
            raise Lost(cause, was_sent) from cause
        finally:
            if connection is not None:
                self._keep(connection, whole and not own)

    def _connection(self, timeout: float | None, own: bool) -> http.client.HTTPConnection:
        while self._idle and not own:
            # Another thread may have taken the last one since.
            with contextlib.suppress(IndexError):
                connection, used = self._idle.pop()
                if time.monotonic() - used < _IDLE:
                    connection.sock.settimeout(timeout)
                    return connection
                connection.close()
        kind = http.client.HTTPSConnection if self._address.scheme == "https" else http.client.HTTPConnection
        connection = kind(self._address.hostname or "", self._address.port, timeout=self._timeout)
        connection.connect()
        connection.sock.settimeout(timeout)
        connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        return connection

    def _keep(self, connection: http.client.HTTPConnection, whole: bool) -> None:
        if whole and connection.sock is not None:
            self._idle.append((connection, time.monotonic()))
        else:
            connection.close()


class EventStream:
    """The events of one connection."""

    def __init__(self, response: contextlib.AbstractContextManager[http.client.HTTPResponse]) -> None:
        self._context = response
        self._response = response.__enter__()
        self.is_empty = self._response.status == 204
        # Of the run that it follows.
        self.trace = self._response.headers.get("siglum-trace-id")
        self._began = self._heard = time.monotonic()

    @property
    def lived(self) -> bool:
        """Whether it was there for longer than the longest pause: what ended it then is a new failure."""
        return self._heard - self._began > _PAUSES[1]

    def __iter__(self) -> Iterator[ServerSentEvent]:
        try:
            yield from server_sent_events(self._lines())
        except _LOST as cause:
            raise Lost(cause, was_sent=True) from cause
        finally:
            self.close()

    def _lines(self) -> Iterator[bytes]:
        for line in self._response:
            # A stream on which nothing happens says that it lives.
            self._heard = time.monotonic()
            yield line

    def close(self) -> None:
        self._context.__exit__(None, None, None)


class Lost(Exception):
    """A connection failed, before or after the request was sent."""

    def __init__(self, cause: BaseException, was_sent: bool) -> None:
        super().__init__(str(cause) or type(cause).__name__)
        self.cause, self.was_sent = cause, was_sent


def _problem(response: http.client.HTTPResponse, request_id: str) -> ProblemError:
    try:
        retry_after = float(response.headers.get("retry-after", "0"))
    except ValueError:
        # A proxy may name a date.
        retry_after = 0.0
    request_id = response.headers.get("x-request-id", request_id)
    return problem_error(response.status, response.read(), request_id, retry_after)


def _query(query: Mapping[str, Any] | None) -> str:
    given = {name: value for name, value in (query or {}).items() if value is not None}
    text = {name: str(value).lower() if isinstance(value, bool) else value for name, value in given.items()}
    return f"?{urllib.parse.urlencode(text, doseq=True)}" if text else ""


def _checked(address: str, allow_plain: bool) -> urllib.parse.SplitResult:
    parts = urllib.parse.urlsplit(address.rstrip("/"))
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment or "@" in parts.netloc:
        raise ValueError("the address of a gateway is http:// or https://, a host and perhaps a path; pass it, or set SIGLUM_GATEWAY")
    if parts.scheme == "http" and not allow_plain and not _is_loopback(parts.hostname):
        raise ValueError("without encryption, a token is sent only to this machine; use https://, or allow_plain=True")
    return parts


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
