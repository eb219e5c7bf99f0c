//! Contexts: hosts that run agents keep what was said under two keys, and ask what a run is to read.

pub(crate) mod asks;
mod may;
pub(crate) mod says;
