// What a run of OpenClaw sees and adds, kept in the ledger.
//
// Every run is given its two keys by the ledger: the route key is OpenClaw's session key, the context key says what may
// be seen. `contexts` remembers what the ledger said of each route; the ledger is asked again where nothing is known.
import { Away, Refused } from "./client.js";
import { kindOf, routeKeyOf } from "./keys.js";
import { allToLedger } from "./messages.js";
import { transition } from "./transitions.js";

const AGENT = "openclaw";
const PENDING_MOST = 10_000;

export class Bridge {
  constructor({ client, transcript, entryOf, log }) {
    Object.assign(this, { client, transcript, entryOf, log });
    this.contexts = new Map();    // route key -> { context_key, cause, sessionId, lifecycle }
    this.ended = new Map();       // session key -> why its former session id ended
    this.pending = new Map();     // advancement key -> lifecycle of the turn, while it is not stored
    this.isAway = false;
  }

  // ---- hooks

  sessionEnded(event) {
    if (!event.sessionKey || event.reason === "shutdown" || event.reason === "restart") return;
    this.ended.set(event.sessionKey, { reason: event.reason, nextSessionId: event.nextSessionId });
    this.transcript.forget(event.sessionId);
  }

  compacted(event, context) {
    if (!event.previousSessionId || !context?.sessionKey) return;
    this.ended.set(context.sessionKey, { reason: "compaction", nextSessionId: context.sessionId });
  }

  // ---- which context

  // The run that a call speaks of. Nothing is asked of the ledger yet.
  runOf({ sessionKey, sessionId, sessionTarget, agentId }) {
    const routeOf = sessionKey && sessionId ? kindOf(sessionKey, sessionId) : undefined;
    const route = routeOf && routeKeyOf(routeOf.routeOf);
    if (route === undefined) throw new Refused(0, { code: "no_key", detail: "the call has no session key" });
    const agent = agentId ?? sessionTarget?.agentId ?? sessionKey.match(/^agent:([^:]+):/)?.[1];
    const entry = this.entry({ agentId: agent, sessionKey });
    const isCurrent = entry?.sessionId === sessionId;
    return {
      route, kind: routeOf.kind, sessionKey, sessionId,
      target: { agentId: agent, sessionKey, sessionId },
      writer: sessionTarget?.expectedWriterRunId,
      lifecycle: sessionTarget?.expectedLifecycleRevision ?? (isCurrent ? entry.lifecycleRevision : undefined),
      parent: isCurrent && !entry.spawnedBy ? entry.parentSessionKey : undefined,
    };
  }

  entry(target) {
    try {
      return this.entryOf(target);
    } catch {
      return undefined;
    }
  }

  // Both keys of a run whose transcript has so many messages before the current turn.
  async keysOf(run, position) {
    if (run.kind !== "shared") {
      return this.resolve(run, position, { cause: run.kind, run: `${run.kind}:${run.sessionId}` });
    }
    const before = this.contexts.get(run.route) ?? (await this.current(run.route));
    if (before === undefined && run.parent !== undefined && position > 0) return this.fork(run, position);
    const lifecycle = "lifecycle" in run ? run.lifecycle : before?.lifecycle;
    const now = { sessionId: run.sessionId, lifecycle, position };
    const next = transition(before, now, this.ended.get(run.sessionKey));
    const settled = { ...run, lifecycle };
    if (next.want === "shared") {
      const name = `shared:${run.sessionId}:${lifecycle ?? ""}:${run.writer ?? "first"}`;
      return this.resolve(settled, position, { run: name });
    }
    if (next.want === "another") {
      const name = `${next.cause}:${run.sessionId}:${lifecycle ?? ""}`;
      return this.resolve(settled, position, { cause: next.cause, run: name });
    }
    return this.orAnew(settled, position, {
      cause: "rewind", anchor: { position: next.position }, run: `rewind:${run.sessionId}`,
    });
  }

  async fork(run, position) {
    const route = routeKeyOf(run.parent);
    const parent = this.contexts.get(route) ?? (await this.current(route));
    const shared = { run: `shared:${run.sessionId}:${run.lifecycle ?? ""}:first` };
    if (parent === undefined) return this.resolve(run, position, shared);
    return this.orAnew(run, position, {
      cause: "fork",
      from: { route_key: route, context_key: parent.context_key },
      anchor: { position: position - 1 },
      run: `fork:${run.sessionId}`,
    }, shared);
  }

  // Asks for a branch; where the ledger does not have the place, for a context that has nothing of before.
  async orAnew(run, position, ask, instead) {
    try {
      return await this.resolve(run, position, ask);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.log.warn(`siglum: ${run.route} cannot ${ask.cause} to message ${ask.anchor.position}: ${error.message}`);
      return this.resolve(run, position, instead ?? { cause: "reset", run: `${ask.run}:anew` });
    }
  }

  async resolve(run, position, ask) {
    const aliases = { session_key: run.sessionKey, session_id: run.sessionId };
    if (run.lifecycle) aliases.lifecycle = run.lifecycle;
    const told = await this.client.post("/v1/contexts/resolve", {
      route_key: run.route, agent: AGENT, client: AGENT, aliases, next_position: position, ...ask,
    });
    const context = {
      keys: { route_key: told.route_key, context_key: told.context_key },
      context_key: told.context_key, cause: told.cause, sessionId: run.sessionId, lifecycle: run.lifecycle,
    };
    if (run.kind === "shared") this.contexts.set(run.route, context);
    return context;
  }

