// OpenClaw's own transcript, read page by page. Inside a run it ends before the turn that was just begun.

const PAGE = 1000;
const BYTES = 8 * 1024 * 1024;
const PAGES_MOST = 1000;

export class Transcript {
  constructor(read) {
    this.read = read;
    this.known = new Map();   // session id -> { cursor, count }: where the last reading stopped
  }

  // How many messages there are. Nothing if it cannot be read now.
  async count(target) {
    let { cursor, count } = this.known.get(target.sessionId) ?? { count: 0 };
    for await (const page of this.pages(target, cursor)) {
      if (page.restart) count = 0;
      count += page.entries.length;
      cursor = page.cursor;
    }
    this.known.set(target.sessionId, { cursor, count });
    return count;
  }

  // The messages of a range of positions, from 0, both ends included.
  async range(target, first, last) {
    const found = [];
    let position = 0;
    for await (const page of this.pages(target)) {
      if (page.restart) throw new Error("the transcript changed while it was read");
      for (const entry of page.entries) {
        if (position >= first && position <= last) found.push({ position, ...entry });
        position += 1;
      }
      if (position > last) break;
    }
    return found;
  }

  // The position of an entry; nothing if it is not there.
  async positionOf(target, entryId) {
    let position = 0;
    for await (const page of this.pages(target)) {
      for (const entry of page.entries) {
        if (entry.entryId === entryId) return position;
        position += 1;
      }
    }
    return undefined;
  }

  async *pages(target, from) {
    let cursor = from, restart = false;
    for (let number = 0; number < PAGES_MOST; number += 1) {
      const page = await this.page(target, cursor);
      if (page === undefined) return;
      if (page.kind === "reset") {
        if (cursor === undefined) throw new Error(`the transcript cannot be read: ${page.reason}`);
        cursor = undefined;
        restart = true;
        continue;
      }
      if (page.kind === "missing") return;
      if (page.kind !== "page") throw new Error(`the transcript cannot be read: ${page.reason ?? page.kind}`);
      if (page.requiredBytes !== undefined && page.entries.length === 0) {
        throw new Error(`a message of the transcript has ${page.requiredBytes} bytes`);
      }
      yield { entries: page.entries, cursor: page.cursor, restart };
      restart = false;
      cursor = page.cursor;
      if (!page.hasMore) return;
    }
  }

  async page(target, cursor) {
    const ask = { ...target, maxMessages: PAGE, maxBytes: BYTES, ...(cursor === undefined ? {} : { cursor }) };
    try {
      return await this.read(ask);
    } catch (error) {
      // What was read last belongs to the turn that is tried again.
      if (cursor === undefined) throw error;
      return { kind: "reset", reason: error.message };
    }
  }

  // A session that is over.
  forget(sessionId) {
    this.known.delete(sessionId);
  }
}
