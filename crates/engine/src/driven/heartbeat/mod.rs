//! Heartbeats: agents that are run on a schedule, and what becomes of each time that they are due.
//!
//! Here are the rules and what is written down; the gateway has the clock that they run by, and the runner. Whoever
//! fires claims a tick in the ledger first, so that of several only one does. What was claimed by one that died is
//! told as interrupted, and never run again.

mod answer;
mod arguments;
mod definition;
mod deliver;
mod error;
mod fire;
mod form;
mod json;
mod keep;
mod overview;
mod schedule;
mod send;
mod sweep;

pub use answer::{is_acknowledged, read};
pub use arguments::Takes;
pub use definition::{Definition, Isolation, Permission, Prompt, Target, TickLimits};
pub use deliver::{Parcel, Undelivered, settle, take};
pub use error::HeartbeatError;
pub use fire::{Claimed, Ended, HOLD, Held, Used, ask, began, bury, claim, end, hold, is_due};
pub use form::{Form, FormError};
pub use json::{HeartbeatJson, TickJson, TotalJson};
pub use keep::{Origin, Pause, definition, pause, put, remove, sync};
pub use overview::{Overview, list, show, ticks};
pub use schedule::{Schedule, tick_name, tick_turn};
pub use send::{document, input, to_session, to_webhook};
pub use siglum_egress::{Address, Reach};
pub use sweep::{BY, SWEPT_MOST, Swept, sweep};

#[cfg(test)]
mod tests;
