//! What one actor does in one step of the day.

use std::fs;

use serde_json::json;

use crate::harness::{Agent, Dice, Repo, Terminal};

/// How a piece of work gets into history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Message,
    Editor,
    Amend,
    AmendKept,
    Fixup,
    Autosquash,
    Rebase,
    Merge,
    Pick,
    Revert,
    Detached,
    DetachedHead,
    Twice,
    WithoutHooks,
    Stash,
    Reset,
    Nothing,
}

const FORMS: &[(u64, Form)] = &[
    (24, Form::Message),
    (8, Form::Editor),
    (6, Form::Amend),
    (5, Form::AmendKept),
    (5, Form::Fixup),
    (5, Form::Autosquash),
    (4, Form::Rebase),
    (6, Form::Merge),
    (5, Form::Pick),
    (4, Form::Revert),
    (8, Form::Detached),
    (3, Form::DetachedHead),
    (4, Form::Twice),
    (4, Form::WithoutHooks),
    (3, Form::Stash),
    (3, Form::Reset),
    (3, Form::Nothing),
];

impl Form {
    fn roll(dice: &mut Dice) -> Self {
        let mut left = dice.roll(FORMS.iter().map(|(weight, _)| weight).sum());
        for (weight, form) in FORMS {
            if left < *weight {
                return *form;
            }
            left -= weight;
        }
        Self::Message
    }

    /// Whether git makes commits of old ones. Meanwhile hooks of git leave, whoever commits there.
    pub(super) const fn rebases(self) -> bool {
        matches!(self, Self::Autosquash | Self::Rebase)
    }

    /// Whether git writes to files of the checkout.
    const fn rewrites_files(self) -> bool {
        let moves = matches!(self, Self::Merge | Self::Pick | Self::Revert);
        self.rebases() || moves || matches!(self, Self::Stash | Self::DetachedHead)
    }

    /// Whether files are edited first; the others need a clean checkout.
    const fn edits(self) -> bool {
        !matches!(
            self,
            Self::Autosquash | Self::Rebase | Self::Merge | Self::Pick | Self::Revert | Self::Reset
        )
    }

    /// The command. `own` is the branch of the checkout, `other` that of the other one.
    fn command(self, subject: &str, own: &str, other: &str) -> String {
        match self {
            Self::Message => format!("git add -A && git commit -q -m '{subject}'"),
            Self::Editor => {
                format!("git add -A && GIT_EDITOR='sed -i \"1i{subject}\"' git commit -q")
            }
            Self::Amend => format!("git add -A && git commit -q --amend -m '{subject}'"),
            Self::AmendKept => "git add -A && git commit -q --amend --no-edit".to_owned(),
            Self::Fixup => "git add -A && git commit -q --fixup=HEAD~1".to_owned(),
            Self::Autosquash => {
                "GIT_SEQUENCE_EDITOR=: git rebase -q -i --autosquash -X theirs HEAD~3".to_owned()
            }
            Self::Rebase => "git rebase -q --force-rebase HEAD~2".to_owned(),
            Self::Merge => format!("git merge -q --no-edit -X theirs {other}"),
            Self::Pick => {
                format!("git cherry-pick -X theirs {other} || git cherry-pick --abort")
            }
            Self::Revert => "git revert --no-edit HEAD || git revert --abort".to_owned(),
            Self::Detached => {
                format!(
                    "git add -A && {{ setsid git commit -q -m '{subject}' </dev/null >/dev/null 2>&1 & }}"
                )
            }
            Self::DetachedHead => format!(
                "git checkout -q --detach && git add -A && git commit -q -m '{subject}' && git checkout -q {own}"
            ),
            Self::Twice => format!(
                "git add -A && git commit -q -m '{subject}' && git commit -q --allow-empty -m '{subject} again'"
            ),
            Self::WithoutHooks => {
                format!("git add -A && git -c core.hooksPath=/dev/null commit -m '{subject}'")
            }
            Self::Stash => format!(
                "git stash -q -u && git stash pop -q && git add -A && git commit -q -m '{subject}'"
            ),
            Self::Reset => {
                format!("git reset -q --soft HEAD~1 && git commit -q -m '{subject}'")
            }
            Self::Nothing => "git status --short".to_owned(),
        }
    }
}

/// How a session comes to its next turn, and what happens in it beside the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mood {
    Plain,
    Compacts,
    Clears,
    Delegates,
    Ends,
}

/// One step of one actor.
#[derive(Debug, Clone)]
pub(super) struct Shift {
    pub(super) number: u32,
    pub(super) form: Form,
    pub(super) mood: Mood,
    /// Whether a session whose process is gone goes on; else another one begins.
    pub(super) resumes: bool,
    own: &'static str,
    other: &'static str,
    file: u64,
    replaces: bool,
    edits: bool,
}

