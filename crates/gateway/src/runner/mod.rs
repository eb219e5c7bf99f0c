//! The runner: starts agents without a terminal, over the Agent Client Protocol or by their own headless mode, and drives
//! them.
//!
//! A run is one driven turn of one session. [`start`] finds or makes the session, takes its lease, opens the turn, and
//! gives a [`Running`](crate::runs::Running), whose events can be read from the start and while they happen.
//!
//! Several gateways may serve one PostgreSQL store. A run is that of the gateway that started it, and the others see it, follow
//! it and have a say in it through the store ([`elsewhere`]).
//!
//! Which programs are started, and where they may work, is the operator's word alone
//! ([`RunSettings`](crate::settings::RunSettings)); a request names an agent and no program.

mod cancelling;
mod committed_run;
mod diverged;
mod drive;
mod elsewhere;
mod interactions;
mod keys;
mod leasing;
mod questions;
mod start;
mod stored_events;

pub(crate) use elsewhere::{cancel, running, running_turn};
pub(crate) use interactions::answer;
pub(crate) use start::start;
