// A ledger that is played: as much of the API as the plug-in asks, in memory. And a host that replays recorded calls.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";

import { Bridge } from "../src/bridge.js";
import { Client } from "../src/client.js";
import { engineOf } from "../src/engine.js";
import { Transcript } from "../src/transcript.js";

export const FIXTURES = new URL("../../../crates/tests/fixtures/openclaw/", import.meta.url);
export const recorded = (name) => JSON.parse(readFileSync(new URL(`${name}.json`, FIXTURES), "utf8")).calls;

export class PlayedLedger {
  constructor() {
    Object.assign(this, { routes: new Map(), contexts: new Map(), runs: new Map(), calls: [], down: undefined });
  }

  async start() {
    this.server = createServer(async (request, response) => {
      let text = "";
      for await (const chunk of request) text += chunk;
      const { pathname, searchParams } = new URL(request.url, "http://played");
      const body = text ? JSON.parse(text) : Object.fromEntries(searchParams);
      const [status, answer] = this.answer(pathname, body, request.headers);
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(answer));
    });
    await new Promise((ready) => this.server.listen(0, "127.0.0.1", ready));
    this.url = `http://127.0.0.1:${this.server.address().port}`;
    return this;
  }

  stop() {
    this.server.closeAllConnections();
    return new Promise((done) => this.server.close(done));
  }

  answer(path, body, headers) {
    if (headers.authorization !== "Bearer t") return [401, { code: "unauthorized", detail: "who asks?" }];
    this.calls.push({ path, body });
    if (this.down?.(path, body)) return [503, { code: "store", detail: "away" }];
    const name = path.split("/").at(-1).replaceAll("-", "_");
    try {
      return [200, this[`on_${name}`](body)];
    } catch (error) {
      if (!error.status) throw error;
      return [error.status, { code: error.code, detail: error.message }];
    }
  }

  refuse(status, code) {
    throw Object.assign(new Error(code), { status, code });
  }

  context({ route_key, context_key }) {
    const context = this.contexts.get(context_key);
    if (context?.route !== route_key) this.refuse(409, "keys-mismatch");
    return context;
  }

  on_resolve({ route_key, run, cause, anchor, from, aliases, next_position }) {
    const current = this.routes.get(route_key);
    const key = this.runs.get(run) || (!cause && current) || `${route_key}${current || cause ? `-${this.contexts.size}` : ""}`;
    this.runs.set(run, key);
    if (!this.contexts.has(key)) {
      const parent = cause === "rewind" ? this.contexts.get(current) : from && this.context(from);
      if (anchor && !(parent?.next > anchor.position)) this.refuse(400, "invalid");
      const inherited = anchor ? parent.messages.filter((m) => m.position <= anchor.position) : [];
      this.contexts.set(key, { key, route: route_key, cause: cause ?? "first", turns: new Map(), next: next_position,
        gaps: [], inherited, messages: [...inherited] });
    }
    const context = this.contexts.get(key);
    context.aliases = { ...context.aliases, ...aliases };
    if (cause !== "tick" && cause !== "cron-run") this.routes.set(route_key, key);
    return { route_key, context_key: key, cause: context.cause };
  }

  on_route({ route_key }) {
    if (!this.routes.has(route_key)) this.refuse(404, "not-found");
    const contexts = [...this.contexts.values()].filter((c) => c.route === route_key);
    return {
      route: { context_key: this.routes.get(route_key) },
      contexts: contexts.map((c) => ({ context_key: c.key, cause: c.cause, aliases: c.aliases })),
    };
  }

  note(context, last) {
    if (!(last >= context.next)) return;
    const known = context.gaps.find((gap) => gap.first === context.next);
    if (known) known.last = Math.max(known.last, last);
    else context.gaps.push({ first: context.next, last });
  }

  on_bootstrap(body) {
    const context = this.context(body);
    this.note(context, body.last_position);
    return { gaps: context.gaps.map((gap) => ({ ...gap })) };
  }

  on_accept_gap(body) {
    const context = this.context(body);
    for (const gap of context.gaps) context.next = Math.max(context.next, gap.last + 1);
    Object.assign(context, { accepted: context.gaps, gaps: [] });
    return { accepted: context.accepted.length };
  }

  on_assemble(body) {
    const context = this.context(body);
    if (context.gaps.length > 0 && !body.accept_gaps) this.refuse(409, "gap");
    const seen = (m) => ({ ...m.said, origin: context.inherited.includes(m) ? "inherited" : "own", at: "2026-01-01T00:00:00Z" });
    const order = [...context.messages].sort((a, b) => a.position - b.position);
    return { messages: order.map(seen) };
  }

  on_commit(body) {
    const context = this.context(body);
    if (context.turns.has(body.turn_key)) return { outcome: "duplicate" };
    if (body.positions.first > context.next) {
      this.note(context, body.positions.first - 1);
      return { outcome: "behind", expected: context.next };
    }
    if (body.positions.first < context.next) this.refuse(409, "conflict");
    context.next = body.positions.last + 1;
    return this.store(context, body);
  }

  on_backfill(body) {
    const context = this.context(body);
    const gap = context.gaps.find((g) => g.first <= body.positions.first && body.positions.last <= g.last);
    if (!gap) this.refuse(400, "invalid");
    gap.first = body.positions.last + 1;
    context.gaps = context.gaps.filter((g) => g.first <= g.last);
    context.next = Math.max(context.next, body.positions.last + 1);
    return this.store(context, body);
  }

  store(context, { turn_key, messages, positions, heartbeat }) {
    context.turns.set(turn_key, { positions, heartbeat: heartbeat === true });
    context.messages.push(...messages.map((said) => ({ said, position: positions.first })));
    return { outcome: "committed" };
  }

  on_after_turn() { return {}; }
  on_maintain() { return {}; }

  on_compact(body) {
    this.context(body).summary = body.summary;
    return { outcome: "committed" };
  }

  on_prepare_subagent({ child, inherit, ...keys }) {
    const parent = this.context(keys);
    this.routes.set(child.route_key, child.route_key);
    const inherited = inherit === "all" ? [...parent.messages] : [];
    this.contexts.set(child.route_key, { key: child.route_key, route: child.route_key, cause: "subagent", parent: parent.key, aliases: child.aliases,
      turns: new Map(), next: undefined, gaps: [], inherited, messages: [...inherited] });
    return { route_key: child.route_key, context_key: child.route_key };
  }

  on_subagent_ended(body) {
    this.context(body).ended = body.outcome;
    return {};
  }
}

