//! Telemetry that agents send themselves: taken, stored, and joined to sessions.
//!
//! Taking is quick and promises that what was acknowledged is stored: [`take`] puts a request into the inbox, and does
//! no more. Joining comes afterwards: [`join`] asks of each record whose it is, in an order that is the same for every
//! order of arrival (`identity::Resolver`), hands what was seen to the session as a hook would, and keeps what has no
//! session. Nothing is joined because of its time, and the same batch twice changes nothing.

mod assign;
mod end;
mod forward;
mod join;
mod parcel;
mod send;
mod settle;
mod take;
#[cfg(test)]
pub(crate) mod tests;

pub use assign::{Assignment, assign};
pub use end::end_silent;
pub use join::{CONFLICTS, join};
pub use parcel::Parcel;
pub(crate) use parcel::kept_json;
pub use send::Forwarder;
pub use settle::Tally;
pub use take::{Taken, take};
