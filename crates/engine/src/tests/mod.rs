//! The use cases on a ledger of their own, with played agents.

mod clock;
mod landing;
mod order;
mod properties;
mod resolve;
mod scenes;
mod seal;
mod selection;
mod spool;
mod stage;
mod sweep;
mod unnamed;
