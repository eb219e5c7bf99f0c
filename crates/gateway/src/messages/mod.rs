//! Messages in the forms that others speak: what is sent to an agent, what happens in its run, and what was said before.
//!
//! Two forms are taken and given: Siglum's own, and that of UI messages of the AI SDK. All of it is a function of its
//! arguments; nothing here starts a run or reads a ledger.

mod history;
mod prompt;
mod ui;

pub(crate) use history::{Talk, plain, ui_messages};
pub(crate) use prompt::prompt;
pub(crate) use ui::UiStream;
