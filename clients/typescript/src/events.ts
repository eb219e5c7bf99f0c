// Server-sent events, out of the body of a response.

/** One event of a stream. */
export interface ServerSentEvent {
  readonly data: string;
  /** Absent where a stream cannot be resumed after it. */
  readonly id: string | undefined;
}

/** The events of a body, until it ends. One that is cut off is left out: it comes again. */
export async function* serverSentEvents(body: AsyncIterable<Uint8Array>): AsyncGenerator<ServerSentEvent, void, undefined> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const part of body) {
    text += decoder.decode(part, { stream: true });
    const blocks = text.split(/\r?\n\r?\n/);
    text = blocks.pop() ?? "";
    for (const block of blocks) {
      const event = eventOf(block);
      if (event !== undefined) yield event;
    }
  }
}

function eventOf(block: string): ServerSentEvent | undefined {
  const fields = block.split(/\r?\n/).map((line) => /^(\w+): ?(.*)$/.exec(line));
  const all = (name: string) => fields.flatMap((field) => (field?.[1] === name ? [field[2] ?? ""] : []));
  const data = all("data");
  return data.length === 0 ? undefined : { data: data.join("\n"), id: all("id").at(-1) };
}
