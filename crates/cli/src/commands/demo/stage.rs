//! The stage: cut loose from everything above it, it directs the play, and clears up when nobody
//! listens any more.

use std::fs;
use std::io::Read as _;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use rustix::process::getppid;
use siglum_agents::recognise;

use super::cast::Company;
use super::sandbox::{Part, Sandbox};
use super::story;
use super::wire::StageMessage;
use crate::cx::Cx;
use crate::error::CommandError;
use crate::platform;

/// What the stage is told if the directory is to stay.
pub const KEEP: &[u8] = b"keep";

/// Starts the stage and ends, so that the first process of the system becomes its parent.
pub fn usher(root: PathBuf) -> Result<(), CommandError> {
    let sandbox = Sandbox::at(root);
    let mut stage = sandbox.backstage(Part::Stage)?;
    let own = std::process::id().to_string();
    drop(stage.args(["--from", &own]).spawn()?);
    Ok(())
}

/// Directs the play and tells of it on standard output; ends when standard input does.
pub fn run(cx: &Cx, root: PathBuf, from: Option<i32>) -> Result<(), CommandError> {
    platform::detach();
    let sandbox = Sandbox::at(root);
    let company = Company::default();
    let say = |message: &StageMessage| {
        if let Ok(line) = serde_json::to_string(message) {
            // A listener that is gone is noticed at standard input.
            let _ = cx.ui.line(line);
        }
    };
    let keep = thread::scope(|scope| {
        scope.spawn(|| {
            let doing = |text: &str| say(&StageMessage::Doing(text.to_owned()));
            let played = company
                .wait_for("to be detached", || parent() != from)
                .and_then(|()| sandbox.prepare())
                .and_then(|()| story::play(&sandbox, &company, obstacle(), &doing));
            say(&played.map_or_else(failed, StageMessage::Done));
        });
        let mut input = Vec::new();
        let _ = std::io::stdin().read_to_end(&mut input);
        company.disband();
        input == KEEP
    });
    if keep { Ok(()) } else { clear_up(&sandbox) }
}

fn parent() -> Option<i32> {
    getppid().map(|pid| pid.as_raw_nonzero().get())
}

fn failed(error: CommandError) -> StageMessage {
    StageMessage::Failed {
        error: format!("{:#}", error.source),
        hints: error.hints,
    }
}

/// Runs the script of the play, as a program does that has no terminal.
pub fn run_script(root: PathBuf) -> Result<(), CommandError> {
    let sandbox = Sandbox::at(root);
    let mut shell = sandbox.command("/bin/sh".as_ref());
    let output = shell.arg(story::script(&sandbox)).output()?;
    if output.status.success() {
        return Ok(());
    }
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(CommandError::failed(format!("the script failed: {stderr}")))
}

/// What keeps a person in this play from being told apart: an agent that is the first process of
/// the system, or a system that does not show its processes.
fn obstacle() -> Option<String> {
    let (chain, paths) = platform::chain_with_paths();
    if chain.ancestors.is_empty() {
        return Some("this system does not show the parents of processes".to_owned());
    }
    if chain.is_cut() {
        return Some("processes outside this container are not visible in it".to_owned());
    }
    let agent = paths.iter().find_map(|p| {
        recognise(
            p.executable.as_deref(),
            p.script.as_deref(),
            p.title.as_deref(),
        )
    })?;
    Some(format!("this terminal runs in an agent ({})", agent.name))
}

/// A process that still ends may write for a moment, so removing is tried again.
fn clear_up(sandbox: &Sandbox) -> Result<(), CommandError> {
    for _ in 0..50 {
        if fs::remove_dir_all(sandbox.root()).is_ok() || !sandbox.root().exists() {
            return Ok(());
        }
        thread::sleep(Duration::from_millis(20));
    }
    Ok(fs::remove_dir_all(sandbox.root())?)
}
