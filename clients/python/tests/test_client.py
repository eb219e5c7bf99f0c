"""What the client does when answers are lost, late or refusals. Nothing here needs a gateway."""

from __future__ import annotations

import os
import time
import unittest
from itertools import islice
from typing import Any
from unittest.mock import patch

from played import LOST, TOKEN, Answer, events, played, problem
from siglum_client import Gateway, ProblemError, Unreachable, problems

SESSION = "ses_01920000000070009000000000000001"
STARTED = {"type": "started", "run": {"session": SESSION, "trace_id": "t1"}, "ignored": []}
FINISHED = {"type": "finished", "end": {"status": "done", "text": "ab"}}


def text(delta: str) -> dict[str, Any]:
    return {"type": "text", "id": "m", "delta": delta}


def sealed(number: int) -> dict[str, Any]:
    return {"receipt": {"number": number}, "entries": []}


class Repeated(unittest.TestCase):
    def test_a_lost_answer_is_asked_for_again_under_the_same_key(self) -> None:
        with played(LOST, problem(503, "unknown", fate="unknown"), Answer(201, {"already": False})) as server:
            created = server.gateway().create_session({"agent": "house"})
        self.assertEqual(created["already"], False)
        self.assertEqual(len(server.requests), 3)
        self.assertEqual(len({request.headers["idempotency-key"] for request in server.requests}), 1)
        self.assertEqual(len({request.headers["x-request-id"] for request in server.requests}), 1)

    def test_what_must_not_happen_twice_is_not_repeated_when_its_answer_is_lost(self) -> None:
        for answer in (LOST, problem(503, "unknown", fate="unknown"), Answer(504, "gone", {"content-type": "text/html"})):
            with played(answer, Answer(202, {})) as server:
                with self.assertRaises((Unreachable, ProblemError)):
                    server.gateway().run_heartbeat("triage")
            self.assertEqual(len(server.requests), 1)

    def test_what_was_not_begun_is_repeated_whatever_it_is(self) -> None:
        refusals = [problem(429, "rate-limited"), problem(503, "busy"), problem(503, "store", fate="not-committed")]
        with played(*refusals, Answer(202, {"id": "tck_1"})) as server:
            server.gateway().run_heartbeat("triage")
        self.assertEqual(len(server.requests), 4)

    def test_a_run_that_could_not_be_committed_is_not_run_again(self) -> None:
        with played(problem(503, "not-committed", fate="not-committed")) as server:
            with self.assertRaises(problems.NotCommitted):
                server.gateway().send_messages({"messages": [{"role": "user", "content": "hi"}]})
        self.assertEqual(len(server.requests), 1)

    def test_a_gateway_says_how_long_to_wait(self) -> None:
        with played(problem(429, "rate-limited", headers={"retry-after": "7"}), Answer(200, {})) as server:
            with patch("siglum_client._transport.time.sleep") as sleep:
                server.gateway().get_session(SESSION)
        sleep.assert_called_once_with(7.0)

    def test_patience_ends(self) -> None:
        with played(*[problem(503, "stopping")] * 5) as server:
            with self.assertRaises(problems.Stopping):
                server.gateway(patience=0.0).get_session(SESSION)
        self.assertEqual(len(server.requests), 1)
        with self.assertRaises(Unreachable) as nobody:
            server.gateway(patience=0.0).get_session(SESSION)
        self.assertTrue(nobody.exception.request_id)

    def test_requests_share_a_connection(self) -> None:
        with played(Answer(200, {}), Answer(200, {})) as server:
            gateway = server.gateway()
            gateway.get_session(SESSION)
            gateway.get_session(SESSION)
        self.assertEqual(len(server.connections), 1)


