// Driving a session: one driver at a time, turn after turn, as the crate `siglum-store` does it.

import type { Operations } from "./operations.js";
import { ProblemError } from "./problem.js";
import type { Lease, Receipt, TurnEvent, TurnEvents } from "./schema.js";
import { freshKey } from "./transport.js";

/** Who drives, and for how long. */
export interface DriveSettings {
  /** The name of the driver that others see, such as a host or a program. */
  holder: string;
  /** How long the lease lasts from each renewal, in milliseconds. Default: 60 seconds. */
  term?: number;
}

/**
 * The right to write to a session. It is renewed in the background, until it is released or its process ends. A turn that
 * is open when it is released is treated as that of a driver that died.
 */
export class Drive {
  readonly session: string;
  /** How the turn that the driver before left open was settled. */
  readonly recovered: Lease["recovered"];
  /** The key of a turn that has a prompt and no answer: open it to answer, or to abort it. */
  readonly openTurn: string | undefined;
  readonly #gateway: Operations;
  readonly #epoch: number;
  readonly #term: number;
  readonly #renewer: ReturnType<typeof setInterval>;
  #head: number;

  private constructor(gateway: Operations, session: string, lease: Lease, term: number) {
    [this.#gateway, this.session, this.#epoch, this.#head, this.#term] = [gateway, session, lease.epoch, lease.head, term];
    [this.recovered, this.openTurn] = [lease.recovered, lease.open ?? undefined];
    this.#renewer = setInterval(() => void this.#renewInTime(), term / 3);
    // It keeps no process alive.
    (this.#renewer as { unref?: () => void }).unref?.();
  }

  /** Acquires the lease of a session. */
  static async acquire(gateway: Operations, session: string, { holder, term = 60_000 }: DriveSettings): Promise<Drive> {
    const lease = await gateway.acquireLease(session, { holder, nonce: freshKey(), term_ms: term });
    return new Drive(gateway, session, lease, term);
  }

  /** Opens a turn, or continues the open turn of this key. If it was committed before, its `receipt` says so. */
  async open(key: string): Promise<Turn> {
    const { receipt } = await this.#gateway.openTurn(this.session, key, this.#body([]));
    if (receipt) this.#head = Math.max(this.#head, receipt.last);
    return new Turn(this, key, receipt ?? undefined);
  }

  /** Appends events to the open turn. */
  async append(key: string, events: TurnEvent[]): Promise<void> {
    await this.#gateway.appendToTurn(this.session, key, this.#body(events));
  }

  /**
   * Commits a turn: what was appended to it, and these events. The same key with the same events is one turn, however
   * often it is committed.
   */
  async commit(key: string, events: TurnEvent[]): Promise<Receipt> {
    const { receipt } = await this.#gateway.commitTurn(this.session, key, this.#body(events));
    this.#head = Math.max(this.#head, receipt.last);
    return receipt;
  }

  /** Drops the open turn, with all that was appended. */
  async abort(key: string): Promise<void> {
    await this.#gateway.abortTurn(this.session, key, { epoch: this.#epoch });
  }

  /** Renews the lease now. Throws a problem with the code `fenced` if another driver has it. */
  async renew(): Promise<void> {
    await this.#gateway.renewLease(this.session, { epoch: this.#epoch, term_ms: this.#term });
  }

  /** Gives the lease back. One that cannot be given back runs out. */
  async release(): Promise<void> {
    clearInterval(this.#renewer);
    await this.#gateway.releaseLease(this.session, { epoch: this.#epoch }).catch(() => undefined);
  }

  async #renewInTime(): Promise<void> {
    try {
      await this.renew();
    } catch (error) {
      // What may pass is tried again. Of anything else, the next call of the driver is told, too.
      if (error instanceof ProblemError && !error.mayRepeat(false)) clearInterval(this.#renewer);
    }
  }

  #body(events: TurnEvent[]): TurnEvents {
    return { epoch: this.#epoch, expected_head: this.#head, events };
  }
}

/** A turn. What is appended to it survives the death of this process, and nobody sees it before it is committed. */
export class Turn {
  readonly key: string;
  readonly #drive: Drive;
  #receipt: Receipt | undefined;

  constructor(drive: Drive, key: string, receipt: Receipt | undefined) {
    [this.#drive, this.key, this.#receipt] = [drive, key, receipt];
  }

  /** Of a turn that is committed. */
  get receipt(): Receipt | undefined {
    return this.#receipt;
  }

  /** Appends events. Append a call before its tool runs: if this process dies during the call, the next driver knows of it. */
  append(...events: TurnEvent[]): Promise<void> {
    return this.#drive.append(this.key, events);
  }

  /** Commits it, with these events at its end. */
  async commit(...events: TurnEvent[]): Promise<Receipt> {
    this.#receipt = await this.#drive.commit(this.key, events);
    return this.#receipt;
  }

  /** Drops it, with all that was appended. */
  abort(): Promise<void> {
    return this.#drive.abort(this.key);
  }
}
