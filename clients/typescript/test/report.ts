// A session from its creation to its end, and what came of it in one JSON object: for a test that loses answers on the way,
// and compares it with what the program shows.

import { argv, stdout } from "node:process";

import { Gateway, ProblemError, type Receipt, type TurnEvent } from "@siglum/client";

const TURNS = 3;

const gateway = new Gateway();
const refusals: object[] = [];
const refused = async (work: Promise<unknown>): Promise<void> => {
  await work.catch((error: unknown) => {
    if (!(error instanceof ProblemError)) throw error;
    const { status, code, field = null, detail } = error;
    refusals.push({ status, code, field, detail });
  });
};

await refused(gateway.createSession({ agent: "house", links: { issue_number: true as unknown as number } }));
const created = await gateway.createSession({
  agent: "house",
  conversation_id: argv[2] ?? "report",
  links: { issue_number: 42, pipeline_id: "nightly", agent_role: "coder", labels: { team: "parts" } },
  repositories: ["example/parts"],
});
const session = created.session.id;
const own = gateway.withToken(created.token.secret);

async function streamed(after: number, count: number): Promise<string[]> {
  const found: string[] = [];
  for await (const sealed of own.streamEvents(session, after)) {
    if (found.push(sealed.receipt.digest) === count) break;
  }
  return found;
}

const drive = await own.drive(session, { holder: "report" });
const receipts: Receipt[] = [];
let events: TurnEvent[] = [];
for (let number = 1; number <= TURNS; number += 1) {
  events = [
    { type: "prompt", key: `${number}.prompt`, text: `Please sort list ${number}.` },
    { type: "tool_call", call: `${number}.call`, tool: "Bash", class: "shell", input: "make test" },
    { type: "tool_result", call: `${number}.call`, tool: "Bash", class: "shell", output: "ok" },
    { type: "message", key: `${number}.answer`, text: `List ${number} is sorted ✓.` },
  ];
  receipts.push(await drive.commit(`turn-${number}`, events));
  await own.keepSessionAlive(session);
}
// The same key with the same events is the same turn; with others it is refused.
const again = await drive.commit(`turn-${TURNS}`, events);
await refused(drive.commit(`turn-${TURNS}`, events.slice(0, 1)));
await drive.release();
const entries: string[] = [];
for await (const entry of own.iterEvents(session, { limit: 5 })) entries.push(entry.key);
const report = {
  session,
  receipts: receipts.map((receipt) => receipt.digest),
  again: again.digest,
  refusals,
  entries,
  streamed: await streamed(0, TURNS),
  resumed: await streamed(1, TURNS - 1),
};
await own.endSession(session, { outcome: "completed" });
stdout.write(JSON.stringify({ ...report, shown: await own.getSession(session) }));
