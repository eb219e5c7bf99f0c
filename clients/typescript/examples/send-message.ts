// Sends a message to an agent, and shows its answer as it is written.
//
//     node send-message.ts CONVERSATION 'What does this repository do?'
//
// Node runs TypeScript from 22.18 on. The gateway must run agents: siglum serve --run claude-code --workdir ~/projects

import { argv, exit, stdin, stdout } from "node:process";
import { createInterface } from "node:readline/promises";

import { Gateway } from "@siglum/client";

const [conversation = "example", content = "What is in this directory?"] = argv.slice(2);
const gateway = new Gateway();
const message = { agent: "claude-code", messages: [{ role: "user" as const, content }], resume: true };

async function approve(title: string): Promise<boolean> {
  // Where nobody can be asked, nothing is allowed.
  if (!stdin.isTTY) return false;
  const terminal = createInterface({ input: stdin, output: stdout });
  const reply = await terminal.question(`\n${title}? [y/N] `);
  terminal.close();
  return reply.toLowerCase() === "y";
}

for await (const event of gateway.streamRun(message, { session: conversation })) {
  switch (event.type) {
    case "text":
      stdout.write(event.delta);
      break;
    case "tool_call":
      stdout.write(`\n[${event.title}]\n`);
      break;
    case "interaction":
      await gateway.answerInteraction(conversation, event.id, { approved: await approve(event.title) });
      break;
    case "finished":
      stdout.write(`\n${event.end.status}, ${event.end.usage.tokens.output} tokens\n`);
      exit(event.end.status === "done" ? 0 : 1);
  }
}
