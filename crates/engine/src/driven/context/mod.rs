//! Contexts: what a run sees of what was said before, and what it adds to it.
//!
//! A context is kept in one driven session: what is committed to it is a turn of that session. [`resolve`] gives a run
//! its two keys, and every other call has both; keys that do not belong together are refused before anything is read.
//! Nothing is ever taken from another context unless it came from that one and its policy says how much.
//!
//! [`ContextEngine`] is the whole of it as a trait; [`LedgerContexts`] keeps it in a ledger. The parts are functions of
//! their own, for those who have a ledger at hand.

mod assemble;
mod bootstrap;
mod commit;
mod engine;
mod error;
mod gaps;
mod keep;
mod lineage;
mod message;
mod resolve;
mod subagent;
#[cfg(test)]
mod tests;
mod view;

pub use assemble::{Assemble, Assembled, Coverage, During, assemble};
pub use bootstrap::{Bootstrap, Bootstrapped, Maintained, Ran, after_turn, bootstrap, maintain};
pub use commit::{
    Commit, Committed, Compact, Ingest, Positions, backfill, commit, compact, ingest,
};
pub use engine::{ContextEngine, LedgerContexts};
pub use error::ContextError;
pub use gaps::{accept_gap, gaps, sound};
pub use lineage::{
    Explained, Lineage, Part, RouteShown, contexts, explain, lineage, route, routes,
};
pub use message::{Message, Spoken};
pub use resolve::{Anchor, Resolve, Resolved, Want, Was, resolve};
pub use subagent::{PrepareSubagent, SubagentEnd, prepare_subagent, subagent_ended};
pub use view::{Gaps, Heartbeats, Origin, Seen, tokens};
