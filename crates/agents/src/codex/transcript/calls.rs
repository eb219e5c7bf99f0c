//! Tool calls that were read.

use std::collections::VecDeque;

use siglum_domain::Timestamp;
use siglum_domain::observation::ToolClass;

use crate::mentions::CommitOutput;

/// Most calls that are remembered.
const LIMIT: usize = 512;

#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) event: String,
    pub(super) class: ToolClass,
    /// What of its output names a commit, until that was read.
    pub(super) commit_output: Option<CommitOutput>,
    pub(super) at: Option<Timestamp>,
}

/// The calls, oldest first. They stay when they have ended: a command may go on after its call.
#[derive(Debug, Clone, Default)]
pub(super) struct Calls(VecDeque<Call>);

impl Calls {
    /// Remembers a call and forgets the oldest if there are too many.
    pub(super) fn begin(&mut self, call: Call) {
        if self.0.len() == LIMIT {
            self.0.pop_front();
        }
        self.0.push_back(call);
    }

    /// The call of this event.
    pub(super) fn find(&mut self, event: &str) -> Option<&mut Call> {
        self.0.iter_mut().rev().find(|call| call.event == event)
    }
}
