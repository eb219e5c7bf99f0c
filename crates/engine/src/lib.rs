//! The use cases of Siglum, in six folders, each upon the ones before it.
//!
//! The edges extract claims into an [`Intake`](siglum_domain::intake::Intake); [`identity`] says whose session they are;
//! [`commits`] turns what git showed into commits with their makers, and answers for them; [`record`] writes down what was
//! seen; [`driven`] leads sessions; [`share`] exchanges with others; [`views`] answers about the rest. [`worker`] does what
//! can wait. Nothing here reads a clock, an environment or a terminal: all of that comes in a [`World`]. Without the feature
//! `network` there is neither HTTP nor telemetry, and no worker: an embedded store needs none of them.

#![cfg_attr(
    not(feature = "network"),
    allow(
        dead_code,
        unused_imports,
        reason = "some of it serves only what is left out then"
    )
)]

pub mod commits;
mod damage;
pub mod driven;
mod error;
#[cfg(feature = "network")]
pub mod forget;
pub mod identity;
pub mod record;
pub mod restore;
#[cfg(feature = "network")]
pub mod retention;
#[cfg(feature = "network")]
pub mod settle;
pub mod share;
#[cfg(test)]
mod tests;
pub mod views;
#[cfg(feature = "network")]
pub mod worker;
mod world;

pub use error::EngineError;
pub use world::{Here, Slice, World};
