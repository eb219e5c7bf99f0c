//! What the finder has on its screen, and what keys and answers change of it.

use siglum_domain::SessionId;
use siglum_engine::views::search::IndexUse;

use super::line::Line;
use super::messages::{Answer, Choice, Item, Passage, PreviewKey, Purpose, Question};
use crate::ui::Key;

/// How many rows a page key goes.
const PAGE: usize = 10;

/// What a key asks of the terminal, or comes to in the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Choose(Choice),
    Copy(SessionId),
    Leave,
    Suspend,
    Redraw,
}

/// What is known of what is typed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// Nothing was answered yet.
    Begun,
    Listed {
        more: bool,
        index: IndexUse,
    },
    /// It is no query, for this reason; what is listed is of an earlier one.
    Refused(String),
}

/// The finder without its terminal.
#[derive(Debug)]
pub(super) struct Finder {
    pub(super) purpose: Purpose,
    pub(super) line: Line,
    /// The number of what is typed now.
    number: u64,
    /// The last question that was given out, and the last that was answered.
    given: Option<u64>,
    answered: Option<u64>,
    pub(super) standing: Standing,
    pub(super) items: Vec<Item>,
    pub(super) selected: usize,
    /// The last preview that was given out, and the last that came.
    wanted: Option<PreviewKey>,
    preview: Option<(PreviewKey, Vec<Passage>)>,
    /// How many lines of the preview are above what is shown.
    pub(super) scroll: usize,
    /// What the last key came to.
    pub(super) note: Option<String>,
    /// A key that chooses, until what is typed is answered: what was listed before is not what is meant.
    pending: Option<Key>,
}

impl Finder {
    pub(super) const fn new(purpose: Purpose, text: String) -> Self {
        Self {
            purpose,
            line: Line::new(text),
            number: 0,
            given: None,
            answered: None,
            standing: Standing::Begun,
            items: Vec::new(),
            selected: 0,
            wanted: None,
            preview: None,
            scroll: 0,
            note: None,
            pending: None,
        }
    }

    pub(super) fn press(&mut self, key: Key) -> Option<Action> {
        self.note = None;
        self.pending = None;
        match key {
            Key::Escape | Key::Ctrl('c' | 'g') => return Some(Action::Leave),
            Key::Ctrl('d') if self.line.text().is_empty() => return Some(Action::Leave),
            Key::Ctrl('z') => return Some(Action::Suspend),
            Key::Ctrl('l') => return Some(Action::Redraw),
            Key::Enter | Key::Ctrl('r' | 'y') => return self.choose(key),
            Key::Up | Key::Ctrl('p') => self.select(self.selected.saturating_sub(1)),
            Key::Down | Key::Ctrl('n') => self.select(self.selected + 1),
            Key::PageUp => self.select(self.selected.saturating_sub(PAGE)),
            Key::PageDown => self.select(self.selected + PAGE),
            Key::ShiftUp => self.scroll = self.scroll.saturating_sub(1),
            Key::ShiftDown => self.scroll += 1,
            _ if self.line.edit(key) => self.number += 1,
            _ => {}
        }
        None
    }

    fn choose(&mut self, key: Key) -> Option<Action> {
        if self.answered != Some(self.number) {
            self.pending = Some(key);
            return None;
        }
        let chosen = self.chosen()?.preview();
        Some(match (key, self.purpose) {
            (Key::Ctrl('y'), _) => Action::Copy(chosen.session),
            (Key::Enter, Purpose::Search) => {
                Action::Choose(Choice::Show(chosen.session, chosen.turn))
            }
            _ => Action::Choose(Choice::Resume(chosen.session)),
        })
    }

    fn select(&mut self, at: usize) {
        let at = at.min(self.items.len().saturating_sub(1));
        if at != self.selected {
            self.selected = at;
            self.scroll = 0;
        }
    }

    /// The session at the cursor.
    pub(super) fn chosen(&self) -> Option<&Item> {
        self.items.get(self.selected)
    }

    /// What is known of the conversation of the session at the cursor; nothing before it was read.
    pub(super) fn passages(&self) -> Option<&[Passage]> {
        let of = self.chosen()?.preview();
        let (known, passages) = self.preview.as_ref()?;
        (*known == of).then_some(passages.as_slice())
    }

