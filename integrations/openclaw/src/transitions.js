// Why a route needs another context than the one it has. Pure: what is known goes in, what to ask for comes out.
//
// `before` is what the ledger has of the route's current context (`sessionId`, `lifecycle`), nothing for a new route.
// `now` is the run: `sessionId`, `lifecycle`, `position` (messages that its transcript has before the current turn).
// `ended` is why OpenClaw said that the former session id ended, if it said so, with the id that follows.
const ANEW = new Set(["new", "reset", "deleted"]);
const SILENT = new Set(["idle", "daily"]);

export function transition(before, now, ended) {
  // Nothing of it was used yet: a new route, or a sub-agent that was prepared before its session was known.
  if (before?.sessionId === undefined) return { want: "shared" };
  if (before.sessionId === now.sessionId) {
    // In place: nothing changes but this revision.
    const isReset = (before.lifecycle ?? "") !== (now.lifecycle ?? "");
    return isReset ? { want: "another", cause: "reset" } : { want: "shared" };
  }
  const told = ended?.nextSessionId === now.sessionId ? ended.reason : undefined;
  if (told === "compaction") return { want: "shared" };
  if (SILENT.has(told)) return { want: "another", cause: "idle" };
  if (ANEW.has(told)) return { want: "another", cause: "reset" };
  // Nobody said a word: the transcript was taken back to an earlier message. To before the first one, or after a
  // restart that nobody saw, nothing of before may be seen.
  return now.position > 0
    ? { want: "rewound", position: now.position - 1 }
    : { want: "another", cause: "reset" };
}

// Whether OpenClaw hands over the messages that the context inherits by itself, in its own transcript.
export function hostHasInherited(cause) {
  return cause === "rewind" || cause === "fork" || cause === "subagent";
}
