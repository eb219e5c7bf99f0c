// A client of Siglum's gateway in one module, with what Node 20 has alone.
//
// What is sent can be sent again: a session is created under an idempotency key, a turn is committed under a key of the
// driver's. So an answer that was lost is asked for again until it comes, and what was asked for is done once.

export type Json = { [name: string]: unknown };

export type Event =
  | { type: "prompt"; key: string; text: string; synthetic?: boolean }
  | { type: "message"; key: string; text: string; model?: string; subagent?: string }
  | { type: "tool_call"; call: string; tool: string; input: string; class?: ToolClass; subagent?: string }
  | { type: "tool_result"; call: string; tool: string; output: string; class?: ToolClass; outcome?: Outcome }
  | { type: "stop"; key: string; last_message?: string }
  | { type: "compaction"; key: string; summary: string }
  | { type: "other"; key: string; name: string };
export type ToolClass = "edit" | "shell" | "agent" | "other";
export type Outcome = "ok" | "failed" | "denied";

export interface Links {
  issue_number?: number;
  pr_number?: number;
  pipeline_id?: string;
  agent_role?: string;
  phase?: string;
  labels?: { [key: string]: string };
}

export interface NewSession {
  agent: string;
  conversation_id?: string;
  links?: Links;
  repositories?: string[];
}

export interface Receipt {
  session: string;
  number: number;
  first: number;
  last: number;
  turns: string[];
  previous: string;
  digest: string;
  at: string;
}

export interface Entry extends Json {
  sequence: number;
  key: string;
}

export interface Sealed {
  receipt: Receipt;
  entries: Entry[];
}

/** How the work of a session ended. */
export type End =
  | { outcome: "completed" }
  | { outcome: "failed"; code: number }
  | { outcome: "signalled"; signal: number }
  | { outcome: "lost" };

/** The gateway refused a request: the code says why, and the field which part of it is wrong. */
export class Refused extends Error {
  readonly status: number;
  readonly code: string;
  readonly field: string | undefined;
  readonly detail: string;

  constructor(status: number, problem: Json) {
    const text = (name: string) => (typeof problem[name] === "string" ? (problem[name] as string) : undefined);
    const [code, field, detail] = [text("code") ?? "unknown", text("field"), text("detail") ?? ""];
    super(`${code}${field === undefined ? "" : ` (${field})`}: ${detail}`);
    [this.status, this.code, this.field, this.detail] = [status, code, field, detail];
  }
}

/** No answer came in time. Whether the last request was done is not known: ask again with the same key. */
export class Unreachable extends Error {}

const pause = (milliseconds: number) => new Promise<void>((done) => setTimeout(done, milliseconds));

/** One gateway, and the token to ask it with. */
export class Gateway {
  readonly #url: string;
  readonly #token: string;
  readonly #patience: number;