    /// What is to be searched for, once.
    pub(super) fn next_question(&mut self) -> Option<Question> {
        let number = self.number;
        let is_new = self.given.replace(number) != Some(number);
        is_new.then(|| Question {
            number,
            text: self.line.text().to_owned(),
        })
    }

    /// What is to be read for the preview, once.
    pub(super) fn next_preview(&mut self) -> Option<PreviewKey> {
        let of = self.chosen()?.preview();
        let is_new = self.wanted.replace(of) != Some(of);
        is_new.then_some(of)
    }

    /// Takes an answer, unless something else was typed since; with it, what a key asked for that waited.
    pub(super) fn receive(&mut self, answer: Answer) -> Option<Action> {
        if answer.number != self.number {
            return None;
        }
        // The same question may be answered again, with more.
        let is_again = self.answered.replace(answer.number) == Some(answer.number);
        match answer.result {
            Err(rule) => {
                // What is listed is not what was meant.
                self.pending = None;
                self.standing = Standing::Refused(rule);
            }
            Ok(list) => {
                let before = self.chosen().filter(|_| is_again).map(|item| item.session);
                let place = list.items.iter().position(|i| Some(i.session) == before);
                if place.is_none() {
                    self.scroll = 0;
                }
                self.selected = place.unwrap_or(0);
                self.items = list.items;
                self.standing = Standing::Listed {
                    more: list.more,
                    index: list.index,
                };
            }
        }
        let key = self.pending.take()?;
        self.choose(key)
    }

