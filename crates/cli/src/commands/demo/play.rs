//! What the newcomer started: makes the directory, lets the stage play, asks, and prints.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::anyhow;
use siglum_gitstore::{Git, MINIMUM_GIT};

use super::answer::{self, siglum};
use super::sandbox::{Part, Sandbox};
use super::show;
use super::stage;
use super::wire::{Json, Played, Row, SCHEMA, StageMessage};
use crate::cx::Cx;
use crate::env;
use crate::error::{CommandError, Kind};

/// How long the play may take; it takes a second or two.
const MOST: Duration = Duration::from_secs(60);
/// How long clearing up may take.
const CLEAR: Duration = Duration::from_secs(10);

/// Plays, asks, prints and clears up.
pub fn run(keep: bool, cx: &Cx) -> Result<(), CommandError> {
    check_git(cx)?;
    let began = Instant::now();
    let dir = tempfile::Builder::new().prefix("siglum-demo-").tempdir();
    let dir = dir.map_err(|e| {
        CommandError::failed(format!("cannot create a temporary directory: {e}"))
            .hint("Set TMPDIR to another directory.")
    })?;
    let sandbox = Sandbox::at(dir.path().canonicalize()?);
    let mut stage = Stage::start(&sandbox)?;
    let played = stage.listen(cx)?;
    let rows = answer::rows(&sandbox, &played)?;
    let mut shown = Json {
        directory: None,
        duration_ms: 0,
        commits: rows,
    };
    let why = if cx.ui.json {
        None
    } else {
        Some(why(cx, &sandbox, &shown.commits)?)
    };
    let complaints = std::fs::read_to_string(sandbox.siglum_home().log()).unwrap_or_default();
    shown.duration_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    if keep {
        stage.keep()?;
        std::fs::write(sandbox.siglum_home().demo(), "")?;
        shown.directory = Some(sandbox.root().display().to_string());
        let _ = dir.keep();
    }
    drop(stage);
    let right = check(&shown.commits).and_then(|()| silent(&complaints));
    match why {
        Some(why) => show::print(cx, &sandbox, &played, &shown, &why)?,
        None => cx.ui.json(SCHEMA, &shown)?,
    }
    right
}

fn check_git(cx: &Cx) -> Result<(), CommandError> {
    let version = Git::new(env::git(), &cx.dir).version()?;
    if version >= MINIMUM_GIT {
        return Ok(());
    }
    let error = format!("git {version} is too old for Siglum");
    Err(CommandError::failed(error).hint(format!("Install git {MINIMUM_GIT} or newer.")))
}

/// The stage as the process sees it that the newcomer started. When this is dropped, the stage
/// clears up.
struct Stage {
    stdin: Option<ChildStdin>,
    messages: Receiver<StageMessage>,
}

impl Stage {
    fn start(sandbox: &Sandbox) -> Result<Self, CommandError> {
        let mut usher = sandbox.backstage(Part::Usher)?;
        let mut usher = usher.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let (stdin, stdout) = (usher.stdin.take(), usher.stdout.take());
        let (say, messages) = channel();
        thread::spawn(move || {
            let lines = stdout
                .into_iter()
                .flat_map(|out| BufReader::new(out).lines());
            for line in lines.map_while(Result::ok) {
                let Ok(line) = serde_json::from_str(&line) else {
                    continue;
                };
                if say.send(line).is_err() {
                    return;
                }
            }
        });
        let stage = Self { stdin, messages };
        let status = usher.wait()?;
        if !status.success() {
            return Err(broken(&format!("the demo process did not start: {status}")));
        }
        Ok(stage)
    }

    /// Tells what happens until the play is over.
    fn listen(&mut self, cx: &Cx) -> Result<Played, CommandError> {
        let end = Instant::now() + MOST;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            match self.messages.recv_timeout(left) {
                Ok(StageMessage::Doing(text)) => cx.ui.status(text),
                Ok(StageMessage::Done(played)) => return Ok(played),
                Ok(StageMessage::Failed { error, hints }) => {
                    let mut broken = broken(&error);
                    if !hints.is_empty() {
                        broken.hints = hints;
                    }
                    return Err(broken);
                }
                Err(RecvTimeoutError::Timeout) => {
                    let error = format!("it timed out after {} s", MOST.as_secs());
                    return Err(broken(&error));
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(broken("the demo process ended without a result"));
                }
            }
        }
    }

    /// The directory is to stay.
    fn keep(&mut self) -> Result<(), CommandError> {
        if let Some(stdin) = &mut self.stdin {
            stdin.write_all(stage::KEEP)?;
        }
        Ok(())
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        drop(self.stdin.take());
        let end = Instant::now() + CLEAR;
        while self
            .messages
            .recv_timeout(end.saturating_duration_since(Instant::now()))
            .is_ok()
        {}
    }
}

fn broken(error: &str) -> CommandError {
    CommandError::failed(format!("the demo failed: {error}"))
        .hint("Run `siglum demo` again (it left no files), and report the error if it persists.")
}

/// Anything but the truth is our bug.
fn check(rows: &[Row]) -> Result<(), CommandError> {
    let wrong: Vec<String> = rows
        .iter()
        .filter(|row| !row.right)
        .map(|row| {
            let (commit, kind) = (show::short(&row.commit), &row.kind);
            format!(
                "{commit} was made by {}, but Siglum reports {kind}",
                row.made_by
            )
        })
        .collect();
    if wrong.is_empty() {
        return Ok(());
    }
    Err(bug(&format!("wrong result: {}", wrong.join("; "))))
}

/// Hooks write to the log what they decline or lose; here there is no reason to.
fn silent(complaints: &str) -> Result<(), CommandError> {
    match complaints.lines().next() {
        Some(line) => Err(bug(&format!("a hook reported an error: {line}"))),
        None => Ok(()),
    }
}

fn bug(text: &str) -> CommandError {
    CommandError {
        kind: Kind::Bug,
        source: anyhow!("{text}"),
        hints: vec!["This is a bug in Siglum; please report it with this output.".to_owned()],
    }
}

/// One answer of `siglum why` in full.
fn why(cx: &Cx, sandbox: &Sandbox, rows: &[Row]) -> Result<String, CommandError> {
    let Some(row) = show::telling(rows) else {
        return Ok(String::new());
    };
    let color = format!(
        "--color={}",
        if cx.ui.is_colored() {
            "always"
        } else {
            "never"
        }
    );
    let width = cx.ui.width().min(100).to_string();
    let output = siglum(sandbox, &["why", &row.commit, &color], &width)?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(authors: &[char], right: bool) -> Row {
        Row {
            commit: "0123456789abcdef".to_owned(),
            subject: authors.iter().collect(),
            made_by: "a person".to_owned(),
            kind: "unknown".to_owned(),
            session: None,
            letter: None,
            verdict: "unknown".to_owned(),
            authors: authors.to_vec(),
            right,
        }
    }

    #[test]
    fn a_complaint_of_a_hook_is_our_bug() {
        assert!(silent("").is_ok());
        assert_eq!(silent("not_json: x\n").unwrap_err().kind, Kind::Bug);
    }

    #[test]
    fn a_wrong_answer_is_our_bug_and_named() {
        assert!(check(&[row(&['A'], true)]).is_ok());
        let error = check(&[row(&['A'], true), row(&['B'], false)]).unwrap_err();
        assert_eq!(error.kind, Kind::Bug);
        assert_eq!(
            error.source.to_string(),
            "wrong result: 0123456789 was made by a person, but Siglum reports unknown"
        );
    }
}
