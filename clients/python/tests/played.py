"""A gateway that answers as a test says, and keeps what it was asked."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from siglum_client import Gateway

TOKEN = "siglum_default_1234"


@dataclass
class Answer:
    """One answer. Without a status, the connection ends before it."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)


def problem(status: int, code: str, **more: Any) -> Answer:
    headers = more.pop("headers", {})
    body = {"type": f"urn:siglum:problem:{code}", "title": "a title", "status": status, "code": code, "detail": "a detail", **more}
    return Answer(status, body, {"content-type": "application/problem+json", **headers})


def events(*rows: tuple[int | None, dict[str, Any]], trace: str = "t1") -> Answer:
    """A stream of these events, which breaks after the last one."""
    text = ": alive\n\n"
    for number, data in rows:
        text += f"id: {number}\n" if number else ""
        text += f"event: one\ndata: {json.dumps(data)}\n\n"
    return Answer(200, text + 'event: one\ndata: {"cut', {"content-type": "text/event-stream", "siglum-trace-id": trace})


LOST = Answer(0)


@dataclass
class Request:
    method: str
    path: str
    headers: dict[str, str]
    body: Any


class Played(ThreadingHTTPServer):
    def __init__(self, answers: list[Answer]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers, self.requests, self.connections = answers, list[Request](), set[Any]()
        self.gateways: list[Gateway] = []

    def gateway(self, **settings: Any) -> Gateway:
        gateway = Gateway(f"http://127.0.0.1:{self.server_port}", TOKEN, **settings)
        self.gateways.append(gateway)
        return gateway


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Played

    def answer(self) -> None:
        length = int(self.headers.get("content-length", "0"))
        body = json.loads(self.rfile.read(length)) if length else None
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.requests.append(Request(self.command, self.path, headers, body))
        self.server.connections.add(self.client_address)
        answer = self.server.answers.pop(0)
        if answer.status == 0:
            self.close_connection = True
            return
        content = answer.body.encode() if isinstance(answer.body, str) else json.dumps(answer.body).encode()
        self.send_response(answer.status)
        for name, value in {"content-type": "application/json", **answer.headers}.items():
            self.send_header(name, value)
        if answer.headers.get("content-type") == "text/event-stream":
            self.close_connection = True
            self.send_header("connection", "close")
        else:
            self.send_header("content-length", str(0 if answer.status == 204 else len(content)))
        self.end_headers()
        if answer.status != 204:
            self.wfile.write(content)

    do_GET = do_POST = do_PUT = do_DELETE = answer

    def log_message(self, format: str, *args: Any) -> None:
        """Tests print nothing."""


@contextmanager
def played(*answers: Answer) -> Iterator[Played]:
    server = Played(list(answers))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
        for gateway in server.gateways:
            gateway.close()
