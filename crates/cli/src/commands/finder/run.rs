//! The finder at a terminal: what comes is given to its state, and what is different then is drawn.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use super::messages::{Choice, Message, Post, Wanted};
use super::state::{Action, Finder};
use super::{layout, previews, searches};
use crate::clock;
use crate::cx::Cx;
use crate::error::CommandError;
use crate::platform::{TerminalEvents, Wish};
use crate::ui::{FullScreen, Keys};

/// How long the rest of a key may take that begins as the escape key does.
const ESCAPE: Duration = Duration::from_millis(50);

/// Whether a person is there who can use it.
pub fn is_possible(cx: &Cx) -> bool {
    !cx.ui.json && FullScreen::is_possible()
}

/// Has a person choose; nothing where the person leaves.
pub fn choose(cx: &Cx, wanted: &Wanted) -> Result<Option<Choice>, CommandError> {
    let events = TerminalEvents::catch()?;
    let (sender, messages) = mpsc::channel();
    let post = || Post {
        sender: sender.clone(),
        waker: events.waker(),
    };
    let (ask, questions) = mpsc::channel();
    let (want, previewed) = mpsc::channel();
    let mut screen = FullScreen::open()?;
    start("search", {
        let (cx, wanted, post) = (cx.clone(), wanted.clone(), post());
        move || searches::answer_all(&cx, &wanted, &questions, &post)
    })?;
    start("preview", {
        let (cx, post) = (cx.clone(), post());
        move || previews::read_all(&cx, &previewed, &post)
    })?;
    let mut finder = Finder::new(wanted.purpose, wanted.text.clone());
    let mut keys = Keys::default();
    loop {
        // Where a thread is gone, its last message says why.
        if let Some(question) = finder.next_question() {
            let _ = ask.send(question);
        }
        if let Some(key) = finder.next_preview() {
            let _ = want.send(key);
        }
        let (frame, scrolled) = layout::draw(&finder, FullScreen::size(), &cx.ui, clock::now());
        finder.scroll = finder.scroll.min(scrolled);
        screen.draw(&frame)?;
        let noticed = events.wait(keys.is_waiting().then_some(ESCAPE))?;
        match noticed.wish {
            Some(Wish::End) => return Ok(None),
            Some(Wish::Suspend) => screen.suspend()?,
            Some(Wish::Redraw) => screen.refresh()?,
            None => {}
        }
        let mut pressed = keys.read(&noticed.typed);
        if noticed.is_timeout {
            pressed.extend(keys.settle());
        }
        let mut actions: Vec<Action> = Vec::new();
        for key in pressed {
            actions.extend(finder.press(key));
        }
        for message in messages.try_iter() {
            match message {
                Message::Answer(answer) => actions.extend(finder.receive(answer)),
                Message::Preview(key, passages) => finder.receive_preview(key, passages),
                Message::Failed(error) => return Err(error),
            }
        }
        for action in actions {
            match action {
                Action::Choose(choice) => return Ok(Some(choice)),
                Action::Leave => return Ok(None),
                Action::Suspend => screen.suspend()?,
                Action::Redraw => screen.refresh()?,
                Action::Copy(id) => {
                    screen.copy(id)?;
                    finder.note = Some(format!("Copied, if the terminal allows it: {id}"));
                }
            }
        }
    }
}

/// Starts a thread that nobody waits for: it ends by itself once nothing is asked of it.
fn start(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), CommandError> {
    let thread = thread::Builder::new().name(name.to_owned());
    thread.spawn(work)?;
    Ok(())
}
