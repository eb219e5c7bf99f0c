import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { kindOf, routeKeyOf } from "../src/keys.js";
import { allToLedger, toHost } from "../src/messages.js";
import { settingsOf } from "../src/settings.js";
import { hostHasInherited, transition } from "../src/transitions.js";

test("a session key is a route key as it is, unless it has other characters", () => {
  for (const same of ["agent:main:main:heartbeat", "Agent:Main/x@y+1-2_3.z"]) assert.equal(routeKeyOf(same), same);
  assert.equal(routeKeyOf("room:!A é"), "room:#21A#20#c3#a9");
  assert.equal(routeKeyOf("a#21"), "a#2321", "what is written so is written otherwise itself");
  for (const none of ["", "  ", undefined, null, 7]) assert.equal(routeKeyOf(none), undefined);
  const long = ["a", "b"].map((end) => routeKeyOf("k".repeat(600) + end));
  assert.ok(long.every((key) => key.length === 512) && long[0] !== long[1]);
});

test("what kind of run a key speaks of", () => {
  const id = "00000000-0000-4000-8000-000000000001";
  const check = (key, kind, routeOf = key) => assert.deepEqual(kindOf(key, id), { kind, routeOf });
  check("agent:main:main", "shared");
  check("agent:main:main:heartbeat", "tick");
  check("agent:main:cron:nightly", "shared");
  check(`agent:main:cron:nightly:run:${id}`, "cron-run", "agent:main:cron:nightly");
  check("agent:main:cron:nightly:run:another", "shared");
  check(`agent:main:team:run:${id}`, "shared");
});

test("why a route needs another context", () => {
  const before = { sessionId: "a", lifecycle: undefined };
  const check = (known, now, ended, expected) => assert.deepEqual(transition(known, now, ended), expected);
  const anew = (cause) => ({ want: "another", cause });
  check(undefined, { sessionId: "a", position: 4 }, undefined, { want: "shared" });
  check({}, { sessionId: "a", lifecycle: "x", position: 4 }, undefined, { want: "shared" });
  check(before, { sessionId: "a", position: 4 }, undefined, { want: "shared" });
  check(before, { sessionId: "a", lifecycle: "x", position: 4 }, undefined, anew("reset"));
  check({ ...before, lifecycle: "x" }, { sessionId: "a", lifecycle: "x", position: 4 }, undefined, { want: "shared" });
  check(before, { sessionId: "b", position: 0 }, { reason: "idle", nextSessionId: "b" }, anew("idle"));
  check(before, { sessionId: "b", position: 0 }, { reason: "daily", nextSessionId: "b" }, anew("idle"));
  check(before, { sessionId: "b", position: 0 }, { reason: "new", nextSessionId: "b" }, anew("reset"));
  check(before, { sessionId: "b", position: 2 }, { reason: "compaction", nextSessionId: "b" }, { want: "shared" });
  check(before, { sessionId: "b", position: 2 }, undefined, { want: "rewound", position: 1 });
  check(before, { sessionId: "b", position: 2 }, { reason: "idle", nextSessionId: "a" }, { want: "rewound", position: 1 });
  check(before, { sessionId: "b", position: 0 }, undefined, anew("reset"));
  assert.ok(["rewind", "fork", "subagent"].every(hostHasInherited) && !["tick", "reset", "idle", "first"].some(hostHasInherited));
});

test("messages go to the ledger, and inherited ones come back", () => {
  const said = allToLedger([
    { role: "user", content: [{ type: "text", text: "look" }, { type: "image", data: "…" }], timestamp: 1_700_000_000_000 },
    { role: "assistant", model: "m", usage: { input: 3, output: 4, cacheRead: 1 },
      content: [{ type: "thinking", thinking: "hm" }, { type: "text", text: "well" },
        { type: "toolCall", id: "call 1", name: "exec", arguments: { command: "ls" } }] },
    { role: "toolResult", toolCallId: "call 1", toolName: "exec", content: [{ type: "text", text: "no" }], isError: true },
    { role: "compactionSummary", summary: "so far" },
    { role: "custom", content: "note" },
    { role: "strange" },
  ]);
  assert.deepEqual(said, [
    { type: "user", text: "look\n[image]", at: "2023-11-14T22:13:20.000Z" },
    { type: "assistant", text: "well", model: "m", tokens: { input: 3, output: 4, cache_read: 1 } },
    { type: "tool_call", call: "call_1", tool: "exec", input: '{"command":"ls"}' },
    { type: "tool_result", call: "call_1", tool: "exec", output: "no", outcome: "failed" },
    { type: "system", text: "so far" },
    { type: "system", text: "note" },
  ]);
  assert.equal(toHost({ type: "assistant", text: "well", at: "x" }).role, "assistant");
  assert.equal(toHost({ type: "tool_call", tool: "exec", text: "{}", at: "x" }).content[0].text, "[called exec: {}]");
});

test("settings: loopback or https, and a token that nobody else can read", () => {
  assert.equal(settingsOf({}, {}).url, "http://127.0.0.1:7477");
  assert.equal(settingsOf({ url: "https://ledger.example/x/" }, {}).url, "https://ledger.example/x");
  for (const url of ["http://ledger.example", "http://10.0.0.1:7477", "ftp://localhost"]) {
    assert.throws(() => settingsOf({ url }, {}), /neither loopback nor https/);
  }
  assert.throws(() => settingsOf({}, {}).token(), /no token/);
  assert.equal(settingsOf({}, { SIGLUM_TOKEN: "s" }).token(), "s");
  const file = join(mkdtempSync(join(tmpdir(), "siglum-")), "token");
  writeFileSync(file, "t\n", { mode: 0o600 });
  assert.equal(settingsOf({ tokenFile: file }, { SIGLUM_TOKEN: "s" }).token(), "t");
  chmodSync(file, 0o640);
  assert.throws(() => settingsOf({ tokenFile: file }, {}).token(), /0600/);
});
