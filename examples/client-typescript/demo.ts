// A session from its creation to its end; tells what came of it in one JSON object.

import { argv, env, stdout } from "node:process";

import { type Event, Gateway, type Json, type Receipt, Refused, type Sealed, type Session } from "./siglum-client.js";

const TURNS = 3;

async function first(session: Session, after: number, count: number): Promise<string[]> {
  const found: Sealed[] = [];
  for await (const sealed of session.stream(after)) {
    if (found.push(sealed) === count) break;
  }
  return found.map((sealed) => sealed.receipt.digest);
}

const gateway = new Gateway(env["SIGLUM_GATEWAY"] ?? "", env["SIGLUM_GATEWAY_TOKEN"] ?? "");
const refusals: Json[] = [];
const refused = async (work: Promise<unknown>): Promise<void> => {
  await work.catch((error: unknown) => {
    if (!(error instanceof Refused)) throw error;
    const { status, code, field = null, detail } = error;
    refusals.push({ status, code, field, detail });
  });
};

const wrong = { issue_number: true as unknown as number };
await refused(gateway.create({ agent: "house", links: wrong }));
const session = await gateway.create({
  agent: "house",
  conversation_id: argv[2] ?? "demo",
  links: { issue_number: 42, pipeline_id: "nightly", agent_role: "coder", labels: { team: "parts" } },
  repositories: ["example/parts"],
});
await session.lease("demo");
const receipts: Receipt[] = [];
let events: Event[] = [];
for (let number = 1; number <= TURNS; number += 1) {
  events = [
    { type: "prompt", key: `${number}.prompt`, text: `Please sort list ${number}.` },
    { type: "tool_call", call: `${number}.call`, tool: "Bash", class: "shell", input: "make test" },
    { type: "tool_result", call: `${number}.call`, tool: "Bash", class: "shell", output: "ok" },
    { type: "message", key: `${number}.answer`, text: `List ${number} is sorted ✓.` },
  ];
  receipts.push(await session.commit(`turn-${number}`, events));
  await session.keepAlive();
}
// The same key with the same events is the same turn; with others it is refused.
const again = await session.commit(`turn-${TURNS}`, events);
await refused(session.commit(`turn-${TURNS}`, events.slice(0, 1)));
const entries: string[] = [];
for await (const entry of session.events()) entries.push(entry.key);
const streamed = await first(session, 0, TURNS);
const resumed = await first(session, 1, TURNS - 1);
await session.end();
const digests = receipts.map((receipt) => receipt.digest);
stdout.write(
  JSON.stringify({
    session: session.id,
    receipts: digests,
    again: again.digest,
    refusals,
    entries,
    streamed,
    resumed,
    shown: await session.show(),
  }),
);
