// A context engine that keeps what it is given under the session key, as engines do that know no other one, and
// records every call in the file that LAB_OPENCLAW_RECORD names.
//
// While the file LAB_OPENCLAW_DOWN exists, it fails to commit: with the text `lost` in it after the write, as an
// answer that got lost; otherwise before it, as a server that is away.
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { delegateCompactionToRuntime } from "openclaw/plugin-sdk/core";

const HOOKS = ["before_reset", "session_start", "session_end", "subagent_spawned", "subagent_ended", "after_compaction"];
const kept = new Map();

function plain(value) {
  const above = [];
  const text = JSON.stringify(value, function (key, inner) {
    if (typeof inner === "function" || key === "config" || key === "abortSignal") return undefined;
    if (inner instanceof Set) return [...inner];
    if (typeof inner !== "object" || inner === null) return inner;
    while (above.length > 0 && above.at(-1) !== this) above.pop();
    if (above.includes(inner)) return undefined;
    above.push(inner);
    return inner;
  });
  return text === undefined ? null : JSON.parse(text);
}

function note(kind, name, params, more = {}) {
  const line = { at: Date.now(), kind, name, params: plain(params), ...plain(more) };
  appendFileSync(process.env.LAB_OPENCLAW_RECORD, JSON.stringify(line) + "\n");
}

const entriesOf = (key) => kept.get(key) ?? [];

function commit(params) {
  const down = process.env.LAB_OPENCLAW_DOWN;
  const how = down && existsSync(down) ? readFileSync(down, "utf8").trim() : undefined;
  const entries = entriesOf(params.sessionKey);
  const known = entries.includes(params.advancementKey);
  if (!known && how !== "away") kept.set(params.sessionKey, [...entries, params.advancementKey]);
  const answer = how ?? (known ? "duplicate" : "committed");
  note("engine", "commitTurn", params, { answer });
  if (how !== undefined) throw new Error(how === "lost" ? "the answer got lost" : "the server is away");
  return { status: answer };
}

function engine() {
  return {
    info: {
      id: "probe",
      name: "Probe",
      ownsCompaction: false,
      transcriptSemantics: {
        currentTurnFence: "before-current-turn-entry-v1",
        turnAdvancementIdempotency: "atomic-idempotent-v1",
      },
    },
    async bootstrap(params) {
      note("engine", "bootstrap", params);
      return { bootstrapped: true };
    },
    async ingest(params) {
      note("engine", "ingest", params);
      return { ingested: true };
    },
    async assemble(params) {
      note("engine", "assemble", params, { earlier: entriesOf(params.sessionKey).length });
      return { messages: params.messages, estimatedTokens: 100 * params.messages.length };
    },
    commitTurn: async (params) => commit(params),
    async compact(params) {
      note("engine", "compact", params);
      const answer = await delegateCompactionToRuntime(params);
      note("engine", "compacted", answer);
      return answer;
    },
    async maintain(params) {
      note("engine", "maintain", params);
      return { changed: false, bytesFreed: 0, rewrittenEntries: 0 };
    },
    async prepareSubagentSpawn(params) {
      note("engine", "prepareSubagentSpawn", params);
      return { rollback: () => note("engine", "rollback", params) };
    },
    async onSubagentEnded(params) {
      note("engine", "onSubagentEnded", params);
    },
  };
}

export default {
  id: "probe",
  name: "Probe",
  description: "Records what a context engine is called with",
  register(api) {
    for (const name of HOOKS) api.on(name, (event, context) => note("hook", name, event, { context }));
    api.registerContextEngine("probe", engine);
  },
};