/// The branches of the two checkouts.
const BRANCHES: [&str; 2] = ["main", "side"];

impl Shift {
    pub(super) fn roll(dice: &mut Dice, number: u32, tree: usize) -> Self {
        // What goes back in history needs some.
        let form = match Form::roll(dice) {
            _ if number < 12 => Form::Message,
            form => form,
        };
        let mood = match dice.roll(20) {
            0 => Mood::Compacts,
            1 => Mood::Clears,
            2..4 => Mood::Delegates,
            4 => Mood::Ends,
            _ => Mood::Plain,
        };
        Self {
            number,
            form,
            mood,
            resumes: !dice.once_in(3),
            own: BRANCHES[tree],
            other: BRANCHES[1 - tree],
            file: dice.roll(4),
            replaces: dice.once_in(3),
            edits: form.edits(),
        }
    }

    /// Two that work in one checkout at the same time do not write to the same file in the same
    /// millisecond: no hook could tell their lines apart, and real tools refuse to.
    pub(super) fn beside(&mut self, other: &mut Self) {
        (self.file, other.file) = (self.file % 2, 2 + other.file % 2);
        self.edits &= !other.form.rewrites_files();
        other.edits &= !self.form.rewrites_files();
    }

    fn path(&self) -> String {
        format!("file-{}", self.file)
    }

    fn command(&self, who: &str) -> String {
        let subject = format!("{} by {who}", self.number);
        self.form.command(&subject, self.own, self.other)
    }

    /// What a person or a script runs. A commit that its parent left behind, in a checkout where the
    /// tool of one session runs, is likely taken for that session's.
    fn attended(&self, who: &str) -> String {
        match self.form {
            Form::Detached => {
                Form::Message.command(&format!("{} by {who}", self.number), self.own, self.other)
            }
            _ => self.command(who),
        }
    }

    /// The file with a line more, or another one, that names who wrote it.
    fn change(&self, who: &str, part: u32, text: &str) -> String {
        let mut lines: Vec<&str> = text.lines().collect();
        let line = format!("{}.{part} by {who}", self.number);
        if lines.len() > 5 || self.replaces && !lines.is_empty() {
            let at = usize::try_from(self.number).unwrap() % lines.len();
            lines[at] = &line;
        } else {
            lines.push(&line);
        }
        lines.join("\n") + "\n"
    }

    /// An agent works: a turn with its edits and its command.
    pub(super) fn by_agent(&self, agent: &mut Agent, repo: &Repo<'_>) {
        if !agent.lives() {
            agent.resume(repo);
        }
        if self.mood == Mood::Clears {
            agent.clear(&format!("{}-cleared-{}", stem(&agent.native), self.number));
        }
        let who = agent.native.clone();
        agent.prompt(&format!("Do number {}.", self.number));
        if self.mood == Mood::Compacts {
            agent.hook(
                "PostCompact",
                json!({ "trigger": "auto", "compact_summary": "So far." }),
            );
            agent.hook("SessionStart", json!({ "source": "compact" }));
        }
        let helper =
            json!({ "agent_id": format!("helper-{}", self.number), "agent_type": "general" });
        if self.mood == Mood::Delegates {
            agent.hook("SubagentStart", helper.clone());
        }
        if self.edits {
            agent.change(&self.path(), |text| self.change(&who, 1, &text));
            agent.change(&self.path(), |text| self.change(&who, 2, &text));
        }
        if self.mood == Mood::Delegates {
            agent.hook("SubagentStop", helper);
        }
        if !agent.dead {
            agent.sh(&self.command(&who));
        }
        agent.stop();
        if self.mood == Mood::Ends {
            agent.end("prompt_input_exit");
            agent.quit();
        }
    }

    /// A person works, with a real editor and a real terminal.
    pub(super) fn by_person(&self, terminal: &mut Terminal, repo: &Repo<'_>) {
        self.by_hand("human", repo);
        terminal.type_in(&format!("cd '{}'", repo.dir.display()));
        terminal.type_in(&self.attended("human"));
    }

    /// A script works that nobody started from a terminal.
    pub(super) fn by_nobody(&self, repo: &Repo<'_>) {
        self.by_hand("nobody", repo);
        let command = self.attended("nobody");
        repo.sh(&format!(
            "export GIT_COMMITTER_NAME=nobody GIT_AUTHOR_NAME=nobody; {command}"
        ));
    }

    fn by_hand(&self, who: &str, repo: &Repo<'_>) {
        if self.edits {
            let path = repo.dir.join(self.path());
            let text = fs::read_to_string(&path).unwrap_or_default();
            fs::write(path, self.change(who, 1, &text)).unwrap();
        }
    }
}

/// The part of a session's name that tells who it is.
pub(super) fn stem(native: &str) -> &str {
    native.split_once('-').map_or(native, |(stem, _)| stem)
}
