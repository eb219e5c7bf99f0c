//! The gateway as programs elsewhere meet it: `siglum serve`, asked over HTTP, on each store.
//!
//! Each body runs on a file always, and on PostgreSQL where `SIGLUM_TEST_PG` names a server; after each one the ledger
//! must verify. `docs/scenarios.md` lists the scenarios of session creation and the life of sessions, and those of
//! names, turns and tenants.
//!
//! What of them is elsewhere, or is not at all:
//!
//! - Variables of the launcher: `launching::links`.
//! - Nothing is pushed through a gateway. The nearest is three commits that a session claims: one checkpoint each.
//! - Checkpoints have no destination; what is checked like one is the name of a repository.
//! - A commit that is rebased needs git, and is in `history_forms`.
//! - Modes private and public, addresses of containers and lists of repositories by visibility: there are none; a
//!   session is bound by its token alone.
//! - Phases and roles are free text here. What has no form at all is refused, whatever it says is kept.
//! - Traces, tools and resumed agents: `messages` and `heartbeats`.

mod attestations;
mod backups;
mod bounds;
pub(crate) mod client;
mod commits;
mod costs;
pub(crate) mod created;
mod ended;
mod fields;
mod intakes;
mod issuers;
mod lists;
mod logins;
mod logs;
mod matrix;
mod name_intakes;
mod names;
mod offline;
mod operators;
mod persistence;
mod point_in_time;
pub(crate) mod raw;
mod refusals;
mod repositories;
mod retention;
mod schemathesis;
pub(crate) mod server;
mod slow_readers;
mod speaking;
mod stops;
mod store_connections;
mod streams;
mod team;
mod tls;
mod turns;
mod two;
mod unknown_fields;
