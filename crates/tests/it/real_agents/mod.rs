//! The real agents against a scripted model: what Siglum says, compared with what git and the
//! model's own log of requests say.
//!
//! Every test has its own model server, home, ledger and repository, and lets `siglum init --yes`
//! write the hooks. Without `SIGLUM_LAB=1` the tests print a line and end.
//!
//! What is compared, for each session:
//!
//! * its native id: the model sees it in a header of every request;
//! * its tool calls: those in the answers that the model gave to it, sub-agents' included;
//! * its tokens: the sum over the answers that the model gave to it, sub-agents' included, each
//!   answer once. A fork copies the transcript of its parent; the copied answers were given to the
//!   parent and are counted there alone.
//!
//! One kind of answer is not counted: the summary that the agent asks for when it compacts its
//! context. The agent writes no message with its usage into the transcript, no hook tells it, and it
//! is only in the model's log (and, without a name, in the running total that the agent writes as
//! `cost-state` when it exits). The same holds for what the agent asks beside the conversation,
//! such as a title. The tests check that these answers are left out.

mod agents;
mod book;
mod hooks;
mod lab;
mod model;
mod programs;
mod screen;
mod why;

mod archive;
mod asking;
mod background;
mod codex;
mod compaction;
mod continued;
mod copilot;
mod gateway;
mod gemini;
mod launched;
mod opencode;
mod pi;
mod qwen;
mod runs;
mod several;
mod telemetry;
mod together;
mod trouble;
