//! Real agents that `siglum serve` runs for those who send it messages, over the Agent Client Protocol, or by their own
//! headless mode.
//!
//! Each test has a gateway of its own that may run agents, a model on a script, and two servers of traces: Phoenix, asked
//! what it shows, and a played one that keeps each span as it came.

mod bench;
mod busy;
mod commits;
mod headless;
mod identity;
mod interactions;
mod traces;
mod trouble;
mod turns;
