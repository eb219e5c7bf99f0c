// What OpenClaw was recorded to call, replayed against a played ledger.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";

import { PlayedHost, PlayedLedger, recorded } from "./played.js";

let ledger, host;
before(async () => { ledger = await new PlayedLedger().start(); });
after(() => ledger.stop());
beforeEach(() => {
  for (const part of ["routes", "contexts", "runs"]) ledger[part].clear();
  Object.assign(ledger, { calls: [], down: undefined });
  host = new PlayedHost(ledger);
});

const contexts = (route) => [...ledger.contexts.values()].filter((context) => context.route === route);
const assembled = () => host.logged.filter((line) => line.includes("assembles")).map((line) => Number(line.match(/assembles (\d+)/)[1]));
const problems = () => host.logged.filter((line) => !line.startsWith("info"));

test("an ordinary conversation keeps both keys equal and sees all of itself", async () => {
  await host.replay(recorded("ordinary"));
  const [only, ...more] = contexts("agent:main:incident-42");
  assert.equal(only.key, only.route);
  assert.deepEqual(more, []);
  assert.deepEqual(assembled(), [0, 2, 4]);
  assert.equal(only.next, 8);
  assert.deepEqual(problems(), []);
});

test("each isolated tick has a context of its own and sees nothing of the others", async () => {
  await host.replay([...recorded("heartbeat_isolated"), ...recorded("heartbeat_suffix")]);
  const ticks = contexts("agent:main:main:heartbeat");
  assert.deepEqual(ticks.map((tick) => [tick.cause, tick.turns.size]), Array(5).fill(["tick", 1]));
  assert.ok(ticks.every((tick) => [...tick.turns.values()][0].heartbeat));
  assert.deepEqual(assembled(), [0, 0, 0, 0, 0, 0]);
  assert.equal(contexts("agent:main:main").length, 1);
});

test("a tick that overflows is compacted in its own context alone", async () => {
  await host.replay([...recorded("heartbeat_isolated"), ...recorded("heartbeat_overflow")]);
  const ticks = contexts("agent:main:main:heartbeat");
  assert.deepEqual(ticks.map((tick) => tick.summary !== undefined), [false, false, false, true]);
  assert.deepEqual(problems(), []);
});

test("a reset begins anew, though session id and generation stay", async () => {
  const answers = await host.replay(recorded("reset"));
  const [old, anew] = contexts("agent:main:desk");
  assert.deepEqual([old.cause, anew.cause], ["first", "reset"]);
  assert.deepEqual([old.turns.size, anew.turns.size], [1, 2]);
  assert.deepEqual(assembled(), [0, 0, 2]);
  assert.ok(answers.every((one) => one.error === undefined));
});

test("a rewind branches off where it goes back to; the abandoned turns stay where they were", async () => {
  await host.replay([...recorded("ordinary"), ...recorded("rewind")]);
  const [old, branch] = contexts("agent:main:incident-42");
  assert.deepEqual([branch.cause, branch.inherited.length, old.turns.size, branch.turns.size], ["rewind", 2, 3, 2]);
  assert.deepEqual(assembled().slice(3), [2, 4]);
});

test("a fork goes on under a key of its own", async () => {
  const calls = recorded("fork");
  await host.replay(recorded("ordinary"));
  const child = calls.find((call) => call.call)?.params.sessionKey;
  host.rows.set(child, { parentSessionKey: "agent:main:incident-42" });
  await host.replay(calls);
  const [fork] = contexts(child);
  assert.deepEqual([fork.cause, fork.inherited.length, fork.turns.size], ["fork", 2, 1]);
  assert.equal(contexts("agent:main:incident-42")[0].turns.size, 3);
});

test("silence begins anew, and says why", async () => {
  await host.replay(recorded("idle"));
  assert.deepEqual(contexts("agent:main:idle").map((one) => one.cause), ["first", "idle"]);
  assert.deepEqual(assembled(), [0, 0, 2]);
});

test("isolated cron runs are contexts of one route; a named session is one context", async () => {
  await host.replay(recorded("cron_isolated"));
  const [job] = [...ledger.contexts.values()].map((context) => context.route);
  assert.match(job, /^agent:main:cron:[^:]+$/);
  assert.deepEqual(contexts(job).map((one) => one.cause), ["cron-run", "cron-run"]);
  const named = recorded("cron_named");
  const { sessionId, sessionTarget } = named.find((call) => call.call === "bootstrap").params;
  host.rows.set("agent:main:release-watch", { sessionId, lifecycleRevision: sessionTarget.expectedLifecycleRevision });
  await host.replay(named);
  assert.deepEqual(contexts("agent:main:release-watch").map((one) => one.turns.size), [2]);
  assert.deepEqual(assembled(), [0, 0, 0, 2]);
});

test("sub-agents have what was declared, and their end is told", async () => {
  await host.replay(recorded("subagent"));
  const children = [...ledger.contexts.values()].filter((context) => context.cause === "subagent");
  assert.deepEqual(children.map((child) => child.inherited.length > 0), [false, true]);
  assert.deepEqual(children.map((child) => child.ended), ["done", "done"]);
});