class Refused(unittest.TestCase):
    def test_a_problem_is_an_exception_of_its_code(self) -> None:
        answer = problem(400, "invalid-field", field="links.issue_number", request_id="req-1")
        with played(answer, problem(409, "code-of-tomorrow")) as server:
            with self.assertRaises(problems.InvalidField) as refused:
                server.gateway().create_session({"agent": "house"})
            with self.assertRaises(ProblemError) as unknown:
                server.gateway().create_session({"agent": "house"})
        error = refused.exception
        self.assertEqual((error.status, error.code, error.field), (400, "invalid-field", "links.issue_number"))
        self.assertEqual((error.detail, error.request_id), ("a detail", "req-1"))
        self.assertEqual(unknown.exception.code, "code-of-tomorrow")
        self.assertEqual(unknown.exception.request_id, server.requests[1].headers["x-request-id"])

    def test_a_token_goes_to_one_place_and_into_no_message(self) -> None:
        with played(problem(401, "token-unknown")) as server:
            with self.assertRaises(problems.TokenUnknown) as refused:
                server.gateway().get_session("a/b")
        self.assertEqual(server.requests[0].path, "/v1/sessions/a%2Fb")
        self.assertEqual(server.requests[0].headers["authorization"], f"Bearer {TOKEN}")
        self.assertNotIn(TOKEN, f"{refused.exception!r}")

    def test_a_token_that_is_none_is_in_no_message(self) -> None:
        for bad in (f"{TOKEN}\n", f"{TOKEN} b", f"{TOKEN}ü"):
            with self.assertRaises(ValueError) as refused:
                Gateway("http://127.0.0.1:1", bad)
            self.assertNotIn(TOKEN, str(refused.exception))

    def test_a_redirect_is_not_followed_and_not_repeated(self) -> None:
        with played(Answer(307, {}, {"location": "http://127.0.0.1:1/"})) as server:
            with self.assertRaises(ProblemError) as refused:
                server.gateway().get_session(SESSION)
        self.assertEqual((refused.exception.status, len(server.requests)), (307, 1))

    def test_an_address_is_checked_before_anything_is_sent(self) -> None:
        for address in ("", "siglum.example.org", "http://siglum.example.org", "https://user@siglum.example.org"):
            with patch.dict(os.environ, {"SIGLUM_GATEWAY": ""}), self.assertRaises(ValueError):
                Gateway(address, TOKEN)
        Gateway("http://siglum.example.org/api", TOKEN, allow_plain=True)
        with patch.dict(os.environ, {"SIGLUM_GATEWAY": "https://siglum.example.org", "SIGLUM_GATEWAY_TOKEN": ""}):
            Gateway(token=TOKEN)
            with self.assertRaises(ValueError):
                Gateway()


class Followed(unittest.TestCase):
    def test_a_list_is_read_page_after_page(self) -> None:
        with played(Answer(200, {"items": [1, 2], "next": "c d"}), Answer(200, {"items": [3]})) as server:
            found = list(server.gateway().iter_sessions(issue_number=42, label=["a=b", "c=d"]))
        self.assertEqual(found, [1, 2, 3])
        self.assertEqual(server.requests[0].path, "/v1/sessions?issue_number=42&label=a%3Db&label=c%3Dd")
        self.assertTrue(server.requests[1].path.endswith("&cursor=c+d"))

    def test_a_session_is_followed_across_connections(self) -> None:
        first = events((1, sealed(1)), (2, sealed(2)))
        with played(first, LOST, problem(503, "stopping"), events((3, sealed(3)))) as server:
            found = list(islice(server.gateway().stream_events(SESSION), 3))
        self.assertEqual([one["receipt"]["number"] for one in found], [1, 2, 3])
        self.assertEqual([request.headers["last-event-id"] for request in server.requests], ["0", "2", "2", "2"])

    def test_the_time_that_an_event_takes_is_not_counted(self) -> None:
        with played(events((1, sealed(1))), events((2, sealed(2)))) as server:
            stream = server.gateway(patience=0.3).stream_events(SESSION)
            next(stream)
            time.sleep(0.4)
            self.assertEqual(next(stream)["receipt"]["number"], 2)

    def test_a_session_that_is_refused_is_not_followed(self) -> None:
        with played(problem(404, "not-found")) as server, self.assertRaises(problems.NotFound):
            next(server.gateway().stream_events(SESSION))

    def check(self, *answers: Answer) -> tuple[list[str], list[Any]]:
        """The types of the events of a run, and the requests for them."""
        with played(*answers) as server:
            body: Any = {"messages": [{"role": "user", "content": "hi"}]}
            found = [str(event["type"]) for event in server.gateway().stream_run(body, session="chat")]
        return found, server.requests

    def test_a_run_is_resumed_where_it_was(self) -> None:
        begin = events((1, STARTED), (2, text("a")))
        found, requests = self.check(begin, events((3, text("b")), (4, FINISHED)))
        self.assertEqual(found, ["started", "text", "text", "finished"])
        self.assertEqual(requests[0].path, "/v1/sessions/chat/messages?format=events")
        self.assertEqual((requests[1].method, requests[1].headers["last-event-id"]), ("GET", "2"))

    def test_a_run_that_ended_in_the_meantime_is_asked_for_by_its_key(self) -> None:
        begin = events((1, STARTED), (2, text("a")))
        over = events((1, STARTED), (2, text("ab")), (3, FINISHED))
        # Nothing is active, or another run is.
        for away in (Answer(204), events((9, text("of another run")), trace="t2")):
            found, requests = self.check(begin, away, over)
            self.assertEqual(found, ["started", "text", "finished"])
            self.assertEqual(requests[2].method, "POST")
            self.assertEqual(requests[2].headers["idempotency-key"], requests[0].headers["idempotency-key"])

    def test_a_run_that_never_began_is_asked_for_again(self) -> None:
        found, requests = self.check(LOST, problem(503, "busy"), events((1, STARTED), (2, FINISHED)))
        self.assertEqual(found, ["started", "finished"])
        self.assertEqual(len({request.headers["idempotency-key"] for request in requests}), 1)

    def test_a_run_that_ended_behind_a_broken_connection_is_not_told_as_whole(self) -> None:
        begin = events((1, STARTED), (2, text("a")))
        for away in (Answer(204), events((9, text("of another run")), trace="t2")):
            with played(begin, away) as server:
                run = server.gateway().follow_run(SESSION)
                self.assertEqual([next(run)["type"], next(run)["type"]], ["started", "text"])
                with self.assertRaises(Unreachable):
                    next(run)

    def test_nothing_is_followed_where_no_run_is_active(self) -> None:
        with played(Answer(204)) as server:
            self.assertEqual(list(server.gateway().follow_run(SESSION)), [])


