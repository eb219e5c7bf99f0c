// What the client does when answers are lost, late or refusals. Nothing here needs a gateway.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { test } from "node:test";

import { Gateway, ProblemError, Unreachable } from "@siglum/client";

const TOKEN = "siglum_default_1234";
const SESSION = "ses_01920000000070009000000000000001";
const LOST = { status: 0 };
const STARTED = { type: "started", run: { session: SESSION, trace_id: "t1" }, ignored: [] };
const FINISHED = { type: "finished", end: { status: "done", text: "ab" } };
const HI = { messages: [{ role: "user", content: "hi" }] };

const text = (delta) => ({ type: "text", id: "m", delta });
const sealed = (number) => ({ receipt: { number }, entries: [] });
const answer = (status, body, headers = {}) => ({ status, body, headers });

function problem(status, code, more = {}, headers = {}) {
  const body = { type: `urn:siglum:problem:${code}`, title: "a title", status, code, detail: "a detail", ...more };
  return answer(status, body, { "content-type": "application/problem+json", ...headers });
}

/** A stream of these events, which breaks after the last one. */
function events(rows, trace = "t1") {
  const whole = rows.map(([id, data]) => `event: one\nid: ${id}\ndata: ${JSON.stringify(data)}\n\n`);
  const body = `: alive\n\n${whole.join("")}event: one\ndata: {"cut`;
  return answer(200, body, { "content-type": "text/event-stream", "siglum-trace-id": trace });
}

/** Serves these answers, one for each request, and gives the requests. */
async function played(answers, use, settings = {}) {
  const requests = [];
  const server = createServer(async (request, response) => {
    let content = "";
    for await (const part of request) content += part;
    const { method, url, headers } = request;
    requests.push({ method, url, headers, body: content === "" ? undefined : JSON.parse(content) });
    const { status, body, headers: sent } = answers.shift() ?? LOST;
    if (status === 0) return request.socket.destroy();
    response.writeHead(status, { "content-type": "application/json", ...sent });
    response.end(typeof body === "string" ? body : status === 204 ? undefined : JSON.stringify(body));
  });
  await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
  try {
    await use(new Gateway({ address: `http://127.0.0.1:${server.address().port}`, token: TOKEN, ...settings }));
  } finally {
    server.closeAllConnections();
    server.close();
  }
  return requests;
}

const keys = (requests) => new Set(requests.map(({ headers }) => headers["idempotency-key"]));

async function first(stream, count) {
  const found = [];
  for await (const one of stream) if (found.push(one) === count) break;
  return found;
}

test("a lost answer is asked for again under the same key", async () => {
  const answers = [LOST, problem(503, "unknown", { fate: "unknown" }), answer(201, { already: false })];
  const requests = await played(answers, async (gateway) => {
    assert.equal((await gateway.createSession({ agent: "house" })).already, false);
  });
  assert.equal(requests.length, 3);
  assert.equal(keys(requests).size, 1);
  assert.equal(new Set(requests.map(({ headers }) => headers["x-request-id"])).size, 1);
});

test("what must not happen twice is not repeated when its answer is lost", async () => {
  for (const lost of [LOST, problem(503, "unknown"), answer(504, "gone", { "content-type": "text/html" })]) {
    const requests = await played([lost, answer(202, {})], async (gateway) => {
      await assert.rejects(gateway.runHeartbeat("triage"), (e) => e instanceof Unreachable || e instanceof ProblemError);
    });
    assert.equal(requests.length, 1);
  }
});

test("what was not begun is repeated whatever it is", async () => {
  const refusals = [problem(429, "rate-limited"), problem(503, "busy"), problem(503, "store", { fate: "not-committed" })];
  const requests = await played([...refusals, answer(202, { id: "tck_1" })], (gateway) => gateway.runHeartbeat("triage"));
  assert.equal(requests.length, 4);
});

test("a run that could not be committed is not run again", async () => {
  const requests = await played([problem(503, "not-committed")], async (gateway) => {
    await assert.rejects(gateway.sendMessages(HI), { code: "not-committed" });
  });
  assert.equal(requests.length, 1);
});

