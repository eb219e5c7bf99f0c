"""What is raised when a gateway refuses a request, or does not answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

# Nothing was done yet: such a request is repeated, whatever it is.
_NOTHING_DONE = {"busy", "rate-limited", "stopping", "store"}


class SiglumError(Exception):
    """Anything that this package raises about a gateway."""


class Unreachable(SiglumError):
    """No answer came, however often it was tried. Whether the request was carried out is unknown: repeat a call that has
    a key with the same key."""

    def __init__(self, what: str, request_id: str | None = None) -> None:
        super().__init__(f"{what} (request {request_id})" if request_id else what)
        # Of the last try.
        self.request_id = request_id


class ProblemError(SiglumError):
    """A gateway refused a request. `siglum_client.problems` has a class for each code."""

    def __init__(self, status: int, problem: Mapping[str, Any], request_id: str, retry_after: float = 0.0) -> None:
        self.status = status
        # Stable, for programs.
        self.code: str = str(problem.get("code") or "")
        self.title: str = str(problem.get("title") or f"HTTP status {status}")
        # What went wrong, and what to do.
        self.detail: str = str(problem.get("detail") or "")
        # The path of the invalid field of the request.
        self.field: str | None = problem.get("field")
        # Of a write: `not-committed`, or `unknown`, in which case only a repetition with the same key can tell.
        self.fate: str | None = problem.get("fate")
        self.request_id: str = str(problem.get("request_id") or request_id)
        # Seconds.
        self.retry_after = retry_after
        super().__init__(f"{self.code or self.status}: {self.detail or self.title} (request {self.request_id})")

    def may_repeat(self, once: bool) -> bool:
        """Whether the request may be sent again, or, for one that is sent `once`, whether nothing was done yet."""
        if self.code:
            return self.code in _NOTHING_DONE and self.status in (429, 503) or (
                not once and self.code in ("unknown", "too-slow")
            )
        # A proxy answered.
        return self.status == 429 or (not once and self.status in (502, 503, 504))


def problem_error(status: int, body: bytes, request_id: str, retry_after: float) -> ProblemError:
    """The error of a response, of the class of its code."""
    from siglum_client import problems

    try:
        problem = json.loads(body)
    except ValueError:
        problem = None
    if not isinstance(problem, dict):
        problem = {}
    kind = problems.BY_CODE.get(str(problem.get("code")), ProblemError)
    return kind(status, problem, request_id, retry_after)