test("a spawn that fails leaves nothing", async () => {
  await host.replay(recorded("ordinary"));
  const child = "agent:main:subagent:x";
  const ready = await host.makeEngine().prepareSubagentSpawn({ parentSessionKey: "agent:main:incident-42", childSessionKey: child, contextMode: "fork" });
  await ready.rollback();
  assert.equal(contexts(child)[0].ended, "never-started");
});

test("a turn whose answer got lost is stored once", async () => {
  let lost = false;
  const calls = recorded("lost_answer");
  ledger.down = (path, body) => {
    const is = path.endsWith("/commit") && !lost && JSON.stringify(body.messages).includes("] B");
    if (is) { lost = true; ledger.on_commit(body); }
    return is;
  };
  const answers = await host.replay(calls);
  const statuses = answers.filter((one) => one.call === "commitTurn").map((one) => one.answer?.status ?? "thrown");
  assert.deepEqual(statuses, ["committed", "thrown", "duplicate", "committed"]);
  const [only] = contexts("agent:main:outage");
  assert.deepEqual([only.turns.size, only.gaps], [3, []]);
});

test("while the ledger is away every turn goes on; then the missed ones come, in order", async () => {
  await host.replay(recorded("lost_answer"));
  let away = false;
  ledger.down = () => away;
  const calls = recorded("away");
  const steps = calls.flatMap((call, index) => (call.step ? [index] : []));
  assert.deepEqual(steps.map((at) => calls[at].step), ["turn D, the engine is away", "turn E, still away", "turn F, back", "turn G"]);
  away = true;
  const during = await host.replay(calls.slice(steps[0], steps[2]));
  assert.ok(during.filter((one) => one.call === "assemble").every((one) => one.answer.messages === one.params.messages));
  assert.equal(host.logged.filter((line) => line.includes("is away")).length, 1, "said once");
  // What was never handed over stands in OpenClaw's transcript.
  missed(calls);
  away = false;
  await host.replay(calls.slice(steps[2]));
  const [only] = contexts("agent:main:outage");
  const order = [...only.turns.values()].map((turn) => turn.positions.first).sort((a, b) => a - b);
  assert.deepEqual(order, [0, 2, 4, 6, 8, 10, 12]);
  assert.deepEqual([only.gaps, only.next], [[], 14]);
  assert.ok(host.logged.some((line) => line.includes("is back")));
  assert.ok(host.logged.some((line) => line.includes("had a gap at 8 to 9")));
});

function missed(calls) {
  const { sessionId } = calls.find((call) => call.params?.sessionId).params;
  const known = host.transcripts.get(sessionId);
  for (const position of [8, 9]) {
    const role = position === 8 ? "user" : "assistant";
    known[position] = { entryId: `missed-${position}`, role, message: { role, content: "E" } };
  }
}

test("what nobody has does not hold up the turns after it either", async () => {
  await host.replay(recorded("lost_answer"));
  const calls = recorded("away");
  await host.replay(calls.slice(calls.findIndex((call) => call.step === "turn G")));
  const [only] = contexts("agent:main:outage");
  assert.equal(only.gaps.length, 0);
  assert.equal(only.next, 14);
});

test("a turn that the ledger will not have is a gap, and the turns after it are stored", async () => {
  const large = (body) => JSON.stringify(body.messages).includes("message 2");
  const refuse = (body, otherwise) => (large(body) ? ledger.refuse(413, "too-large") : otherwise(body));
  ledger.on_commit = (body) => refuse(body, PlayedLedger.prototype.on_commit.bind(ledger));
  ledger.on_backfill = (body) => refuse(body, PlayedLedger.prototype.on_backfill.bind(ledger));
  await host.replay(recorded("ordinary"));
  delete ledger.on_commit;
  delete ledger.on_backfill;
  const [only] = contexts("agent:main:incident-42");
  assert.deepEqual([...only.turns.values()].map((turn) => turn.positions.first), [0, 4]);
  assert.deepEqual(only.accepted.map(({ first, last }) => [first, last]), [[2, 3]]);
});

test("what the ledger refuses for good does not hold up the turns after it", async () => {
  ledger.on_commit = () => ledger.refuse(409, "conflict");
  const answers = await host.replay(recorded("ordinary"));
  delete ledger.on_commit;
  assert.ok(answers.filter((one) => one.call === "commitTurn").every((one) => one.answer.status === "duplicate"));
  assert.ok(problems().length > 0);
});

test("a plug-in that was started anew goes on in the same context", async () => {
  await host.replay(recorded("ordinary"));
  const before = host;
  host = new PlayedHost(ledger);
  Object.assign(host, { rows: before.rows, transcripts: before.transcripts });
  await host.replay(recorded("rewind"));
  assert.deepEqual(contexts("agent:main:incident-42").map((one) => one.cause), ["first", "rewind"]);
});

test("a call without a key goes nowhere", async () => {
  const messages = [{ role: "user", content: "hi" }];
  const answer = await host.makeEngine().assemble({ sessionId: "s", messages });
  assert.equal(answer.messages, messages);
  assert.deepEqual(ledger.calls, []);
});
