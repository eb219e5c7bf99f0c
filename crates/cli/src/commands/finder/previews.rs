//! Reads conversations for the preview, in a thread of their own: of what is wanted, the newest alone.

use std::sync::mpsc;

use siglum_domain::observation::{Outcome, Role};
use siglum_engine::World;
use siglum_engine::record::passages::Passages;
use siglum_engine::views::history::{self, Turn};
use siglum_ledger::{Ledger, LedgerError, read};

use super::messages::{Message, Passage, Post, PreviewKey, newest};
use crate::commands::session::page::{Step, message_text, steps, what};
use crate::commands::session::show::outcome;
use crate::cx::Cx;
use crate::error::CommandError;
use crate::store;
use crate::ui::Style;

/// How many turns are read.
const TURNS: usize = 3;
/// How many messages and calls of each.
const STEPS: usize = 30;
/// How much of each text, in characters.
const TEXT: usize = 2_000;
/// The log of a session with more entries is not read for a preview.
const ENTRIES_MOST: u64 = 50_000;

/// Reads what is wanted until nobody wants any more.
pub(super) fn read_all(cx: &Cx, wanted: &mpsc::Receiver<PreviewKey>, post: &Post) {
    // By then the ledger is there.
    let Some(mut key) = newest(wanted) else {
        return;
    };
    let mut previews = match Previews::open(cx) {
        Ok(previews) => previews,
        Err(error) => return post.send(Message::Failed(error)),
    };
    loop {
        let passages = previews
            .passages(key)
            .unwrap_or_else(|error| vec![passage(" ", &error.to_string(), Some(Style::Warning))]);
        post.send(Message::Preview(key, passages));
        match newest(wanted) {
            Some(next) => key = next,
            None => return,
        }
    }
}

/// What reading needs.
struct Previews {
    world: World<'static>,
    ledger: Box<dyn Ledger>,
}

impl Previews {
    fn open(cx: &Cx) -> Result<Self, CommandError> {
        Ok(Self {
            world: cx.world()?,
            ledger: store::open_unsettled(cx)?,
        })
    }

    fn passages(&mut self, key: PreviewKey) -> Result<Vec<Passage>, LedgerError> {
        let record = read(&mut self.ledger, |tx| tx.session(key.session))?;
        if record.is_some_and(|record| record.head > ENTRIES_MOST) {
            let text = "This session is too long for a preview.";
            return Ok(vec![passage("", text, Some(Style::Dim))]);
        }
        let history = history::history(&self.world, &mut self.ledger, key.session)?;
        let Some(history) = history else {
            return Ok(Vec::new());
        };
        let agent = history.card.record.agent_word().to_owned();
        let mut texts = Passages::new(&mut self.ledger, &agent);
        let mut all = Vec::new();
        for turn in chosen(&history.turns, key.turn) {
            add_turn(turn, &mut texts, &mut all)?;
        }
        Ok(all)
    }
}

/// Some turns: from the one of a number on, or the last ones.
fn chosen(turns: &[Turn], number: Option<u64>) -> &[Turn] {
    let is_it = |turn: &Turn| number.is_some_and(|n| usize::try_from(n) == Ok(turn.number));
    let from = turns.iter().position(is_it);
    let from = from.unwrap_or(turns.len().saturating_sub(TURNS));
    &turns[from..turns.len().min(from + TURNS)]
}

fn add_turn(
    turn: &Turn,
    texts: &mut Passages<'_>,
    all: &mut Vec<Passage>,
) -> Result<(), LedgerError> {
    let view = &turn.view;
    let head = match turn.number {
        0 => "Outside of turns".to_owned(),
        number => format!("Turn {number}"),
    };
    all.push(passage("", &head, Some(Style::Heading)));
    if let Some(prompt) = &view.prompt
        && let Some(text) = texts.text(prompt)?
    {
        let look = view.synthetic.then_some(Style::Dim);
        all.push(passage(">", &text, look));
    }
    for step in steps(view).into_iter().take(STEPS) {
        match step {
            Step::Call(call) => {
                let failed = call.outcome.filter(|outcome| *outcome != Outcome::Ok);
                let ended = failed.map_or_else(String::new, |o| format!(" [{}]", outcome(o)));
                let look = match failed {
                    Some(_) => Style::Removed,
                    None => Style::Dim,
                };
                let text = format!("{} {}{ended}", call.tool, what(call));
                all.push(passage(" ", &text, Some(look)));
            }
            Step::Message(message) => {
                let mark = match message.role {
                    Role::User => ">",
                    Role::Assistant => "<",
                };
                let look = message.subagent.as_ref().map(|_| Style::Dim);
                let text = message_text(message, texts)?;
                all.push(passage(mark, &text, look));
            }
        }
    }
    let has_answer = view.messages.iter().any(|m| m.role == Role::Assistant);
    if !has_answer
        && let Some(last) = &view.last_message
        && let Some(text) = texts.text(last)?
    {
        all.push(passage("<", &text, None));
    }
    Ok(())
}

fn passage(mark: &'static str, text: &str, look: Option<Style>) -> Passage {
    let text = text.trim().chars().take(TEXT).collect();
    Passage { mark, text, look }
}
