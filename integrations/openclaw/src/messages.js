// OpenClaw's messages as the ledger takes them, and inherited ones as OpenClaw takes them.

const MOST = 256;

function textOf(content) {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  const part = (item) => {
    if (item?.type === "text") return item.text ?? "";
    return item?.type === "image" ? "[image]" : "";
  };
  return content.map(part).filter(Boolean).join("\n");
}

function at(message) {
  const time = message.timestamp;
  return Number.isFinite(time) ? { at: new Date(time).toISOString() } : {};
}

const callId = (id) => String(id ?? "").replace(/[^!-~]/g, "_").slice(0, 128) || "unknown";
const named = (name) => String(name ?? "").slice(0, MOST) || "unknown";

function usage(message) {
  const told = message.usage;
  if (!told || !Number.isSafeInteger(told.input) || !Number.isSafeInteger(told.output)) return {};
  const tokens = { input: told.input, output: told.output };
  if (Number.isSafeInteger(told.cacheRead)) tokens.cache_read = told.cacheRead;
  if (Number.isSafeInteger(told.cacheWrite)) tokens.cache_write = told.cacheWrite;
  return { tokens };
}

function assistant(message) {
  const said = [];
  const text = textOf(message.content);
  const calls = Array.isArray(message.content) ? message.content.filter((c) => c?.type === "toolCall") : [];
  if (text !== "" || calls.length === 0) {
    const model = message.model ? { model: named(message.model) } : {};
    said.push({ type: "assistant", text, ...model, ...usage(message), ...at(message) });
  }
  for (const call of calls) {
    const input = JSON.stringify(call.arguments ?? {});
    said.push({ type: "tool_call", call: callId(call.id), tool: named(call.name), input, ...at(message) });
  }
  return said;
}

// One message of OpenClaw: none, one or several of the ledger.
export function toLedger(message) {
  switch (message?.role) {
    case "user":
      return [{ type: "user", text: textOf(message.content), ...at(message) }];
    case "assistant":
      return assistant(message);
    case "toolResult":
      return [{
        type: "tool_result",
        call: callId(message.toolCallId),
        tool: named(message.toolName),
        output: textOf(message.content),
        outcome: message.isError ? "failed" : "ok",
        ...at(message),
      }];
    case "compactionSummary":
    case "branchSummary":
      return [{ type: "system", text: message.summary ?? textOf(message.content), ...at(message) }];
    default:
      return message?.content === undefined
        ? []
        : [{ type: "system", text: textOf(message.content), ...at(message) }];
  }
}

export const allToLedger = (messages) => messages.flatMap(toLedger);

// Inherited messages as OpenClaw's. Tool calls and their results are told in words: a pair without its neighbours is
// refused by most models.
export function toHost(seen) {
  const timestamp = Date.parse(seen.at) || 0;
  if (seen.type === "assistant") {
    return {
      role: "assistant",
      content: [{ type: "text", text: seen.text }],
      api: "siglum",
      provider: "siglum",
      model: seen.model ?? "unknown",
      usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0,
        cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 } },
      stopReason: "stop",
      timestamp,
    };
  }
  const words = {
    user: seen.text,
    system: seen.text,
    tool_call: `[called ${seen.tool}: ${seen.text}]`,
    tool_result: `[${seen.tool} returned: ${seen.text}]`,
  };
  return { role: "user", content: [{ type: "text", text: words[seen.type] ?? seen.text }], timestamp };
}
