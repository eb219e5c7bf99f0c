//! What happens in a session, whichever agent it is of.

use super::needle::{Needle, Place};
use super::text::Text;
use crate::clock::Chance;

/// One thing that happens.
pub(super) enum Event {
    Prompt {
        text: String,
        /// In base64.
        image: Option<String>,
    },
    /// What the model says before it calls a tool.
    Message {
        text: String,
    },
    Call(Call),
    /// What the model says last in a turn.
    Answer {
        text: String,
    },
    /// The conversation became too long: a summary takes its place, and what was said last is written once more.
    Compacted {
        summary: String,
        kept: String,
    },
    /// The agent was started again.
    Resumed,
    Helper(Helper),
}

/// A call of a tool, with what came back.
pub(super) enum Call {
    Read {
        path: String,
        content: String,
    },
    Shell {
        command: String,
        output: String,
        failed: bool,
    },
    Edit {
        path: String,
        /// The whole file before.
        original: String,
        old: String,
        new: String,
    },
}

/// A sub-agent, from its task to its report.
pub(super) struct Helper {
    pub(super) id: String,
    pub(super) task: String,
    pub(super) events: Vec<Event>,
    pub(super) report: String,
}

/// The events of one session, by its seed alone.
pub(super) struct Story<'a> {
    text: &'a Text,
    chance: Chance,
}

impl<'a> Story<'a> {
    pub(super) fn new(text: &'a Text, seed: u64) -> Self {
        Self {
            text,
            chance: Chance::new(seed),
        }
    }

    /// Whether one of so many is meant.
    fn one_in(&self, many: usize) -> bool {
        self.chance.below(many) == 0
    }

    fn prose(&self, least: usize, most: usize) -> String {
        let words = least + self.chance.below(most - least);
        self.text.prose(&self.chance, words)
    }

    /// A turn: a prompt, some calls, an answer.
    pub(super) fn turn(&self, nth: usize) -> Vec<Event> {
        let mut events = Vec::new();
        if nth > 0 && self.one_in(6) {
            events.push(Event::Resumed);
        }
        let image = self.one_in(14).then(|| {
            let digits = 8_000 + self.chance.below(90_000);
            Text::image(&self.chance, digits)
        });
        let text = self.prose(8, 90);
        events.push(Event::Prompt { text, image });
        for _ in 0..1 + self.chance.below(8) {
            self.step(&mut events);
        }
        if nth > 0 && self.one_in(9) {
            events.push(Event::Helper(self.helper()));
        }
        if nth > 0 && self.one_in(12) {
            events.push(Event::Compacted {
                summary: self.prose(150, 500),
                kept: self.prose(40, 200),
            });
        }
        let text = self.prose(20, 160);
        events.push(Event::Answer { text });
        events
    }

    fn step(&self, events: &mut Vec<Event>) {
        if !self.one_in(3) {
            let text = self.prose(8, 60);
            events.push(Event::Message { text });
        }
        events.push(Event::Call(match self.chance.below(5) {
            0 => self.edit(),
            1 | 2 => self.shell(),
            _ => self.read(),
        }));
    }

    fn read(&self) -> Call {
        let source = self.text.file(&self.chance);
        Call::Read {
            path: source.path.clone(),
            content: source.text.clone(),
        }
    }

    fn shell(&self) -> Call {
        let lines = 1 + self.chance.below(60);
        let mut output = self.text.output(&self.chance, lines);
        if self.one_in(30) {
            output.push_str(&Text::secret(&self.chance));
        }
        let path = &self.text.file(&self.chance).path;
        let command = match self.chance.below(3) {
            0 => format!("cargo test --quiet 2>&1 | tail -{lines}"),
            1 => format!("grep -rn {} src | head -{lines}", self.prose(1, 2)),
            _ => format!("git log -p -{lines} -- {path}"),
        };
        Call::Shell {
            command,
            output,
            failed: self.one_in(9),
        }
    }

    /// Some lines of a file become others.
    fn edit(&self) -> Call {
        let source = self.text.file(&self.chance);
        let lines: Vec<&str> = source.text.split_inclusive('\n').collect();
        let from = self.chance.below(lines.len());
        let to = (from + 1 + self.chance.below(6)).min(lines.len());
        let other = self.text.file(&self.chance);
        let new = other.text.split_inclusive('\n').skip(6);
        let new: String = new.take(1 + self.chance.below(8)).collect();
        Call::Edit {
            path: source.path.clone(),
            original: source.text.clone(),
            old: lines[from..to].concat(),
            new,
        }
    }

    fn helper(&self) -> Helper {
        let task = self.prose(20, 80);
        let mut events = vec![Event::Prompt {
            text: task.clone(),
            image: None,
        }];
        for _ in 0..1 + self.chance.below(4) {
            self.step(&mut events);
        }
        let report = self.prose(20, 90);
        events.push(Event::Answer {
            text: report.clone(),
        });
        Helper {
            id: format!("a{}", self.chance.hex(16)),
            task,
            events,
            report,
        }
    }

    /// A turn with a needle.
    pub(super) fn turn_with(&self, needle: &Needle) -> Vec<Event> {
        let text = |place: Place, other: String| match place == needle.place {
            true => needle.text.clone(),
            false => other,
        };
        let call = Call::Shell {
            command: text(Place::Command, "make".to_owned()),
            output: text(Place::Output, "done\n".to_owned()),
            failed: false,
        };
        vec![
            Event::Prompt {
                text: text(Place::Prompt, self.prose(8, 30)),
                image: None,
            },
            Event::Call(call),
            Event::Answer {
                text: text(Place::Answer, self.prose(8, 30)),
            },
        ]
    }

    /// A turn with an image so large that its line is longer than others are in all.
    pub(super) fn turn_with_image(&self, digits: usize) -> Vec<Event> {
        vec![
            Event::Prompt {
                text: self.prose(8, 30),
                image: Some(Text::image(&self.chance, digits)),
            },
            Event::Answer {
                text: self.prose(8, 30),
            },
        ]
    }
}

impl Call {
    /// The whole file after an edit.
    pub(super) fn edited(original: &str, old: &str, new: &str) -> String {
        original.replacen(old, new, 1)
    }

    /// An edit as a patch without lines around it.
    pub(super) fn patch(old: &str, new: &str) -> String {
        let line = |sign: char, line: &str| format!("{sign}{}\n", line.trim_end_matches('\n'));
        let removed = old.lines().map(|l| line('-', l));
        let added = new.lines().map(|l| line('+', l));
        removed.chain(added).collect()
    }
}
