// Requests: sent, and repeated where that is safe.

import { type ServerSentEvent, serverSentEvents } from "./events.js";
import { ProblemError, problemOf, Unreachable } from "./problem.js";

/** An object of JSON whose form the API does not fix. */
export type JsonObject = { [name: string]: unknown };

/** Which gateway, and how patiently. */
export interface Settings {
  /** Default: the variable `SIGLUM_GATEWAY`. */
  address?: string;
  /** Default: the variable `SIGLUM_GATEWAY_TOKEN`. */
  token?: string;
  /** How long one try may take, in milliseconds. Default: 30 seconds. */
  timeout?: number;
  /** How long a request is tried again, in milliseconds. Default: 60 seconds. */
  patience?: number;
  /** Whether the token may be sent over plain HTTP to other machines. */
  allowPlain?: boolean;
  /** Default: that of the platform. */
  fetch?: typeof fetch;
}

/** What one call can have. */
export interface CallOptions {
  signal?: AbortSignal;
  /** A key of your own, for operations that take one: the same key on each retry. Default: a new one for each call. */
  idempotencyKey?: string;
  /** The W3C trace context of the caller. */
  traceparent?: string;
}

/** A request as an operation describes it. */
export interface Call {
  readonly method: string;
  readonly path: string;
  readonly query?: object;
  readonly body?: unknown;
  readonly headers?: { readonly [name: string]: string | undefined };
  /** Sent with an idempotency key. */
  readonly keyed?: boolean;
  /** Repeated only if nothing was done yet. */
  readonly once?: boolean;
  /** May take as long as it does. */
  readonly slow?: boolean;
  /** Answered by plain text. */
  readonly text?: boolean;
}

/** The events of one connection. */
export interface EventStream {
  readonly events: AsyncIterable<ServerSentEvent>;
  /** Of the run that it follows. */
  readonly trace: string | undefined;
  /** Whether it was there for longer than the longest pause: what ended it then is a new failure. */
  readonly lived: boolean;
  close(): void;
}

/** The first pause between two tries and the longest one. */
const PAUSES = [100, 5_000] as const;
/** A stream says every 15 seconds that it lives. */
const SILENT = 45_000;
/** A try that was under way for so long was answered by somebody: what ended it begins a new patience. */
export const LONG = 60_000;

/** How long it is tried again, and the pauses between tries. Begins anew with each success. */
export class Patience {
  readonly #span: number;
  readonly #signal: AbortSignal | undefined;
  #until = 0;
  #pause = 0;

