//! Who a session is: found or opened once, for all that is written after it.

pub mod access;
pub mod audit;
mod claims;
mod inherit;
#[cfg(feature = "network")]
pub mod issuers;
pub mod links;
pub mod names;
mod open;
pub mod repositories;
mod resolve;
pub mod sighting_keys;
pub mod statements;

#[cfg(test)]
mod tests;

pub(crate) use claims::{
    LINK_SOURCE, bound_above, is_proven_by, launch_of_link, nearest_above, proven, target,
};
pub use claims::{Standing, UNREADABLE_TOKEN, standing};
pub(crate) use inherit::inherit;
pub(crate) use open::{FirstLinks, Name, NewSession, open_session};
pub(crate) use resolve::{SessionClaim, SessionIdentity, find, note_activity, resolve};
