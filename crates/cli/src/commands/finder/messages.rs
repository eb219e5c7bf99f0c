//! What goes in and out of the finder, and between its threads.

use std::sync::mpsc;

use siglum_domain::{AgentName, SessionId, Timestamp};
use siglum_engine::views::search::{Hit, IndexUse};

use crate::error::CommandError;
use crate::platform::Waker;
use crate::scope::Where;
use crate::time::Period;
use crate::ui::Style;

/// What the finder is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// To read a session, or to resume it.
    Search,
    /// To resume one; others are not listed.
    Resume,
}

/// What somebody looks for before anything is typed.
#[derive(Debug, Clone)]
pub struct Wanted {
    pub purpose: Purpose,
    pub place: Where,
    pub agent: Option<AgentName>,
    pub period: Period,
    /// How many sessions are listed at most.
    pub most: usize,
    /// What stands in the line.
    pub text: String,
}

/// What somebody chose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// To read a session; the turn with this number, if one was found.
    Show(SessionId, Option<u64>),
    Resume(SessionId),
}

/// What is searched for.
#[derive(Debug)]
pub(super) struct Question {
    /// Later ones have higher numbers.
    pub(super) number: u64,
    pub(super) text: String,
}

/// What comes of a search.
#[derive(Debug)]
pub(super) struct Answer {
    /// The number of the question.
    pub(super) number: u64,
    /// What was found, or why nothing was searched for.
    pub(super) result: Result<List, String>,
}

/// Sessions, as they are listed.
#[derive(Debug)]
pub(super) struct List {
    pub(super) items: Vec<Item>,
    /// Whether there are more.
    pub(super) more: bool,
    pub(super) index: IndexUse,
}

/// A session that is listed.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) session: SessionId,
    pub(super) agent: String,
    pub(super) last_at: Timestamp,
    pub(super) title: Option<String>,
    pub(super) directory: String,
    pub(super) turns: u64,
    pub(super) commits: u64,
    /// What was found in it, the best first; nothing where nothing was searched for.
    pub(super) hits: Vec<Hit>,
}

impl Item {
    /// What of its conversation is shown beside it.
    pub(super) fn preview(&self) -> PreviewKey {
        PreviewKey {
            session: self.session,
            turn: self.hits.iter().find_map(|hit| hit.turn),
        }
    }
}

/// What is shown in a preview: a session from a turn on, or its last turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PreviewKey {
    pub(super) session: SessionId,
    pub(super) turn: Option<u64>,
}

/// A text of a conversation, behind a mark that says whose it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Passage {
    pub(super) mark: &'static str,
    pub(super) text: String,
    pub(super) look: Option<Style>,
}

/// What the threads send.
pub(super) enum Message {
    Answer(Answer),
    Preview(PreviewKey, Vec<Passage>),
    /// Nothing can be searched.
    Failed(CommandError),
}

/// Sends messages, and wakes whoever waits for them. When it goes, whoever waits is woken, too, and may see why.
pub(super) struct Post {
    pub(super) sender: mpsc::Sender<Message>,
    pub(super) waker: Waker,
}

impl Post {
    pub(super) fn send(&self, message: Message) {
        // Where nobody takes it, the finder is closed.
        let _ = self.sender.send(message);
        self.waker.wake();
    }
}

impl Drop for Post {
    fn drop(&mut self) {
        self.waker.wake();
    }
}

/// Waits for the newest request, and leaves those before it; nothing once there will be none.
pub(super) fn newest<T>(requests: &mpsc::Receiver<T>) -> Option<T> {
    let first = requests.recv().ok()?;
    Some(requests.try_iter().last().unwrap_or(first))
}