  constructor(span: number, signal?: AbortSignal) {
    [this.#span, this.#signal] = [span, signal];
    this.renew();
  }

  renew(): void {
    [this.#until, this.#pause] = [Date.now() + this.#span, PAUSES[0]];
  }

  /** Waits until the next try, or throws the failure if there is no time for another one. */
  async wait(failure: ProblemError | Unreachable): Promise<void> {
    const least = failure instanceof ProblemError ? failure.retryAfter : 0;
    const pause = Math.max(least, this.#pause * (0.5 + Math.random() / 2));
    if (Date.now() + pause > this.#until) throw failure;
    await sleep(pause, this.#signal);
    this.#pause = Math.min(2 * this.#pause, PAUSES[1]);
  }
}

/** One gateway, and the token that is sent to it. */
export class Transport {
  protected readonly settings: Required<Settings>;

  constructor(settings: Settings = {}) {
    const env = (globalThis as { process?: { env: Record<string, string | undefined> } }).process?.env ?? {};
    const allowPlain = settings.allowPlain ?? false;
    const address = checkedAddress(settings.address ?? env["SIGLUM_GATEWAY"] ?? "", allowPlain);
    const token = settings.token ?? env["SIGLUM_GATEWAY_TOKEN"] ?? "";
    if (token === "") throw new TypeError("a gateway needs a token: pass it, or set SIGLUM_GATEWAY_TOKEN");
    // What cannot stand in a header would stand in an error.
    if (!/^[!-~]+$/.test(token)) {
      throw new TypeError("a token has printable characters without blanks; this one has others, such as the end of a line");
    }
    const { timeout = 30_000, patience = 60_000, fetch: own = globalThis.fetch } = settings;
    // The fetch of a browser works only as a method of its window.
    this.settings = { address, token, timeout, patience, allowPlain, fetch: (input, init) => own(input, init) };
  }

  /** Sends a request until it is answered. */
  protected async call<T>(call: Call, options: CallOptions): Promise<T> {
    const patience = new Patience(this.settings.patience, options.signal);
    const key = call.keyed ? (options.idempotencyKey ?? freshKey()) : undefined;
    const requestId = freshKey();
    const headers = { "idempotency-key": key, traceparent: options.traceparent, "x-request-id": requestId };
    for (;;) {
      const began = Date.now();
      try {
        const late = call.slow ? [] : [AbortSignal.timeout(this.settings.timeout)];
        const response = await this.#send({ ...call, headers }, anySignal([...late, options.signal]));
        if (!response.ok) throw await problemOf(response, requestId);
        if (response.status === 204) return undefined as T;
        return (await (call.text ? response.text() : response.json())) as T;
      } catch (error) {
        const failure = this.#failure(error, `${call.method} ${call.path}`, options.signal, call.once, requestId);
        // What became of it is unknown.
        if (call.once && failure instanceof Unreachable) throw failure;
        // Node ends each request after five minutes; the same key leads to what comes of it.
        if (call.slow && Date.now() - began >= LONG) patience.renew();
        await patience.wait(failure);
      }
    }
  }

  /**
   * The events of one connection, which end with it; nothing where there is nothing to follow. A `slow` one may begin as late
   * as it does: a message may wait for another run, and its agent has to start.
   */
  protected async stream(call: Call, options: CallOptions): Promise<EventStream | undefined> {
    const over = new AbortController();
    const requestId = freshKey();
    const headers = { accept: "text/event-stream", traceparent: options.traceparent, "x-request-id": requestId, ...call.headers };
    // It is silent only while somebody waits for it, and not while an event is handled.
    let silence: ReturnType<typeof setTimeout> | undefined;
    const heard = () => clearTimeout(silence);
    const listen = () => {
      heard();
      silence = setTimeout(() => over.abort(new Error("the stream is silent")), SILENT);
    };
    const close = () => {
      heard();
      over.abort();
    };
    if (!call.slow) listen();
    try {
      const response = await this.#send({ ...call, headers }, anySignal([over.signal, options.signal]));
      if (!response.ok) throw await problemOf(response, requestId);
      if (response.status === 204 || response.body === null) {
        close();
        return undefined;
      }
      heard();
      const began = Date.now();
      let last = began;
      const alive = () => {
        heard();
        last = Date.now();
      };
      const events = serverSentEvents(partsOf(response.body, listen, alive, close));
      const trace = response.headers.get("siglum-trace-id") ?? undefined;
      return { events, trace, close, get lived() { return last - began > PAUSES[1]; } };
    } catch (error) {
      close();
      throw error;
    }
  }

  /** What a stream fails with if it cannot go on in time. What is refused for good is thrown. */
  protected streamFailure(error: unknown, what: string, options: CallOptions): ProblemError | Unreachable {
    return this.#failure(error, what, options.signal);
  }

  #send(call: Call, signal: AbortSignal | null): Promise<Response> {
    const headers = new Headers({ authorization: `Bearer ${this.settings.token}` });
    for (const [name, value] of Object.entries(call.headers ?? {})) {
      if (value !== undefined) headers.set(name, value);
    }
    const { method, path } = call;
    // A redirect is an answer like any other: no other place is asked, and it is no lost connection.
    const init: RequestInit = { method, headers, signal, redirect: "manual" };
    if (call.body !== undefined) {
      headers.set("content-type", "application/json");
      init.body = JSON.stringify(call.body);
    }
    return this.settings.fetch(this.settings.address + path + queryText(call.query), init);
  }

  #failure(error: unknown, what: string, signal?: AbortSignal, once = false, requestId?: string): ProblemError | Unreachable {
    if (signal?.aborted) throw signal.reason;
    if (!(error instanceof ProblemError)) {
      const why = error instanceof Error ? ((error.cause as Error | undefined)?.message ?? error.message) : String(error);
      return new Unreachable(`${what}: ${why}`, requestId, error);
    }
    if (!error.mayRepeat(once)) throw error;
    return error;
  }
}

/** Goes through the items of a list, page after page. */
export async function* pages<T>(
  page: (cursor: string | undefined) => Promise<{ items: unknown[]; next?: string | null | undefined }>,
): AsyncGenerator<T, void, undefined> {
  let cursor: string | undefined;
  do {
    const { items, next } = await page(cursor);
    yield* items as T[];
    cursor = next ?? undefined;
  } while (cursor !== undefined);
}

/** A key for one request, under which it can be repeated. */
export function freshKey(): string {
  return crypto.randomUUID();
}

async function* partsOf(
  body: ReadableStream<Uint8Array>,
  listen: () => void,
  alive: () => void,
  close: () => void,
): AsyncGenerator<Uint8Array, void, undefined> {
  const reader = body.getReader();
  try {
    for (;;) {
      listen();
      const part = await reader.read();
      alive();
      if (part.done) return;
      yield part.value;
    }
  } finally {
    close();
    await reader.cancel().catch(() => undefined);
  }
}

function anySignal(signals: (AbortSignal | undefined)[]): AbortSignal | null {
  const given = signals.filter((signal) => signal !== undefined);
  return given.length === 0 ? null : AbortSignal.any(given);
}

function sleep(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const left = () => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", left);
      resolve();
    }, milliseconds);
    if (signal?.aborted) left();
    else signal?.addEventListener("abort", left, { once: true });
  });
}

function queryText(query: object = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
  const pairs = given.flatMap(([name, value]) => (Array.isArray(value) ? value : [value]).map((one) => [name, String(one)]));
  return pairs.length === 0 ? "" : `?${new URLSearchParams(pairs).toString()}`;
}

function checkedAddress(text: string, allowPlain: boolean): string {
  const address = URL.canParse(text) ? new URL(text) : undefined;
  const isPlain = address?.protocol === "http:";
  const isAddress = (isPlain || address?.protocol === "https:") && address.username === "" && address.search + address.hash === "";
  if (!isAddress) {
    throw new TypeError("the address of a gateway is http:// or https://, a host and perhaps a path; pass it, or set SIGLUM_GATEWAY");
  }
  const isLoopback = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(address.hostname);
  if (isPlain && !isLoopback && !allowPlain) {
    throw new TypeError("without encryption, a token is sent only to this machine; use https://, or set allowPlain");
  }
  return text.replace(/\/+$/, "");
}