test("a gateway says how long to wait, and patience ends", async () => {
  const late = problem(429, "rate-limited", {}, { "retry-after": "7" });
  const requests = await played([late], (gateway) => assert.rejects(gateway.getSession(SESSION), { retryAfter: 7_000 }), { patience: 5_000 });
  assert.equal(requests.length, 1);
  await played([LOST], (gateway) => assert.rejects(gateway.getSession(SESSION), (e) => e instanceof Unreachable && e.requestId !== undefined), { patience: 0 });
});

test("a caller ends a request, and the pause before the next try", async () => {
  await played([problem(503, "busy", {}, { "retry-after": "30" })], async (gateway) => {
    const over = new AbortController();
    const sent = gateway.getSession(SESSION, { signal: over.signal });
    setTimeout(() => over.abort(new Error("enough")), 20);
    await assert.rejects(sent, { message: "enough" });
  });
});

test("a problem has its code, its field and the id of its request", async () => {
  const refusal = problem(400, "invalid-field", { field: "links.issue_number", request_id: "req-1" });
  const requests = await played([refusal, answer(409, "not JSON")], async (gateway) => {
    await assert.rejects(gateway.createSession({ agent: "house" }), (error) => {
      assert.ok(error instanceof ProblemError && !String(error).includes(TOKEN));
      const { status, code, field, detail, requestId } = error;
      assert.deepEqual([status, code, field, detail, requestId], [400, "invalid-field", "links.issue_number", "a detail", "req-1"]);
      return true;
    });
    await assert.rejects(gateway.getSession("a/b"), { status: 409, code: "" });
  });
  assert.equal(requests[1].url, "/v1/sessions/a%2Fb");
  assert.equal(requests[1].headers.authorization, `Bearer ${TOKEN}`);
});

test("a token that is none is in no message", () => {
  for (const bad of [`${TOKEN}\n`, `${TOKEN}\nb`, `${TOKEN}ü`]) {
    assert.throws(() => new Gateway({ address: "http://127.0.0.1:1", token: bad }), (e) => e instanceof TypeError && !String(e).includes(TOKEN));
  }
});

test("a redirect is not followed and not repeated", async () => {
  const requests = await played([answer(307, {}, { location: "http://127.0.0.1:1/" })], (gateway) =>
    assert.rejects(gateway.getSession(SESSION), (e) => e instanceof ProblemError && e.status === 307));
  assert.equal(requests.length, 1);
});

test("an address is checked before anything is sent", () => {
  for (const address of ["", "siglum.example.org", "http://siglum.example.org", "https://user@siglum.example.org", "https://h/?a"]) {
    assert.throws(() => new Gateway({ address, token: TOKEN }), TypeError, address);
  }
  assert.ok(new Gateway({ address: "http://siglum.example.org/api", token: TOKEN, allowPlain: true }));
  assert.throws(() => new Gateway({ address: "https://siglum.example.org", token: "" }), TypeError);
});

test("a list is read page after page", async () => {
  const answers = [answer(200, { items: [1, 2], next: "c d" }), answer(200, { items: [3] })];
  const requests = await played(answers, async (gateway) => {
    const found = await first(gateway.iterSessions({ issue_number: 42, label: ["a=b", "c=d"] }), 9);
    assert.deepEqual(found, [1, 2, 3]);
  });
  assert.equal(requests[0].url, "/v1/sessions?issue_number=42&label=a%3Db&label=c%3Dd");
  assert.ok(requests[1].url.endsWith("&cursor=c+d"));
});

test("a session is followed across connections", async () => {
  const answers = [events([[1, sealed(1)], [2, sealed(2)]]), LOST, problem(503, "stopping"), events([[3, sealed(3)]])];
  const requests = await played(answers, async (gateway) => {
    const found = await first(gateway.streamEvents(SESSION), 3);
    assert.deepEqual(found.map(({ receipt }) => receipt.number), [1, 2, 3]);
  });
  assert.deepEqual(requests.map(({ headers }) => headers["last-event-id"]), ["0", "2", "2", "2"]);
});

test("the time that an event takes is not counted", async () => {
  await played([events([[1, sealed(1)]]), events([[2, sealed(2)]])], async (gateway) => {
    const stream = gateway.streamEvents(SESSION);
    await stream.next();
    await new Promise((later) => setTimeout(later, 400));
    assert.equal((await stream.next()).value.receipt.number, 2);
  }, { patience: 300 });
});

test("a session that is refused is not followed", async () => {
  await played([problem(404, "not-found")], (gateway) => assert.rejects(gateway.streamEvents(SESSION).next(), { code: "not-found" }));
});

