//! Claude Code with its screen, in a terminal that nobody sees.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::json;

use super::agents::Agent;
use super::lab::Lab;
use super::programs::{program, stdout, wait_until};

/// A terminal with the agent in it; both end with this value.
pub(super) struct Screen {
    socket: PathBuf,
}

impl Lab {
    /// Starts the agent in a terminal and waits until it takes input.
    #[track_caller]
    pub(super) fn screen(&self) -> Screen {
        self.answer_first_questions();
        let screen = Screen {
            socket: self.beside("tmux"),
        };
        let mut command = screen.tmux();
        command.args(["new-session", "-d", "-x", "160", "-y", "50", "-c"]);
        command.arg(self.work()).args(["env", "-i"]);
        let variables = self.claude_environment();
        let words = variables
            .iter()
            .filter(|(name, _)| *name != "TERM")
            .map(|(name, value)| format!("{name}={value}"));
        command.args(words).arg("TERM=xterm-256color");
        command
            .arg(Agent::Claude.program())
            .arg("--dangerously-skip-permissions");
        stdout(&mut command);
        screen.wait("bypass permissions on");
        screen
    }

    /// The welcome screen insists on the vendor's host: it is told that all was answered before.
    fn answer_first_questions(&self) {
        let work = self.work().to_string_lossy().into_owned();
        let answers = json!({
            "hasCompletedOnboarding": true,
            "bypassPermissionsModeAccepted": true,
            "theme": "dark",
            "customApiKeyResponses": {"approved": ["dummy"], "rejected": []},
            "projects": {work: {
                "hasTrustDialogAccepted": true,
                "hasCompletedProjectOnboarding": true,
            }},
        });
        fs::write(self.home().join(".claude.json"), answers.to_string()).expect("a file");
    }
}

impl Screen {
    fn tmux(&self) -> Command {
        let mut tmux = program("tmux");
        tmux.env_remove("TMUX").arg("-S").arg(&self.socket);
        tmux.args(["-f", "/dev/null"]);
        tmux
    }

    /// What is on it.
    pub(super) fn text(&self) -> String {
        let output = self.tmux().args(["capture-pane", "-p", "-J"]).output();
        let output = output.expect("tmux starts");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Waits until something is on it.
    #[track_caller]
    pub(super) fn wait(&self, what: &str) {
        wait_until(&format!("{what:?} on the screen"), || {
            self.text().contains(what)
        });
    }

    /// Types a line, waits until it stands there, and sends it.
    #[track_caller]
    pub(super) fn enter(&self, line: &str) {
        stdout(self.tmux().args(["send-keys", "-l", line]));
        let end: String = line.chars().rev().take(12).collect();
        let end: String = end.chars().rev().collect();
        wait_until("what was typed on the screen", || {
            let shown: String = self.text().split_whitespace().collect();
            let end: String = end.split_whitespace().collect();
            shown.contains(&end)
        });
        stdout(self.tmux().args(["send-keys", "Enter"]));
    }

    /// Leaves the agent.
    #[track_caller]
    pub(super) fn leave(&self) {
        self.enter("/exit");
        wait_until("the agent to leave", || {
            let there = self.tmux().arg("has-session").output();
            !there.expect("tmux starts").status.success()
        });
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = self.tmux().arg("kill-server").output();
    }
}
