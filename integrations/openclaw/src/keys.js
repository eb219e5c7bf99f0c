// From OpenClaw's session keys to route keys, and what kind of run a key speaks of.
//
// A route key is the session key as it is; characters that no route key has are written as `#` and two hexadecimal
// digits for each byte. That can be undone, so two session keys never share a route.
import { createHash } from "node:crypto";

const ALLOWED = /[A-Za-z0-9._:/@+-]/;
const MOST = 512;

export function routeKeyOf(sessionKey) {
  if (typeof sessionKey !== "string" || sessionKey.trim() === "") return undefined;
  let key = "";
  for (const character of sessionKey) {
    key += ALLOWED.test(character) ? character : hex(character);
  }
  if (key.length <= MOST) return key;
  const digest = createHash("sha256").update(sessionKey).digest("hex");
  return `${key.slice(0, MOST - digest.length - 2)}##${digest}`;
}

function hex(character) {
  const bytes = [...Buffer.from(character, "utf8")];
  return bytes.map((byte) => `#${byte.toString(16).padStart(2, "0")}`).join("");
}

// The kind of run, and the session key of its route.
//
// OpenClaw rolls the session under a key that ends in `:heartbeat` for each isolated tick, and appends
// `:run:<session id>` to the key of a job for each isolated run of it. Nothing else is taken apart.
export function kindOf(sessionKey, sessionId) {
  if (sessionKey.endsWith(":heartbeat")) return { kind: "tick", routeOf: sessionKey };
  const suffix = `:run:${sessionId}`;
  if (sessionKey.includes(":cron:") && sessionKey.endsWith(suffix)) {
    return { kind: "cron-run", routeOf: sessionKey.slice(0, -suffix.length) };
  }
  return { kind: "shared", routeOf: sessionKey };
}
