//! Who a session is: found or opened once, for all that is written after it.

pub mod access;
mod activity;
pub mod audit;
mod inherit;
#[cfg(feature = "network")]
pub mod issuers;
mod launch_claims;
mod learn;
pub mod links;
pub mod names;
mod open;
pub mod repositories;
mod resolve;
pub mod sighting_keys;
pub mod statements;

#[cfg(test)]
mod tests;

pub(crate) use activity::{note_activity, open_observed, resolve_or_open};
pub(crate) use inherit::inherit;
pub(crate) use launch_claims::{
    LINK_SOURCE, bound_above, is_proven_by, launch_of_link, nearest_above, proven, target,
};
pub use launch_claims::{Standing, UNREADABLE_TOKEN, standing};
pub(crate) use open::{FirstLinks, Name, NewSession, add_name, open_session};
pub(crate) use resolve::{Resolver, SessionIdentity, Unresolved, Whose, find};
pub use resolve::{only_session_by_name, session_by_name};
