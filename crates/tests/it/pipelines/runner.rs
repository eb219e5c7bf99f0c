//! Whoever runs a pipeline: it records what happens and launches sessions in it.

use std::process::{Child, Stdio};

use serde_json::Value;

use crate::harness::{Agent, Ran, Repo, World, until};

/// The runner of one pipeline, in one repository.
pub(super) struct Runner<'w> {
    pub(super) repo: Repo<'w>,
    pub(super) id: &'static str,
}

/// A command that was launched as a session of a pipeline, and ends when it is told to.
pub(super) struct Launched {
    child: Child,
    go: std::path::PathBuf,
}

impl Launched {
    /// Lets it end, and gives its exit code.
    pub(super) fn end(mut self) -> Option<i32> {
        std::fs::write(&self.go, "").unwrap();
        self.child.wait().unwrap().code()
    }
}

impl<'w> Runner<'w> {
    pub(super) fn new(world: &'w World, id: &'static str) -> Self {
        Self {
            repo: world.repo(),
            id,
        }
    }

    /// Runs `siglum pipeline VERB [NOUN] ID …`.
    pub(super) fn says(&self, verb: &[&str], rest: &[&str]) -> Ran {
        self.repo
            .siglum(&[&["pipeline"], verb, &[self.id], rest].concat())
    }

    #[track_caller]
    pub(super) fn start(&self, phase: &str) {
        self.says(&["phase", "start"], &[phase]).ok();
    }

    #[track_caller]
    pub(super) fn end(&self, phase: &str, outcome: &str) {
        self.says(&["phase", "end"], &[phase, "--outcome", outcome])
            .ok();
    }

    /// The flags that link a session to this pipeline.
    fn flags(&self, phase: &str, role: &str) -> String {
        format!("--pipeline '{}' --phase '{phase}' --role '{role}'", self.id)
    }

    /// Launches a shell script as a session and waits for its end.
    pub(super) fn runs(&self, phase: &str, role: &str, script: &str) -> Ran {
        let siglum = World::program();
        let flags = self.flags(phase, role);
        let script = script.replace('\'', "'\\''");
        self.repo.sh(&format!(
            "'{}' run {flags} -- sh -c '{script}'",
            siglum.display()
        ))
    }

    /// Launches a command that goes on until it is told to end; it runs when this returns.
    pub(super) fn launches(&self, phase: &str, role: &str) -> Launched {
        let file = |end: &str| self.repo.world.root.join(format!("{phase}-{role}.{end}"));
        let (up, go) = (file("up"), file("go"));
        let script = format!(
            "exec '{}' run {} -- sh -c 'touch \"{}\"; until [ -e \"{}\" ]; do sleep 0.02; done'",
            World::program().display(),
            self.flags(phase, role),
            up.display(),
            go.display()
        );
        let mut command = self.repo.world.command("/bin/sh");
        command.args(["-c", &script]).current_dir(&self.repo.dir);
        let child = command.stderr(Stdio::null()).spawn().unwrap();
        until("the command runs", || up.exists());
        Launched { child, go }
    }

    /// Launches a played agent; it has said nothing yet.
    pub(super) fn agent(&self, phase: &str, role: &str, native: &str) -> (Agent, Child) {
        let mut child = None;
        let agent = Agent::started_by(&self.repo, native, &Agent::program(), |command| {
            let siglum = World::program();
            let flags = self.flags(phase, role);
            let script = format!("exec '{}' run {flags} -- {command}", siglum.display());
            let mut shell = self.repo.world.command("/bin/sh");
            shell.args(["-c", &script]).current_dir(&self.repo.dir);
            child = Some(shell.stderr(Stdio::null()).spawn().unwrap());
        });
        (agent, child.unwrap())
    }

    /// The graph.
    #[track_caller]
    pub(super) fn graph(&self) -> Value {
        self.repo
            .world
            .json(&self.repo.dir, &["pipeline", "show", self.id])
    }

    /// The drawing.
    #[track_caller]
    pub(super) fn drawing(&self, flags: &[&str]) -> String {
        self.says(&["show"], flags).ok()
    }
}

/// A phase of a graph in short: state, cycles, sessions by wave.
pub(super) fn phase_summary(phase: &Value) -> String {
    let name = |instance: &Value| {
        let live = if instance["live"] == true { "*" } else { "" };
        format!("{}{live}", instance["name"].as_str().unwrap())
    };
    let wave = |wave: &Value| {
        let names: Vec<String> = wave.as_array().unwrap().iter().map(name).collect();
        names.join(",")
    };
    let waves: Vec<String> = phase["waves"]
        .as_array()
        .unwrap()
        .iter()
        .map(wave)
        .collect();
    format!(
        "{} {} {} [{}]",
        phase["phase"].as_str().unwrap_or("-"),
        phase["state"].as_str().unwrap(),
        phase["cycles"],
        waves.join("|")
    )
}
