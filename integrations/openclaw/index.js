// The plug-in as OpenClaw loads it: reads its settings, watches the few lifecycle hooks that say why a session went
// over to another id, and registers the engine. Everything else is in `src/`.
import { delegateCompactionToRuntime } from "openclaw/plugin-sdk/core";
import { readSessionTranscriptVisibleMessageDelta } from "openclaw/plugin-sdk/session-transcript-runtime";

import { Bridge } from "./src/bridge.js";
import { Client } from "./src/client.js";
import { engineOf } from "./src/engine.js";
import { settingsOf } from "./src/settings.js";
import { Transcript } from "./src/transcript.js";

const ID = "siglum";

function register(api) {
  const settings = settingsOf(api.pluginConfig ?? {}, process.env);
  const bridge = new Bridge({
    client: new Client(settings),
    transcript: new Transcript(readSessionTranscriptVisibleMessageDelta),
    entryOf: (target) => api.runtime.agent.session.getSessionEntry(target),
    log: api.logger,
  });
  api.on("session_end", (event) => bridge.sessionEnded(event));
  api.on("after_compaction", (event, context) => bridge.compacted(event, context));
  api.registerContextEngine(ID, () => engineOf(bridge, { compact: delegateCompactionToRuntime }));
}

export default { id: ID, name: "Siglum", description: "Contexts kept in a Siglum ledger", register };
