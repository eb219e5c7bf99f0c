//! The agents whose telemetry is known, one table and one file each.
//!
//! | agent | recognised by | native id on a record | on its resource | turn | usage from |
//! | --- | --- | --- | --- | --- | --- |
//! | `claude-code` | scope `com.anthropic.claude_code…`, service `claude-code` | `session.id` | `session.id` | `prompt.id` | log `api_request`, span `llm_request`: one event by request id |
//! | `codex` | scope `codex_…`, service `codex…` | `conversation.id`, `thread_id`, `thread.id` if it is a UUID | – | `turn.id` of one span | log `codex.sse_event` of a completed response |
//! | `gemini` | scope, service `gemini-cli` | `session.id`, `gen_ai.conversation.id` | `session.id` | – | log `gemini_cli.api_response` |
//! | `qwen` | scope, service `qwen-code` | `session.id`, `gen_ai.conversation.id` | `session.id` | `prompt_id` | log `qwen-code.api_response` |
//! | `copilot` | scope `github.copilot`, service `github-copilot` | `gen_ai.conversation.id`, `session.id` | `session.id` | – | span `chat` |
//! | `opencode` | scope, service `opencode` | `session.id`, `ai.telemetry.metadata.sessionId`, in the text of a log record | `session.id` | id of its loop's span | span `ai.streamText.doStream` |
//!
//! Records that name no turn are of the one that is open. Where the turn is `–`, hooks and transcripts name turns in a
//! way that telemetry does not know. A foreign program is listened to by the conventions ([`super::foreign`]).

mod claude;
mod codex;
mod copilot;
mod gemini;
mod opencode;
mod qwen;
mod table;

pub(super) use table::{AgentSpec, Reach, SecondId, recognise};