class Driven(unittest.TestCase):
    LEASE = Answer(200, {"epoch": 3, "head": 7, "recovered": "nothing"})
    DONE = Answer(200, {"done": True})

    def test_a_turn_is_written_under_the_lease_and_behind_the_head(self) -> None:
        committed = [Answer(200, {"receipt": {"last": last}, "already": False}) for last in (9, 12)]
        with played(self.LEASE, Answer(200, {"open": True}), self.DONE, *committed, self.DONE) as server:
            with server.gateway().drive(SESSION, holder="tests") as drive:
                turn = drive.open("turn-1")
                turn.append({"type": "prompt", "key": "p1", "text": "go"})
                self.assertEqual(turn.commit({"type": "stop", "key": "p1"})["last"], 9)
                drive.commit("turn-2", [])
        written = [(request.path.rsplit("/", 1)[-1], request.body.get("expected_head")) for request in server.requests[1:]]
        self.assertEqual(written, [("open", 7), ("append", 7), ("turn-1", 7), ("turn-2", 9), ("release", None)])
        self.assertEqual({request.body["epoch"] for request in server.requests[1:]}, {3})

    def test_a_turn_that_was_committed_has_its_receipt(self) -> None:
        answers = [self.LEASE, Answer(200, {"open": False, "receipt": {"last": 9}}), self.DONE]
        with played(*answers) as server, server.gateway().drive(SESSION, holder="tests") as drive:
            self.assertEqual(drive.open("turn-1").receipt, {"last": 9})

    def test_a_lease_is_renewed_after_a_gateway_was_away(self) -> None:
        away = [problem(503, "stopping"), problem(503, "store")]
        with played(self.LEASE, *away, Answer(200, {"epoch": 3}), problem(409, "fenced"), self.DONE) as server:
            drive = server.gateway(patience=0.0).drive(SESSION, holder="tests", term=0.03)
            drive._renewer.join()
            drive.release()
        self.assertEqual(len(server.requests), 6)

    def test_a_lease_is_renewed_until_another_driver_has_it(self) -> None:
        with played(self.LEASE, Answer(200, {"epoch": 3}), problem(409, "fenced"), self.DONE) as server:
            drive = server.gateway().drive(SESSION, holder="tests", term=0.03)
            drive._renewer.join()
            drive.release()
        self.assertEqual([request.path.rsplit("/", 1)[-1] for request in server.requests], ["lease", "renew", "renew", "release"])


if __name__ == "__main__":
    unittest.main()
