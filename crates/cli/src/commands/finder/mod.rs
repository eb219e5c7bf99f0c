//! The finder: the sessions that fit what is typed, on the whole screen, with the conversation of the chosen one.
//!
//! `state` says what a key and an answer change, `layout` what is drawn of it; neither looks at the ledger or at the
//! terminal. `searches` and `previews` read the ledger, each in a thread of its own, so that no key waits for it. `run` has
//! the terminal.

mod layout;
mod line;
mod messages;
mod previews;
mod run;
mod searches;
mod state;

pub use messages::{Choice, Purpose, Wanted};
pub use run::{choose, is_possible};