  // What the ledger has of a route, with what OpenClaw called it last.
  async current(route) {
    let told;
    try {
      told = await this.client.get("/v1/route", { route_key: route });
    } catch (error) {
      if (error instanceof Refused && error.status === 404) return undefined;
      throw error;
    }
    const context = told.contexts.find((one) => one.context_key === told.route.context_key);
    if (context === undefined) return undefined;
    const { session_id: sessionId, lifecycle } = context.aliases ?? {};
    return {
      keys: { route_key: route, context_key: context.context_key },
      context_key: context.context_key, cause: context.cause, sessionId, lifecycle,
    };
  }

  // ---- the turns

  // A run begins: it gets its keys, and what was missed is handed over.
  async begin(run) {
    const position = await this.transcript.count(run.target);
    const context = await this.keysOf(run, position);
    const last = position > 0 ? { last_position: position - 1 } : {};
    const told = await this.client.post("/v1/contexts/bootstrap", { ...context.keys, ...last });
    for (const gap of told.gaps ?? []) await this.fill(run, context, gap);
    return context;
  }

  // What the run may see of before its current turn.
  async see(run, context, { tokenBudget, prompt }) {
    const ask = { ...context.keys, budget: tokenBudget ?? Number.MAX_SAFE_INTEGER, ...(prompt ? { prompt } : {}) };
    try {
      return await this.client.post("/v1/contexts/assemble", ask);
    } catch (error) {
      if (!(error instanceof Refused) || error.code !== "gap") throw error;
      this.log.warn(`siglum: ${run.route} goes on with a gap: ${error.message}`);
      return this.client.post("/v1/contexts/assemble", { ...ask, accept_gaps: true });
    }
  }

  // Stores a turn that OpenClaw accepted. Throws where OpenClaw shall come again with it.
  async commit(params, known) {
    const { admission, terminal, advancementKey } = params;
    const run = this.runOf(params);
    // A turn that comes late belongs to what was current when it was said.
    if (known) run.lifecycle = known.run.lifecycle;
    else if (this.pending.has(advancementKey)) run.lifecycle = this.pending.get(advancementKey);
    else delete run.lifecycle;
    this.remember(advancementKey, run);
    const context = known?.context ?? (await this.keysOf(run, admission.activeMessagePosition));
    const positions = { first: admission.activeMessagePosition, last: terminal.activeMessagePosition };
    const turn = {
      ...context.keys, turn_key: advancementKey, positions,
      messages: allToLedger(params.messages), heartbeat: params.isHeartbeat === true,
    };
    const told = await this.handOver(run, context, turn);
    this.pending.delete(advancementKey);
    await this.afterTurn(context, turn);
    return told;
  }

  remember(key, run) {
    if (!("lifecycle" in run)) return;
    if (this.pending.size >= PENDING_MOST) this.pending.delete(this.pending.keys().next().value);
    this.pending.set(key, run.lifecycle);
  }

  async handOver(run, context, turn) {
    const until = turn.positions.first - 1;
    let told = await this.client.post("/v1/contexts/commit", turn);
    if (told.outcome === "behind") {
      await this.fill(run, context, { first: told.expected, last: until });
      told = await this.client.post("/v1/contexts/commit", turn);
    }
    if (told.outcome === "behind") {
      this.log.warn(`siglum: ${run.route} goes on without positions ${told.expected} to ${until}: nobody has them`);
      await this.client.post("/v1/contexts/accept-gap", { ...context.keys, until });
      told = await this.client.post("/v1/contexts/commit", turn);
    }
    if (told.outcome === "behind") throw new Away(`it expects position ${told.expected}`);
    return told.outcome;
  }

  async afterTurn(context, turn) {
    try {
      const { turn_key, heartbeat } = turn;
      await this.client.post("/v1/contexts/after-turn", {
        ...context.keys, turn_key, heartbeat, outcome: "done",
      });
    } catch (error) {
      this.log.warn(`siglum: the end of a run was not noted: ${error.message}`);
    }
  }

  // Hands over, from OpenClaw's transcript, what stands in a gap. What the ledger will not have stays a gap.
  async fill(run, context, { first, last }) {
    const entries = await this.transcript.range(run.target, first, last);
    let handed = 0;
    for (const turn of turnsOf(entries)) {
      const messages = allToLedger(turn.map((entry) => entry.message));
      if (messages.length === 0) continue;
      const positions = { first: turn[0].position, last: turn.at(-1).position };
      try {
        await this.client.post("/v1/contexts/backfill", {
          ...context.keys, turn_key: `backfill:${run.sessionId}:${turn[0].entryId}`, positions, messages,
        });
        handed += turn.length;
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        this.log.warn(`siglum: ${run.route}, positions ${positions.first} to ${positions.last}: ${error.message}`);
      }
    }
    this.log.info(`siglum: ${run.route} had a gap at ${first} to ${last}; ${handed} messages were handed over`);
  }

  // ---- whatever happens, the turn of the person goes on

  async orElse(what, otherwise, call) {
    try {
      const answer = await call();
      if (this.isAway) this.log.info("siglum: the ledger is back");
      this.isAway = false;
      return answer;
    } catch (error) {
      this.told(what, error);
      return otherwise;
    }
  }

  told(what, error) {
    if (!(error instanceof Away)) this.log.error(`siglum: ${what}: ${error.message}`);
    else if (!this.isAway) {
      this.log.warn(`siglum: the ledger is away (${error.message}): OpenClaw goes on with its own transcript`);
      this.isAway = true;
    }
  }
}

// Entries, in order, cut where somebody asks.
function turnsOf(entries) {
  const turns = [];
  for (const entry of entries) {
    if (turns.length === 0 || entry.role === "user") turns.push([]);
    turns.at(-1).push(entry);
  }
  return turns;
}
