//! The runner: starts agents without a terminal, over the Agent Client Protocol or by their own headless mode, and drives
//! them.
//!
//! A run is one driven turn of one session. [`start`] finds or makes the session, takes its lease, opens the turn, and
//! gives a [`Running`], whose events can be read from the start and while they happen. What is told outside carries an id
//! that somebody gave: the caller's name for the conversation, else the agent's own; none is made up here.
//!
//! Which programs are started, and where they may work, is the operator's word alone ([`RunSettings`]); a request names
//! an agent and no program.
mod agent;
mod ask;
mod committed_run;
mod diverged;
mod drive;
mod event;
mod interactions;
mod keys;
mod log;
mod plan;
mod process;
#[cfg(test)]
mod recorded;
mod running;
mod runs;
mod scribe;
mod settings;
mod start;
mod tools;
mod words;

pub(crate) use ask::{
    Ask, IfBusy, Owned, Permissions, PromptMessage, Resume, RunLimits, Speaker, Target, Under,
};
pub(crate) use event::{
    Choice, ChoiceKind, Finished, NOT_COMMITTED, RunError, RunEvent, Started, Status, Usage,
};
pub(crate) use log::{Events, Next};
pub(crate) use running::Running;
pub(crate) use runs::Runs;
pub use settings::{Handed, Handing, Over, RunAgent, RunSettings};
pub(crate) use start::start;
