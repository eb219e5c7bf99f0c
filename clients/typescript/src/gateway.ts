// A gateway: its operations, and what takes more than one request.

import { Drive, type DriveSettings } from "./drive.js";
import type { ServerSentEvent } from "./events.js";
import { Operations } from "./operations.js";
import { Unreachable } from "./problem.js";
import type { RunEvent, SealedPosition, SendMessages } from "./schema.js";
import { type CallOptions, type EventStream, freshKey, LONG, Patience } from "./transport.js";

/** A gateway. Each operation of the API is a method; `iter…` goes through all pages of a list. */
export class Gateway extends Operations {
  /** The same gateway with another token, such as that of a session. */
  withToken(token: string): Gateway {
    return new Gateway({ ...this.settings, token });
  }

  /** Acquires the lease of a session. */
  drive(session: string, settings: DriveSettings): Promise<Drive> {
    return Drive.acquire(this, session, settings);
  }

  /**
   * Each receipt of a session with its entries, as it is sealed, after the receipt of this number. Does not end by itself.
   * When its connection breaks, it goes on where it was: nothing is left out and nothing comes twice.
   */
  async *streamEvents(session: string, after = 0, options: CallOptions = {}): AsyncGenerator<SealedPosition, void, undefined> {
    const patience = new Patience(this.settings.patience, options.signal);
    const path = `/v1/sessions/${encodeURIComponent(session)}/stream`;
    for (;;) {
      let failure: Parameters<Patience["wait"]>[0] = new Unreachable(`GET ${path}: the stream ended`);
      let stream: EventStream | undefined;
      try {
        stream = await this.stream({ method: "GET", path, headers: { "last-event-id": `${after}` } }, options);
        for await (const event of stream?.events ?? []) {
          const sealed = JSON.parse(event.data) as SealedPosition;
          after = sealed.receipt.number;
          yield sealed;
          patience.renew();
        }
      } catch (error) {
        failure = this.streamFailure(error, `GET ${path}`, options);
      }
      if (stream?.lived) patience.renew();
      await patience.wait(failure);
    }
  }

  /**
   * Sends messages to an agent, and gives the events of its run, to the last one, `finished`. `session` is the id of a
   * session or a conversation, in place of `conversation_id` in the body. When the connection breaks, the stream goes on
   * where it was; the messages are executed once.
   */
  async *streamRun(
    body: SendMessages,
    { session, ...options }: CallOptions & { session?: string } = {},
  ): AsyncGenerator<RunEvent, void, undefined> {
    const path = session === undefined ? "/v1/messages" : `/v1/sessions/${encodeURIComponent(session)}/messages`;
    const key = options.idempotencyKey ?? body.turn_key ?? freshKey();
    const call = { method: "POST", path, query: { format: "events" }, body, slow: true, headers: { "idempotency-key": key } };
    yield* this.#run(`POST ${path}`, options, async (position) => {
      const resumed = position.session === undefined ? undefined : await this.#resumed(position.session, position, options);
      if (resumed !== undefined) return resumed;
      // At first, and when the run has ended in the meantime: the same key leads to what came of it.
      position.isReplayed = position.session !== undefined;
      return this.stream(call, options);
    });
  }

  /**
   * The events of the active run of a session, from its start to its end; none if no run is active. `listMessages` has what
   * was said in runs that ended. If the connection breaks and the run ends before there is another one, it throws
   * `Unreachable`, because its last events are missing.
   */
  async *followRun(session: string, options: CallOptions = {}): AsyncGenerator<RunEvent, void, undefined> {
    yield* this.#run(`the run of ${session}`, options, (position) => this.#resumed(session, position, options));
  }

  /** Reads streams until the end of a run, or until there is none. */
  async *#run(
    what: string,
    options: CallOptions,
    open: (position: Position) => Promise<EventStream | undefined>,
  ): AsyncGenerator<RunEvent, void, undefined> {
    const position = new Position();
    const patience = new Patience(this.settings.patience, options.signal);
    for (;;) {
      let failure: Parameters<Patience["wait"]>[0] = new Unreachable(`${what}: the stream ended`);
      let stream: EventStream | undefined;
      const began = Date.now();
      try {
        stream = await open(position);
      } catch (error) {
        failure = this.streamFailure(error, what, options);
        if (Date.now() - began >= LONG) patience.renew();
        await patience.wait(failure);
        continue;
      }
      if (stream === undefined) {
        if (position.trace === undefined) return;
        throw new Unreachable(`${what} ended while the connection was broken; listMessages has what was said`);
      }
      try {
        for await (const event of stream.events) {
          const runEvent = position.read(event);
          if (runEvent !== undefined) yield runEvent;
          if (position.isAtEnd) return;
          patience.renew();
        }
      } catch (error) {
        failure = this.streamFailure(error, what, options);
      }
      if (stream.lived) patience.renew();
      await patience.wait(failure);
    }
  }

  /** The stream of the active run, after what was read of it; nothing if none or another one is active. */
  async #resumed(session: string, position: Position, options: CallOptions): Promise<EventStream | undefined> {
    const path = `/v1/sessions/${encodeURIComponent(session)}/messages/stream`;
    const last = position.last === 0 ? undefined : `${position.last}`;
    const stream = await this.stream({ method: "GET", path, headers: { "last-event-id": last } }, options);
    if (stream === undefined || position.trace === undefined || stream.trace === position.trace) return stream;
    stream.close();
    return undefined;
  }
}

/** How far a run was read. */
class Position {
  last = 0;
  session: string | undefined;
  trace: string | undefined;
  isAtEnd = false;
  /**
   * Whether the run is told from its beginning again. If it is over, it is told in fewer pieces with numbers of their own;
   * its end has the whole answer.
   */
  isReplayed = false;

  /** The event, unless it was read before. */
  read({ data, id }: ServerSentEvent): RunEvent | undefined {
    const event = JSON.parse(data) as RunEvent;
    if (event.type === "started") {
      this.isReplayed &&= event.run.trace_id === this.trace;
      [this.session, this.trace] = [event.run.session, event.run.trace_id];
    }
    this.isAtEnd = event.type === "finished";
    const number = id === undefined ? undefined : Number(id);
    if (this.isReplayed && !this.isAtEnd && (number === undefined || number <= this.last)) return undefined;
    this.last = number ?? this.last;
    return event;
  }
}
