// Requests to the ledger. A ledger that does not answer is left alone for a while, so that a turn waits for it once.

// The ledger did not answer, or not as a ledger does.
export class Away extends Error {}

// The ledger answered that it will not: `code` and `status` say why, and a second try gets the same answer.
export class Refused extends Error {
  constructor(status, problem) {
    super(problem.detail ?? problem.title ?? `status ${status}`);
    this.status = status;
    this.code = problem.code ?? `status-${status}`;
    this.problem = problem;
  }
}

// What may be otherwise the next time: who may ask, time-outs, somebody else who drives, too many requests.
const PASSING = new Set([401, 403, 408, 423, 425, 429]);
const PASSING_CODES = new Set(["leased", "fenced", "stale", "held", "store", "unknown"]);

export class Client {
  constructor({ url, token, timeoutMs, retryMs, now = Date.now, fetch = globalThis.fetch }) {
    Object.assign(this, { url, token, timeoutMs, retryMs, now, fetch });
    this.awayUntil = 0;
  }

  post(path, body) {
    return this.send("POST", path, body);
  }

  get(path, query) {
    return this.send("GET", `${path}?${new URLSearchParams(query)}`);
  }

  async send(method, path, body) {
    if (this.now() < this.awayUntil) throw new Away("it did not answer a moment ago");
    let response, text;
    try {
      response = await this.fetch(`${this.url}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${this.token()}`,
          ...(body === undefined ? {} : { "content-type": "application/json" }),
        },
        body: body === undefined ? undefined : JSON.stringify(body),
        redirect: "error",
        signal: AbortSignal.timeout(this.timeoutMs),
      });
      text = await response.text();
    } catch (error) {
      throw this.away(error.cause?.message ?? error.message);
    }
    const answer = parsed(text);
    if (response.ok && answer !== undefined) return answer;
    if (response.status >= 500 || answer === undefined) throw this.away(`it answered ${response.status}`);
    const refused = new Refused(response.status, answer);
    if (PASSING.has(refused.status) || PASSING_CODES.has(refused.code)) {
      throw new Away(`it answered ${refused.status}: ${refused.message}`);
    }
    throw refused;
  }

  away(reason) {
    this.awayUntil = this.now() + this.retryMs;
    return new Away(reason);
  }
}

function parsed(text) {
  try {
    const value = text === "" ? {} : JSON.parse(text);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
