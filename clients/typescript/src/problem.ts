// What is thrown when a gateway refuses a request, or does not answer.

import type { ProblemCode } from "./codes.js";

/** A gateway refused a request. */
export class ProblemError extends Error {
  override readonly name = "ProblemError";
  readonly status: number;
  /** Stable, for programs; empty if a proxy answered. */
  readonly code: ProblemCode | (string & {});
  readonly title: string;
  /** What went wrong, and what to do. */
  readonly detail: string;
  /** The path of the invalid field of the request. */
  readonly field: string | undefined;
  /** Of a write: `not-committed`, or `unknown`, in which case only a repetition with the same key can tell. */
  readonly fate: string | undefined;
  readonly requestId: string;
  /** After how many milliseconds to try again. */
  readonly retryAfter: number;

  constructor(status: number, problem: { readonly [name: string]: unknown }, requestId: string, retryAfter = 0) {
    const text = (name: string) => (typeof problem[name] === "string" ? (problem[name] as string) : undefined);
    const [code, title, detail] = [text("code") ?? "", text("title") ?? `HTTP status ${status}`, text("detail") ?? ""];
    const id = text("request_id") ?? requestId;
    super(`${code || status}: ${detail || title} (request ${id})`);
    [this.status, this.code, this.title, this.detail] = [status, code, title, detail];
    [this.field, this.fate, this.requestId, this.retryAfter] = [text("field"), text("fate"), id, retryAfter];
  }

  /** Whether the request may be sent again, or, for one that is sent `once`, whether nothing was done yet. */
  mayRepeat(once: boolean): boolean {
    // A proxy answered.
    if (this.code === "") return this.status === 429 || (!once && [502, 503, 504].includes(this.status));
    if (["busy", "rate-limited", "stopping", "store"].includes(this.code)) return [429, 503].includes(this.status);
    return !once && ["unknown", "too-slow"].includes(this.code);
  }
}

/**
 * No answer came, however often it was tried. Whether the request was carried out is unknown: repeat a call that has a
 * key with the same key.
 */
export class Unreachable extends Error {
  override readonly name = "Unreachable";
  /** Of the last try. */
  readonly requestId: string | undefined;

  constructor(what: string, requestId?: string, cause?: unknown) {
    super(requestId === undefined ? what : `${what} (request ${requestId})`, { cause });
    this.requestId = requestId;
  }
}

/** The error of a response. */
export async function problemOf(response: Response, requestId: string): Promise<ProblemError> {
  const body: unknown = await response.json().catch(() => undefined);
  const problem = typeof body === "object" && body !== null ? (body as { [name: string]: unknown }) : {};
  // A proxy may name a date.
  const seconds = Number(response.headers.get("retry-after") ?? 0) || 0;
  return new ProblemError(response.status, problem, response.headers.get("x-request-id") ?? requestId, 1_000 * seconds);
}