// OpenClaw, played: an engine for each run, a transcript, and rows that say what a session is called now.
export class PlayedHost {
  constructor(ledger, settings = {}) {
    Object.assign(this, { rows: new Map(), transcripts: new Map(), logged: [], engine: undefined });
    const log = (level) => (text) => this.logged.push(`${level}: ${text}`);
    this.bridge = new Bridge({
      client: new Client({ url: ledger.url, token: () => "t", timeoutMs: 2000, retryMs: 0, ...settings }),
      transcript: new Transcript(async (ask) => this.page(ask)),
      entryOf: ({ sessionKey }) => this.rows.get(sessionKey),
      log: { info: log("info"), warn: log("warn"), error: log("error") },
    });
  }

  page({ sessionId, cursor = 0 }) {
    const all = this.transcripts.get(sessionId) ?? [];
    const entries = all.slice(cursor, cursor + 3);
    return { kind: "page", entries, cursor: cursor + entries.length, hasMore: cursor + entries.length < all.length };
  }

  makeEngine(compact = async () => ({ ok: true, compacted: false })) {
    return engineOf(this.bridge, { compact });
  }

  // Replays recorded calls. What was accepted goes into the transcript, as it would.
  async replay(calls) {
    const answers = [];
    this.calls = calls;
    for (const [at, call] of calls.entries()) {
      this.at = at;
      if (call.step) this.engine = undefined;
      else if (call.hook === "session_end") this.bridge.sessionEnded(call.params);
      else if (call.call) {
        this.engine ??= this.makeEngine(async () => this.compacted);
        this.compacted = calls.slice(at).find((later) => later.call === "compacted")?.params;
        answers.push({ ...(await this.one(call)), call: call.call, params: call.params });
      }
    }
    return answers;
  }

  async one({ call, params }) {
    const key = params.sessionKey;
    if (params.sessionTarget?.expectedLifecycleRevision !== undefined || params.sessionId) {
      const lifecycleRevision = params.sessionTarget?.expectedLifecycleRevision ?? this.lifecycleOf(key, params.sessionId);
      this.rows.set(key, { ...this.rows.get(key), sessionId: params.sessionId, lifecycleRevision });
    }
    // A branch begins with what was said before it.
    if (call === "bootstrap") this.seed(params.sessionId, this.next("assemble"));
    if (call === "commitTurn") {
      const transcript = this.transcripts.get(params.sessionId) ?? [];
      // What OpenClaw says by itself, as about a sub-agent that ended, it never hands over.
      for (let hole = transcript.length; hole < params.admission.activeMessagePosition; hole += 1) {
        transcript[hole] = { entryId: `hole-${hole}`, role: "assistant", message: { role: "assistant", content: "told" } };
      }
      this.transcripts.set(params.sessionId, transcript);
      for (const [index, message] of params.messages.entries()) {
        const position = params.admission.activeMessagePosition + index;
        transcript[position] ??= { entryId: `${params.sessionId}-${position}`, role: message.role, message };
      }
      const told = await this.engine.commitTurn(params).then((answer) => ({ answer }), (error) => ({ error }));
      this.engine = undefined;
      return told;
    }
    if (!this.engine[call]) return {};
    return { answer: await this.engine[call](params) };
  }

  next(call) {
    return this.calls.slice(this.at).find((later) => later.call === call)?.params.messages ?? [];
  }

  seed(sessionId, messages) {
    if (this.transcripts.has(sessionId) || messages.length === 0) return;
    const entries = messages.map((message, index) => ({ entryId: `${sessionId}-${index}`, role: message.role, message }));
    this.transcripts.set(sessionId, entries);
  }

  lifecycleOf(key, sessionId) {
    const row = this.rows.get(key);
    return row?.sessionId === sessionId ? row.lifecycleRevision : undefined;
  }
}