  constructor(url: string, token: string, patience = 60_000) {
    [this.#url, this.#token, this.#patience] = [url.replace(/\/+$/, ""), token, patience];
  }

  /** Creates a session, or finds the one of this agent and conversation. */
  async create(wanted: NewSession): Promise<Session> {
    const key = { "idempotency-key": crypto.randomUUID() };
    type Created = { session: { id: string }; token: { secret: string } };
    const created = await this.ask<Created>("POST", "/v1/sessions", wanted, key);
    return new Session(new Gateway(this.#url, created.token.secret, this.#patience), created.session.id);
  }

  /** Asks until there is an answer: again after a lost connection, and where the gateway cannot serve just now. */
  async ask<T>(method: string, path: string, body?: object, headers: Record<string, string> = {}): Promise<T> {
    const deadline = Date.now() + this.#patience;
    for (let wait = 50; ; wait = Math.min(2 * wait, 2_000)) {
      let why = "it cannot serve";
      try {
        const response = await this.open(method, path, body, headers);
        const answer = (await response.json()) as Json;
        if (response.ok) return answer as T;
        if (response.status !== 429 && response.status !== 503) throw new Refused(response.status, answer);
        wait = Math.max(wait, 1_000 * Number(response.headers.get("retry-after") ?? 0));
      } catch (error) {
        if (error instanceof Refused) throw error;
        why = String(error);
      }
      if (Date.now() + wait > deadline) throw new Unreachable(`${method} ${path}: ${why}`);
      await pause(wait);
    }
  }

  /** Asks once. */
  open(method: string, path: string, body?: object, headers: Record<string, string> = {}): Promise<Response> {
    const all = { authorization: `Bearer ${this.#token}`, "content-type": "application/json", ...headers };
    return fetch(this.#url + path, { method, headers: all, body: body === undefined ? null : JSON.stringify(body) });
  }
}

/** One session, which acts with a token of its own. */
export class Session {
  readonly #gateway: Gateway;
  readonly id: string;
  readonly #path: string;
  readonly #nonce = crypto.randomUUID();
  #epoch = 0;
  #head = 0;

  constructor(gateway: Gateway, id: string) {
    [this.#gateway, this.id, this.#path] = [gateway, id, `/v1/sessions/${id}`];
  }

  /** Takes the right to write. Renew it with `lease` again, well before it runs out. */
  async lease(holder: string, seconds = 60): Promise<void> {
    const wanted = { holder, nonce: this.#nonce, term_ms: Math.round(seconds * 1_000) };
    type Lease = { epoch: number; head: number };
    const lease = await this.#gateway.ask<Lease>("POST", `${this.#path}/lease`, wanted);
    [this.#epoch, this.#head] = [lease.epoch, lease.head];
  }

  /** Commits a turn, and gives its receipt. The same key with the same events is one turn, however often. */
  async commit(key: string, events: Event[]): Promise<Receipt> {
    const said = { epoch: this.#epoch, expected_head: this.#head, events };
    const path = `${this.#path}/turns/${encodeURIComponent(key)}`;
    const { receipt } = await this.#gateway.ask<{ receipt: Receipt }>("PUT", path, said);
    this.#head = Math.max(this.#head, receipt.last);
    return receipt;
  }

  /** Says that the session lives. */
  keepAlive(): Promise<Json> {
    return this.#gateway.ask("POST", `${this.#path}/keep-alive`);
  }

  /** The session as the gateway has it. */
  show(): Promise<Json> {
    return this.#gateway.ask("GET", this.#path);
  }

  /** What is in its log behind a sequence, page by page. */
  async *events(after = 0): AsyncGenerator<Entry> {
    for (let cursor: string | undefined = String(after); cursor !== undefined; ) {
      const page: { items: Entry[]; next?: string } = await this.#gateway.ask("GET", `${this.#path}/events?cursor=${cursor}`);
      yield* page.items;
      cursor = page.next;
    }
  }

  /**
   * Each receipt with its entries, as it is sealed, behind the receipt of this number; does not end by itself. A stream
   * that breaks goes on where it was: nothing is left out and nothing comes twice.
   */
  async *stream(after = 0): AsyncGenerator<Sealed> {
    for (;; await pause(200)) {
      let response: Response;
      try {
        response = await this.#gateway.open("GET", `${this.#path}/stream`, undefined, { "last-event-id": `${after}` });
      } catch {
        continue;
      }
      if (response.status === 429 || response.status === 503) continue;
      if (!response.ok || response.body === null) throw new Refused(response.status, (await response.json()) as Json);
      for await (const sealed of sealedIn(response.body)) {
        after = sealed.receipt.number;
        yield sealed;
      }
    }
  }

  /** Ends the session. */
  end(end: End = { outcome: "completed" }): Promise<Json> {
    return this.#gateway.ask("POST", `${this.#path}/end`, end);
  }
}

/** The events of a stream, until it ends or breaks. */
async function* sealedIn(body: ReadableStream<Uint8Array>): AsyncGenerator<Sealed> {
  const [reader, decoder] = [body.getReader(), new TextDecoder()];
  let text = "";
  try {
    for (;;) {
      const part = await reader.read().catch(() => ({ done: true as const, value: undefined }));
      if (part.done) return;
      text += decoder.decode(part.value, { stream: true });
      const events = text.split("\n\n");
      text = events.pop() ?? "";
      for (const event of events) {
        const lines = event.split("\n").filter((line) => line.startsWith("data:"));
        if (lines.length > 0) yield JSON.parse(lines.map((line) => line.slice(5)).join("\n")) as Sealed;
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
