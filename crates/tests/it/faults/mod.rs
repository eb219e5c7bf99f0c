//! What happens when something breaks: to hooks, and to drivers of turns, their store and whoever shows what they
//! commit. `docs/scenarios.md` lists the failures and the scenarios.
//!
//! Each body runs on each store: on a file always, on PostgreSQL where `SIGLUM_TEST_PG` names a server. After each one
//! the ledger must verify, and every sink must be a prefix of it.

mod damaged_ledger;
pub(crate) mod driver;
mod failing;
mod hooks;
mod lost_ledger;
mod power;
mod proxy;
mod reads;
mod rivals;
mod sinks;
pub(crate) mod store;
mod stream;
mod tails;
