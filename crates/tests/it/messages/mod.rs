//! Messages as programs elsewhere send them: `siglum serve` with a played agent that speaks the Agent Client Protocol.
//!
//! Each body runs on a file always, and on PostgreSQL where `SIGLUM_TEST_PG` names a server. `docs/scenarios.md` lists
//! the scenarios of traces; those of webhooks and commands are among the heartbeats.

mod answers;
mod back;
mod crowds;
mod gaps;
mod names;
mod owners;
pub(crate) mod played;
mod refusals;
pub(crate) mod streams;
mod traces;
