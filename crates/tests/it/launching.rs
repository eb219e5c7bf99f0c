//! `siglum run`: an agent is launched as a session that is known before it runs.

mod claims;
mod ends;
mod links;
mod played;
mod sandboxes;
mod signals;
mod unrecorded;
mod variables;
mod without_proc;
mod worktrees;

use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::harness::{Agent, Repo, World, until};

pub(crate) const COMMIT: &str = "git commit -q --allow-empty -m work";

/// `siglum run` that is under way.
pub(crate) struct Launch {
    child: Child,
}

impl Launch {
    /// A command of `siglum run` in a checkout, with these arguments before the command.
    fn command(repo: &Repo<'_>, variables: &[(&str, &str)], script: &str) -> Command {
        let mut command = repo.world.command("/bin/sh");
        command
            .arg("-c")
            .arg(script)
            .envs(variables.iter().copied());
        command.current_dir(&repo.dir);
        command
    }

    /// Launches a played agent; it has said nothing yet.
    pub(crate) fn agent(
        repo: &Repo<'_>,
        native: &str,
        variables: &[(&str, &str)],
        flags: &str,
    ) -> (Agent, Self) {
        Self::new(repo, native, variables, flags, |command| command.to_owned())
    }

    /// Launches something that starts a played agent with the command that it is given.
    fn new(
        repo: &Repo<'_>,
        native: &str,
        variables: &[(&str, &str)],
        flags: &str,
        what: impl FnOnce(&str) -> String,
    ) -> (Agent, Self) {
        let mut child = None;
        let program = Agent::program();
        let agent = Agent::started_by(repo, native, &program, |command| {
            let siglum = World::program();
            let script = format!(
                "exec '{}' run {flags} -- {}",
                siglum.display(),
                what(command)
            );
            let mut command = Self::command(repo, variables, &script);
            child = Some(command.stderr(Stdio::null()).spawn().unwrap());
        });
        let child = child.unwrap();
        (agent, Self { child })
    }

    /// Waits until it is over, and gives its exit code.
    pub(crate) fn over(mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }
}

/// The sessions of a world, newest first.
pub(crate) fn sessions(repo: &Repo<'_>) -> Vec<Value> {
    let listed = repo.world.json(&repo.dir, &["session", "list"]);
    listed["items"].as_array().unwrap().clone()
}

/// A session as `siglum show` has it.
#[track_caller]
fn show(repo: &Repo<'_>, session: &str) -> Value {
    repo.world.json(&repo.dir, &["session", "show", session])
}

/// The id of the session that an agent calls so.
#[track_caller]
fn called_session(repo: &Repo<'_>, native: &str) -> String {
    let session = show(repo, native);
    session["session"]["id"].as_str().unwrap().to_owned()
}

/// The only session that was launched.
#[track_caller]
fn launched(repo: &Repo<'_>) -> Value {
    let all = sessions(repo).into_iter();
    let all: Vec<Value> = all.filter(|s| s["origin"] == "launch").collect();
    assert_eq!(all.len(), 1, "{all:#?}");
    show(repo, all[0]["id"].as_str().unwrap())
}

/// The links in an answer, as `field=value`.
pub(crate) fn links(of: &Value) -> Vec<String> {
    let link = |l: &Value| {
        let field = l["field"].as_str().unwrap();
        let is_number = field.ends_with("_number");
        match &l["value"] {
            Value::String(text) if !is_number => format!("{field}={text}"),
            Value::Number(number) if is_number => format!("{field}={number}"),
            other => panic!("{field} is {other}"),
        }
    };
    of["links"].as_array().unwrap().iter().map(link).collect()
}

/// Whether a process is stopped.
fn is_stopped(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ")
        .is_some_and(|(_, rest)| rest.starts_with('T'))
}

/// Waits until a file has something in it, and gives that.
#[track_caller]
fn written(repo: &Repo<'_>, name: &str) -> String {
    let path = repo.world.root.join(name);
    let mut text = String::new();
    until(&format!("{name} is written"), || {
        text = std::fs::read_to_string(&path).unwrap_or_default();
        text.ends_with('\n')
    });
    text
}