    /// Takes a preview, unless another one is wanted by now.
    pub(super) fn receive_preview(&mut self, of: PreviewKey, passages: Vec<Passage>) {
        if self.wanted == Some(of) {
            self.preview = Some((of, passages));
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use siglum_domain::Timestamp;
    use siglum_domain::search::{Excerpt, PieceKind};
    use siglum_engine::views::search::Hit;
    use uuid::Uuid;

    use super::super::messages::List;
    use super::*;

    pub(in super::super) fn session(number: u128) -> SessionId {
        SessionId::from_uuid(Uuid::from_u128(number))
    }

    /// A session with this title, in whose turn 3 something was found.
    pub(in super::super) fn item(number: u128, title: &str, is_hit: bool) -> Item {
        let hit = Hit {
            place: PieceKind::Answer,
            excerpt: Excerpt {
                text: format!("the answer of {title}"),
                ranges: vec![(4, 10)],
            },
            turn: Some(3),
            at: None,
        };
        Item {
            session: session(number),
            agent: "claude-code".to_owned(),
            last_at: Timestamp::from_seconds(1_000),
            title: Some(title.to_owned()),
            directory: "~/shop".to_owned(),
            turns: 4,
            commits: 1,
            hits: if is_hit { vec![hit] } else { Vec::new() },
        }
    }

    pub(in super::super) const WHOLE: IndexUse = IndexUse {
        is_used: true,
        waiting: 0,
    };

    pub(in super::super) fn answer(number: u64, items: Vec<Item>) -> Answer {
        let list = List {
            items,
            more: false,
            index: WHOLE,
        };
        Answer {
            number,
            result: Ok(list),
        }
    }

    fn typed(finder: &mut Finder, text: &str) -> u64 {
        for sign in text.chars() {
            assert_eq!(finder.press(Key::Char(sign)), None);
        }
        let question = finder.next_question().expect("because it is new");
        assert_eq!(question.text, finder.line.text());
        question.number
    }

    fn three() -> Vec<Item> {
        ["one", "two", "three"]
            .into_iter()
            .zip(1..)
            .map(|(title, number)| item(number, title, true))
            .collect()
    }

    #[test]
    fn only_the_answer_to_what_is_typed_now_is_taken() {
        let mut finder = Finder::new(Purpose::Search, String::new());
        let first = typed(&mut finder, "");
        assert!(finder.next_question().is_none(), "it is asked once");
        let second = typed(&mut finder, "ca");
        assert_eq!(finder.receive(answer(first, three())), None);
        assert_eq!(
            (finder.items.len(), &finder.standing),
            (0, &Standing::Begun)
        );
        finder.receive(answer(second, three()));
        assert_eq!(finder.items.len(), 3);
        let refused = typed(&mut finder, "\"");
        let rule = "no end".to_owned();
        finder.receive(Answer {
            number: refused,
            result: Err(rule.clone()),
        });
        assert_eq!(finder.standing, Standing::Refused(rule));
        assert_eq!(finder.items.len(), 3, "what was listed stays");
    }

    #[test]
    fn keys_choose_copy_and_leave() {
        let mut finder = Finder::new(Purpose::Search, String::new());
        let number = typed(&mut finder, "");
        finder.receive(answer(number, three()));
        finder.press(Key::Down);
        finder.press(Key::Down);
        finder.press(Key::Down);
        finder.press(Key::Up);
        let chosen = Choice::Show(session(2), Some(3));
        assert_eq!(finder.press(Key::Enter), Some(Action::Choose(chosen)));
        let resumed = Action::Choose(Choice::Resume(session(2)));
        assert_eq!(finder.press(Key::Ctrl('r')), Some(resumed));
        assert_eq!(finder.press(Key::Ctrl('y')), Some(Action::Copy(session(2))));
        finder.purpose = Purpose::Resume;
        assert_eq!(finder.press(Key::Enter), Some(resumed));
        for key in [Key::Escape, Key::Ctrl('c'), Key::Ctrl('d')] {
            assert_eq!(finder.press(key), Some(Action::Leave));
        }
        assert_eq!(finder.press(Key::Ctrl('z')), Some(Action::Suspend));
        finder.press(Key::PageUp);
        assert_eq!(finder.selected, 0);
        finder.press(Key::PageDown);
        assert_eq!(finder.selected, 2);
    }

    #[test]
    fn a_key_that_comes_before_the_answer_waits_for_it() {
        let mut finder = Finder::new(Purpose::Search, String::new());
        let number = typed(&mut finder, "");
        finder.receive(answer(number, three()));
        let number = typed(&mut finder, "two");
        assert_eq!(finder.press(Key::Enter), None);
        let two = vec![item(2, "two", false)];
        let chosen = Action::Choose(Choice::Show(session(2), None));
        assert_eq!(finder.receive(answer(number, two)), Some(chosen));
        // What is no query chooses nothing of what was listed before.
        let number = typed(&mut finder, "\"");
        finder.press(Key::Enter);
        let result = Err("no end".to_owned());
        assert_eq!(finder.receive(Answer { number, result }), None);
        // Whoever types on did not mean it.
        let number = typed(&mut finder, "x");
        finder.press(Key::Enter);
        finder.press(Key::Left);
        assert_eq!(finder.receive(answer(number, three())), None);
    }

    #[test]
    fn the_same_question_answered_again_moves_nothing() {
        let mut finder = Finder::new(Purpose::Search, String::new());
        let number = typed(&mut finder, "");
        finder.receive(answer(number, three()));
        finder.press(Key::Down);
        finder.press(Key::ShiftDown);
        let mut more = three();
        more.insert(0, item(4, "four", true));
        finder.receive(answer(number, more));
        assert_eq!((finder.selected, finder.scroll), (2, 1));
        let number = typed(&mut finder, "t");
        finder.receive(answer(number, three()));
        assert_eq!((finder.selected, finder.scroll), (0, 0));
    }

    #[test]
    fn a_preview_is_of_the_session_at_the_cursor_alone() {
        let mut finder = Finder::new(Purpose::Search, String::new());
        assert_eq!(finder.next_preview(), None);
        let number = typed(&mut finder, "");
        finder.receive(answer(number, three()));
        let first = finder.next_preview().expect("because one is at the cursor");
        assert_eq!(finder.next_preview(), None, "it is wanted once");
        finder.press(Key::Down);
        let second = finder.next_preview().expect("because it is another one");
        finder.receive_preview(first, Vec::new());
        assert_eq!(finder.passages(), None);
        finder.receive_preview(second, Vec::new());
        assert_eq!(finder.passages(), Some(&[][..]));
        finder.press(Key::Up);
        assert_eq!(finder.passages(), None);
    }
}