/** The types of the events of a run, and the requests for them. */
async function run(...answers) {
  let types = [];
  const requests = await played(answers, async (gateway) => {
    types = (await first(gateway.streamRun(HI, { session: "chat" }), 99)).map(({ type }) => type);
  });
  return { types, requests };
}

const BEGIN = events([[1, STARTED], [2, text("a")]]);

test("a run is resumed where it was", async () => {
  const { types, requests } = await run(BEGIN, events([[3, text("b")], [4, FINISHED]]));
  assert.deepEqual(types, ["started", "text", "text", "finished"]);
  assert.equal(requests[0].url, "/v1/sessions/chat/messages?format=events");
  assert.deepEqual([requests[1].method, requests[1].headers["last-event-id"]], ["GET", "2"]);
});

test("a run that ended in the meantime is asked for by its key", async () => {
  // Nothing is active, or another run is.
  for (const away of [answer(204), events([[9, text("of another run")]], "t2")]) {
    const over = events([[1, STARTED], [2, text("ab")], [3, FINISHED]]);
    const { types, requests } = await run(BEGIN, away, over);
    assert.deepEqual(types, ["started", "text", "finished"]);
    assert.equal(requests[2].method, "POST");
    assert.equal(requests[2].headers["idempotency-key"], requests[0].headers["idempotency-key"]);
  }
});

test("a run that never began is asked for again", async () => {
  const { types, requests } = await run(LOST, problem(503, "busy"), events([[1, STARTED], [2, FINISHED]]));
  assert.deepEqual(types, ["started", "finished"]);
  assert.equal(keys(requests).size, 1);
});

test("a run that ended behind a broken connection is not told as whole", async () => {
  for (const away of [answer(204), events([[9, text("of another run")]], "t2")]) {
    await played([BEGIN, away], async (gateway) => {
      await assert.rejects(first(gateway.followRun(SESSION), 9), (e) => e instanceof Unreachable);
    });
  }
});

test("nothing is followed where no run is active", async () => {
  await played([answer(204)], async (gateway) => assert.deepEqual(await first(gateway.followRun(SESSION), 9), []));
});

const LEASE = answer(200, { epoch: 3, head: 7, recovered: "nothing" });
const DONE = answer(200, { done: true });

test("a turn is written under the lease and behind the head", async () => {
  const committed = [9, 12].map((last) => answer(200, { receipt: { last }, already: false }));
  const requests = await played([LEASE, answer(200, { open: true }), DONE, ...committed, DONE], async (gateway) => {
    const drive = await gateway.drive(SESSION, { holder: "tests" });
    const turn = await drive.open("turn-1");
    await turn.append({ type: "prompt", key: "p1", text: "go" });
    assert.equal((await turn.commit({ type: "stop", key: "p1" })).last, 9);
    await drive.commit("turn-2", []);
    await drive.release();
  });
  const written = requests.slice(1).map(({ url, body }) => [url.split("/").at(-1), body.epoch, body.expected_head]);
  assert.deepEqual(written, [["open", 3, 7], ["append", 3, 7], ["turn-1", 3, 7], ["turn-2", 3, 9], ["release", 3, undefined]]);
});

test("a turn that was committed has its receipt", async () => {
  await played([LEASE, answer(200, { open: false, receipt: { last: 9 } }), DONE], async (gateway) => {
    const drive = await gateway.drive(SESSION, { holder: "tests" });
    assert.deepEqual((await drive.open("turn-1")).receipt, { last: 9 });
    await drive.release();
  });
});

test("a lease is renewed until another driver has it", async () => {
  let fenced;
  const over = new Promise((resolve) => (fenced = resolve));
  const requests = await played([LEASE, answer(200, { epoch: 3 }), problem(409, "fenced"), DONE], async (gateway) => {
    const own = gateway.renewLease.bind(gateway);
    gateway.renewLease = (...given) => own(...given).catch((error) => (fenced(), Promise.reject(error)));
    const drive = await gateway.drive(SESSION, { holder: "tests", term: 150 });
    // The timer keeps no process alive.
    const alive = setInterval(() => undefined, 1_000);
    await over;
    clearInterval(alive);
    await drive.release();
  });
  assert.deepEqual(requests.map(({ url }) => url.split("/").at(-1)), ["lease", "renew", "renew", "release"]);
});
