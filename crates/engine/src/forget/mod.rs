//! Erasing what is stored: a whole session, every occurrence of a pattern, or what today's rules take for a secret.
//!
//! What is erased leaves tombstones, so that receipts verify and nothing comes back when a transcript is read or
//! imported once more. Looking, for `siglum doctor`, is the same walk without a hand on anything.

mod columns;
mod needle;
mod report;
mod session;
mod walk;

pub use needle::{Needle, NeedleError, Replaced};
pub use report::{NeedleMatch, Place, Report};
pub(crate) use session::forget_in;
pub use session::{Costs, Holding, forget_session, holding};
pub use walk::{erase, search};
