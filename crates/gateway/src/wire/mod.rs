//! Requests and answers as they are sent. What is stored has forms of its own.

mod checkpoints;
mod commits;
mod events;
mod links;
mod sessions;
mod turns;

pub(crate) use checkpoints::*;
pub(crate) use commits::*;
pub(crate) use events::*;
pub(crate) use links::*;
pub(crate) use sessions::*;
pub(crate) use turns::*;
