//! Contexts: requests of hosts, and responses.

mod message;
mod requests;
mod responses;

pub(crate) use message::*;
pub(crate) use requests::*;
pub(crate) use responses::*;
