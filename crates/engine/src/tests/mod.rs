//! The use cases on a ledger of their own, with played agents.

mod access;
mod attestations;
mod audit;
mod clock;
pub(crate) mod copies;
mod driven;
#[cfg(feature = "postgres")]
mod folding;
mod landing;
mod launch;
mod order;
mod properties;
mod pull_requests;
mod remote;
mod repositories;
mod resolve;
mod restore;
mod rewrites;
mod scenes;
mod seal;
mod selection;
mod spool;
pub(crate) mod stage;
mod stops;
mod sweep;
mod unnamed;
