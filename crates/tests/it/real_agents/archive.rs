//! Sessions whose transcript is deleted, as agents delete old ones: `siglum resume` puts it back from the ledger, and the
//! agent goes on with the whole conversation.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::agents::{Agent, Start};
use super::lab::Lab;
use super::programs;

impl Lab {
    /// A directory for a program under the name by which `siglum resume` starts it.
    fn programs(&self) -> PathBuf {
        let dir = self.beside("programs");
        fs::create_dir(&dir).expect("a directory");
        dir
    }

    /// `siglum resume` of a session, with programs that are found before all others.
    fn resume(&self, agent: Agent, programs: &Path, session: &str, arguments: &[&str]) -> Command {
        let mut command = self.command(programs::path("SIGLUM_BIN"));
        command.args(["resume", session, "--"]).args(arguments);
        command.envs(agent.environment(&self.model.url()));
        let before = self.environment();
        let path = before.iter().find(|(name, _)| *name == "PATH");
        let path = path.map_or("", |(_, path)| path.as_str());
        command.env("PATH", format!("{}:{path}", programs.display()));
        command
    }

    /// Deletes what an agent keeps below a directory of its own.
    #[track_caller]
    fn delete_transcripts(&self, below: &str) {
        fs::remove_dir_all(self.home().join(below)).expect("transcripts were there");
    }

    /// The model was told the whole conversation: what a script began, and what became of it.
    #[track_caller]
    fn was_told(&self, scenario: &str, said: &str) {
        let told = self.model.last_body();
        let marker = format!("[[scenario:{scenario}]]");
        assert!(told.contains(&marker) && told.contains(said), "{told}");
    }
}

#[test]
fn claude_code_goes_on_from_the_ledger() {
    let Some(lab) = Lab::open() else { return };
    let session = lab.run(Start::New, "write_commit");
    lab.book();
    let before = lab.transcript(&session).expect("a transcript");
    lab.delete_transcripts(".claude/projects");
    let programs = lab.programs();
    symlink(Agent::Claude.program(), programs.join("claude")).expect("a link");
    let prompt = lab.prompt("say");
    let quiet = ["--dangerously-skip-permissions", "--output-format", "json"];
    let arguments = [&["-p", prompt.as_str()][..], &quiet].concat();
    let command = lab.resume(Agent::Claude, &programs, &session, &arguments);
    let resumed = lab.begin(Agent::Claude, command, "resumed from the ledger".to_owned());
    assert_eq!(resumed.finish(), session);
    lab.was_told("write_commit", "hello.txt");
    let after = lab.transcript(&session).expect("a transcript");
    let prompts = |text: &str| text.matches("[[scenario:write_commit]]").count();
    assert!(prompts(&after) >= 1 && prompts(&before) >= 1, "{after}");

    let book = lab.book();
    lab.agrees_with_the_model(&book);
    let record = book.session(&session);
    assert_eq!(record.scripts(), ["write_commit", "say"]);
}

#[test]
fn codex_goes_on_from_the_ledger() {
    let Some(lab) = Lab::open_for(&[Agent::Codex]) else {
        return;
    };
    let session = lab.work_by(Agent::Codex, Start::New, "write_commit");
    lab.book();
    lab.delete_transcripts(".codex/sessions");
    let programs = lab.programs();
    // Without a screen it takes the same id and prompt behind other words.
    let codex = programs.join("codex");
    let script = format!(
        "#!/bin/sh\n[ \"$1\" = resume ] || exit 64\n\
         exec '{}' exec --json --dangerously-bypass-approvals-and-sandbox resume \"$2\" \"$3\"\n",
        Agent::Codex.program().display()
    );
    fs::write(&codex, script).expect("a script");
    fs::set_permissions(&codex, fs::Permissions::from_mode(0o755)).expect("a program");
    let prompt = lab.prompt("write_commit2");
    let command = lab.resume(Agent::Codex, &programs, &session, &[prompt.as_str()]);
    let resumed = lab.begin(Agent::Codex, command, "resumed from the ledger".to_owned());
    assert_eq!(resumed.finish(), session);
    lab.was_told("write_commit", "hello.txt");

    let book = lab.book();
    let record = book.session(&session);
    assert_eq!(record.scripts(), ["write_commit", "write_commit2"]);
    let why = lab.why(&lab.head(), &session, "certain", &book);
    why.wrote(&[("second.txt", &session)]);
}
