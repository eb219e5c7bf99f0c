//! Tool calls whose result has not been read yet.

use std::collections::VecDeque;

use siglum_domain::{NativeId, Timestamp};

use crate::mentions::CommitOutput;

/// Most calls that are remembered.
const LIMIT: usize = 512;

/// What the result of a call is looked at for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// The change of a file.
    Edit,
    /// The commits that it names.
    Commit(CommitOutput),
    /// Nothing.
    Other,
}

impl Purpose {
    /// The purpose of a call of this tool, with the command if it is one of the shell.
    pub(super) fn for_tool(tool: &str, command: Option<&str>) -> Self {
        match (tool, command) {
            ("Write" | "Edit" | "MultiEdit", _) => Self::Edit,
            ("Bash", Some(command)) => {
                CommitOutput::from_command(command).map_or(Self::Other, Self::Commit)
            }
            _ => Self::Other,
        }
    }
}

/// Whose a line is.
#[derive(Debug, Clone)]
pub(super) struct Owner {
    pub(super) id: NativeId,
    pub(super) copied: bool,
}

#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) event: String,
    pub(super) purpose: Purpose,
    pub(super) owner: Owner,
    pub(super) at: Option<Timestamp>,
}

/// The calls, oldest first.
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

    /// Takes the call that a result belongs to.
    pub(super) fn end(&mut self, event: &str) -> Option<Call> {
        let at = self.0.iter().rposition(|call| call.event == event)?;
        self.0.remove(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_shell_commands_that_commit_count() {
        let check = |command: &str, expected: Purpose| {
            assert_eq!(
                Purpose::for_tool("Bash", Some(command)),
                expected,
                "{command}"
            );
        };
        check("git commit -m x", Purpose::Commit(CommitOutput::Commit));
        check("jj commit", Purpose::Commit(CommitOutput::Commit));
        check("git log", Purpose::Other);
        check("git rev-parse HEAD", Purpose::Other);
        for head in [
            "git commit -q -m 'x' && git rev-parse HEAD",
            "git commit -m x; git rev-parse HEAD; git status",
            "git commit -m \"x\"\ngit rev-parse HEAD\n",
            "git commit -m x && echo $(git rev-parse HEAD)",
            "git commit -m x && echo \"`git -C /repo rev-parse HEAD`\" && git rev-parse HEAD",
        ] {
            check(head, Purpose::Commit(CommitOutput::CommitThenHead));
        }
        for other in [
            "git rev-parse HEAD && git commit -q -m x",
            "git rev-parse HEAD; git commit -q -m x; git rev-parse HEAD",
            "git commit -q -m x && git rev-parse HEAD~1",
            "git commit -q -m x && git rev-parse HEAD^",
            "git commit -q -m x && git rev-parse HEAD:dir",
            "git commit -q -m x && git rev-parse HEAD && git rev-parse origin/main",
            "git commit -q -m x && git rev-parse --short HEAD",
        ] {
            check(other, Purpose::Commit(CommitOutput::Commit));
        }
        assert_eq!(Purpose::for_tool("Bash", None), Purpose::Other);
        assert_eq!(
            Purpose::for_tool("Task", Some("git commit")),
            Purpose::Other
        );
        for tool in ["Write", "Edit", "MultiEdit"] {
            assert_eq!(Purpose::for_tool(tool, None), Purpose::Edit);
        }
        assert_eq!(Purpose::for_tool("NotebookEdit", None), Purpose::Other);
    }

    #[test]
    fn calls_without_a_result_are_forgotten_in_the_end() {
        let call = |n: usize| Call {
            event: format!("tool:{n}"),
            purpose: Purpose::Edit,
            owner: Owner {
                id: siglum_domain::NativeId::new("s").expect("a native id"),
                copied: false,
            },
            at: None,
        };
        let mut calls = Calls::default();
        (0..=LIMIT).for_each(|n| calls.begin(call(n)));
        assert!(calls.end("tool:0").is_none());
        assert!(calls.end("tool:1").is_some());
        assert!(calls.end("tool:1").is_none());
        assert_eq!(calls.0.len(), LIMIT - 1);
    }
}
