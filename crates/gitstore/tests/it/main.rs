//! gitstore against the real git.
#![allow(clippy::unwrap_used, reason = "tests")]

mod facts;
mod hooks;
mod list;
mod objects;
mod place;
mod sandbox;
mod trailer;
