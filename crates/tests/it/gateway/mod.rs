//! The gateway as programs elsewhere meet it: `siglum serve`, asked over HTTP, on each store.
//!
//! Each body runs on a file always, and on PostgreSQL where `SIGLUM_TEST_PG` names a server; after each one the ledger
//! must verify. Names that begin with `e` and two digits are the scenarios of session creation and the life of sessions,
//! those with `t` and two digits the ones of names, turns and tenants; the numbers are those of the design's references.
//!
//! What of them is elsewhere, or is not at all:
//!
//! - e14 to e18, variables of the launcher: `launching::links`.
//! - e29: nothing is pushed through a gateway. The nearest is three commits that a session claims: one checkpoint each.
//! - e33: checkpoints have no destination; what is checked like one is the name of a repository.
//! - e37, a commit that is rebased: needs git, and is in `history_forms`.
//! - Modes private and public, addresses of containers and lists of repositories by visibility: there are none; a
//!   session is bound by its token alone.
//! - e12: phases and roles are free text here. What has no form at all is refused, whatever it says is kept.
//! - t11 and t14 as far as traces go, and t15 to t19: they speak of spans, tools and resumed agents.

mod bounds;
pub(crate) mod client;
mod commits;
mod costs;
pub(crate) mod created;
mod ended;
mod fields;
mod intakes;
mod matrix;
mod names;
mod persistence;
pub(crate) mod raw;
mod refusals;
mod repositories;
mod schemathesis;
pub(crate) mod server;
mod slow_readers;
mod speaking;
mod stops;
mod streams;
mod turns;
mod two;
mod unknown_fields;
