//! Contexts: what hosts ask, and what they are told.

mod asked;
mod message;
mod told;

pub(crate) use asked::*;
pub(crate) use message::*;
pub(crate) use told::*;
