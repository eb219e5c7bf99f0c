//! The runs of this gateway: what is asked of one, what is told of it, the agents' processes, and who waits for whom.
//!
//! What is told outside carries an id that somebody gave: the caller's name for the conversation, else the agent's own; none
//! is made up here. [`runner`](crate::runner) drives them.

mod admission;
pub(crate) mod agent;
mod ask;
mod event;
mod log;
mod name_source;
pub(crate) mod plan;
pub(crate) mod process;
#[cfg(test)]
mod recorded;
mod running;
pub(crate) mod scribe;
mod tools;
mod words;

pub use agent::{AcpHistory, AcpHistoryError};

pub(crate) use admission::{Admitted, Control, Place, Runs, Slot};
pub(crate) use ask::{
    Ask, IfBusy, Owned, Permissions, PromptMessage, Resume, RunLimits, Speaker, Target, Under,
    key_reused,
};
pub(crate) use event::{
    Choice, ChoiceKind, Finished, NOT_COMMITTED, RunError, RunEvent, Started, Status, Usage,
};
pub(crate) use log::{Events, Log, Next};
pub(crate) use name_source::NameSource;
pub(crate) use running::Running;
