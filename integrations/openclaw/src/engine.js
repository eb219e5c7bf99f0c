// The context engine: one for each run of OpenClaw.
import { createHash } from "node:crypto";

import { Refused } from "./client.js";
import { routeKeyOf } from "./keys.js";
import { allToLedger, toHost } from "./messages.js";
import { hostHasInherited } from "./transitions.js";

const BYTES_OF_TOKEN = 4;

const INFO = {
  id: "siglum",
  name: "Siglum",
  version: "0.1.0",
  ownsCompaction: false,
  acceptedHostParams: ["sessionKey", "sessionTarget", "prompt", "runtimeContext"],
  transcriptSemantics: {
    currentTurnFence: "before-current-turn-entry-v1",
    turnAdvancementIdempotency: "atomic-idempotent-v1",
  },
};

export function engineOf(bridge, { compact: delegate }) {
  // The run that this engine was made for, once it is known.
  let begun;

  async function begin(params) {
    const run = bridge.runOf(params);
    if (begun?.run.sessionId !== run.sessionId || begun.run.sessionKey !== run.sessionKey) {
      const writer = run.writer ?? begun?.run.writer;
      begun = { run: { ...run, writer } };
    }
    begun.context ??= await bridge.begin(begun.run);
    return begun;
  }

  return {
    info: INFO,

    async bootstrap(params) {
      const done = await bridge.orElse("bootstrap", undefined, () => begin(params));
      return done ? { bootstrapped: true } : { bootstrapped: false, reason: "the ledger is away" };
    },

    async assemble(params) {
      const own = params.messages;
      const alone = { messages: own, estimatedTokens: tokensOf(own) };
      return bridge.orElse("assemble", alone, async () => {
        const { run, context } = await begin(params);
        const seen = await bridge.see(run, context, params);
        bridge.log.info(
          `siglum: ${run.route} assembles ${seen.messages.length} earlier entries of ${context.context_key} (${context.cause})`,
        );
        const inherited = hostHasInherited(context.cause)
          ? []
          : seen.messages.filter((one) => isFromBefore(one, context)).map(toHost);
        const messages = [...inherited, ...own];
        return { messages, estimatedTokens: tokensOf(messages) };
      });
    },

    async commitTurn(params) {
      const isOwn = begun?.run.sessionId === params.sessionId && begun.run.sessionKey === params.sessionKey;
      try {
        const status = await bridge.commit(params, isOwn ? begun : undefined);
        return { status: status === "duplicate" ? "duplicate" : "committed" };
      } catch (error) {
        bridge.told("commit", error);
        // OpenClaw would come with it for ever, and leave this engine out meanwhile. What is missing is noted as a gap
        // when the next run begins.
        if (error instanceof Refused) return { status: "duplicate" };
        throw error;
      }
    },

    // Only called for hosts that know no durable turns; what they say is handed over from their transcript.
    async ingest() {
      return { ingested: false };
    },

    async compact(params) {
      const answer = await delegate(params);
      const summary = answer?.ok && answer.compacted ? answer.result?.summary : undefined;
      if (summary) await bridge.orElse("compact", undefined, () => noteCompaction(bridge, begin, params, answer.result));
      return answer;
    },

    async prepareSubagentSpawn(params) {
      return bridge.orElse("prepareSubagentSpawn", undefined, () => prepare(bridge, params));
    },

    async onSubagentEnded({ childSessionKey, reason }) {
      const outcome = reason === "completed" || reason === "released" ? "done" : "failed";
      await bridge.orElse("onSubagentEnded", undefined, () => endSubagent(bridge, childSessionKey, outcome));
    },
  };
}

function isFromBefore(message, context) {
  return message.origin === "inherited" || (message.origin === "summary" && message.from !== context.context_key);
}

function tokensOf(messages) {
  return Math.ceil(Buffer.byteLength(JSON.stringify(messages)) / BYTES_OF_TOKEN);
}

async function noteCompaction(bridge, begin, params, result) {
  const { run, context } = await begin(params);
  const first = result.firstKeptEntryId && (await bridge.transcript.positionOf(run.target, result.firstKeptEntryId));
  const count = await bridge.transcript.count(run.target);
  const kept = first === undefined ? [] : await bridge.transcript.range(run.target, first, count);
  const digest = createHash("sha256").update(`${result.firstKeptEntryId}\n${result.summary}`).digest("hex");
  await bridge.client.post("/v1/contexts/compact", {
    ...context.keys,
    turn_key: `compact:${run.sessionId}:${digest.slice(0, 32)}`,
    summary: result.summary,
    trigger: params.compactionTarget === "threshold" ? "manual" : "overflow",
    keep: Math.min(allToLedger(kept.map((entry) => entry.message)).length, 10_000),
  });
  bridge.log.info(`siglum: ${run.route} was compacted in ${context.context_key} alone`);
}

async function prepare(bridge, params) {
  const parent = routeKeyOf(params.parentSessionKey);
  const child = routeKeyOf(params.childSessionKey);
  const context = bridge.contexts.get(parent) ?? (await bridge.current(parent));
  if (context === undefined || child === undefined) return undefined;
  // Its session id is said with its first run: what the row of a child says changes until then.
  const aliases = { session_key: params.childSessionKey };
  await bridge.client.post("/v1/contexts/prepare-subagent", {
    ...context.keys,
    child: { route_key: child, agent: "openclaw", client: "openclaw", run: `subagent:${params.childSessionKey}`, aliases },
    inherit: params.contextMode === "fork" ? "all" : "none",
  });
  return { rollback: () => bridge.orElse("rollback", undefined, () => endSubagent(bridge, params.childSessionKey, "never-started")) };
}

async function endSubagent(bridge, sessionKey, outcome) {
  const route = routeKeyOf(sessionKey);
  const context = bridge.contexts.get(route) ?? (await bridge.current(route));
  if (context) await bridge.client.post("/v1/contexts/subagent-ended", { ...context.keys, outcome });
  bridge.contexts.delete(route);
  bridge.log.info(`siglum: sub-agent ${route} ended: ${outcome}`);
}
