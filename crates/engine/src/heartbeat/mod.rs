//! Heartbeats: agents that are run on a schedule, and what becomes of each time that they are due.
//!
//! Here are the rules and what is written down; the gateway has the clock that they run by, and the runner. Whoever
//! fires claims a tick in the ledger first, so that of several only one does. What was claimed by one that died is
//! told as interrupted, and never run again.

mod answer;
mod definition;
mod form;
mod schedule;

pub use answer::{is_acknowledged, read};
pub use definition::{Definition, Isolation, Prompt, Target, TickLimits, converged};
pub use form::{Form, FormError};
pub use schedule::Schedule;

#[cfg(test)]
mod tests;
