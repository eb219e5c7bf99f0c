// Settings: where the ledger is, and the token. Checked once, when the plug-in is loaded.
import { readFileSync, statSync } from "node:fs";

const LOOPBACK = new Set(["127.0.0.1", "localhost", "[::1]"]);

export function settingsOf(config, env) {
  const url = new URL(config.url ?? env.SIGLUM_URL ?? "http://127.0.0.1:7477");
  const isLoopback = LOOPBACK.has(url.hostname);
  if (url.protocol !== "https:" && !(url.protocol === "http:" && isLoopback)) {
    throw new Error(`siglum: ${url.origin} is neither loopback nor https; nothing is sent there`);
  }
  return {
    url: url.href.replace(/\/+$/, ""),
    token: () => tokenOf(config, env),
    timeoutMs: config.timeoutMs ?? 5000,
    retryMs: config.retryMs ?? 5000,
  };
}

// Read for every request, so that a token that was rotated is found.
function tokenOf(config, env) {
  const file = config.tokenFile ?? (env.SIGLUM_TOKEN ? undefined : env.SIGLUM_TOKEN_FILE);
  if (file === undefined) {
    if (!env.SIGLUM_TOKEN) throw new Error("no token: set SIGLUM_TOKEN, SIGLUM_TOKEN_FILE or tokenFile");
    return env.SIGLUM_TOKEN;
  }
  if (statSync(file).mode & 0o077) throw new Error(`${file} can be read by others; make it 0600`);
  return readFileSync(file, "utf8").trim();
}
