//! Agents and a person who work in one checkout at the same time, on a machine that is busy.
//!
//! Everybody writes files and commits, twenty rounds each, and nobody waits for anybody: commits take
//! up what others wrote, fail, and try again; every third one is left to a process that outlives its
//! tool call. What really happened can be read off the repository alone: a commit's author in git's
//! sense says who made it, the last line of a file who wrote it. The message does not: git keeps it in
//! one file for all who commit at the same time, so that a commit may get the message of another one.

use std::collections::BTreeMap;
use std::fs;
use std::thread;

use serde_json::{Value, json};

use super::agents::{Agent, Running, Start};
use super::lab::Lab;
use super::programs::wait_until;
use crate::harness::{Load, Tally, Terminal};

const ROUNDS: usize = 20;
/// Commits a file, or everything, until it is there. It may outlive who started it.
const COMMIT: &str = r#"#!/bin/sh
# commit.sh WHO ROUND all|own MESSAGE
export GIT_AUTHOR_NAME="$1" GIT_COMMITTER_NAME="$1"; file="$1-$2.txt"; n=0
until git cat-file -e "HEAD:$file" 2>/dev/null || [ $n -gt 400 ]; do
  case $3 in
    all) git add -A && git commit -m "$4" ;;
    own) git add "$file" && git commit -m "$4" -- "$file" ;;
  esac && break
  n=$((n+1)); sleep 0.02
done 2>/dev/null
"#;

#[derive(Debug, Clone, Copy)]
struct Worker {
    name: &'static str,
    agent: Agent,
}

const fn worker(name: &'static str, agent: Agent) -> Worker {
    Worker { name, agent }
}

impl Worker {
    /// Its script: in each round a file by its own tool, then a commit.
    fn script(self) -> Value {
        let turns = (0..ROUNDS).flat_map(|round| {
            let name = self.name;
            let content = format!("round {round}\nby {name}\n");
            let path = format!("{{{{cwd}}}}/{name}-{round}.txt");
            let what = if round % 2 == 0 { "all" } else { "own" };
            // As with real agents, the message stands in the command.
            let commit = format!("sh ../commit.sh {name} {round} {what} '{round} by {name}'");
            // Gemini CLI switches git's hooks off: work that it leaves behind has no witness at all.
            let command = if round % 3 == 2 && self.agent != Agent::Gemini {
                format!("setsid -f {commit} >/dev/null 2>&1 </dev/null")
            } else {
                commit
            };
            [
                json!({"tools": [{"op": "write", "path": path, "content": content}]}),
                json!({"tools": [{"op": "shell", "command": command, "description": "Commit"}]}),
            ]
        });
        let end = json!({"text": "Everything is committed."});
        json!({"turns": turns.chain([end]).collect::<Vec<_>>()})
    }

    fn start(self, lab: &Lab) -> Running {
        let file = lab.beside(&format!("log/{}.json", self.name));
        fs::write(file, self.script().to_string()).expect("a script");
        lab.launch(self.agent, Start::New, &lab.prompt(self.name))
    }
}

/// A person types and commits in between.
fn type_along(lab: &Lab) {
    let mut python = lab.command("python3");
    python.current_dir(lab.work());
    python.env("TERMINAL_OWNER", "sshd");
    let mut terminal = Terminal::with(python);
    terminal.run("export GIT_AUTHOR_NAME=human GIT_COMMITTER_NAME=human");
    for round in 0..ROUNDS {
        let file = format!("human-{round}.txt");
        terminal.run(&format!("printf 'round {round}\\nby human\\n' >{file}"));
        let commit = format!("git add {file} && git commit -m '{round} by human' -- {file}");
        let there = format!("git cat-file -e HEAD:{file}");
        terminal.run(&format!(
            "until {there} || {{ {commit}; }}; do sleep 0.05; done 2>/dev/null"
        ));
    }
}

/// Everything that Siglum says of the commits, held against what really happened.
struct Judge<'a> {
    lab: &'a Lab,
    /// The agents' ids of the sessions, by name.
    natives: BTreeMap<&'static str, String>,
}

impl Judge<'_> {
    fn tally(&self) -> Tally {
        let mut tally = Tally::default();
        for commit in self.lab.git(&["rev-list", "base..HEAD"]).lines() {
            let who = self.lab.git(&["log", "-1", "--format=%an", commit]);
            let data = self.lab.ask(&["why", commit]);
            tally.add(&who, self.committer(&who, &data));
            self.authors(commit, &data);
        }
        self.links();
        tally
    }

    /// The committer is who really made it, or nobody is named.
    fn committer<'d>(&self, who: &str, data: &'d Value) -> &'d str {
        let committer = &data["committer"];
        match committer["kind"].as_str().expect("a kind") {
            "unknown" => {}
            "human" => assert_eq!(who, "human", "{data:#}"),
            _ => assert_eq!(
                committer["native_ids"][0].as_str(),
                self.natives.get(who).map(String::as_str),
                "{who}: {data:#}"
            ),
        }
        committer["verdict"].as_str().expect("a verdict")
    }

    /// Each line is its writer's or nobody's; what the agent's own tool wrote is its writer's.
    fn authors(&self, commit: &str, data: &Value) {
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        for author in list(&data["authors"]) {
            let native = author["native_ids"][0].as_str();
            for file in list(&author["files"]) {
                let path = file["path"].as_str().expect("a path");
                let content = self.lab.git(&["show", &format!("{commit}:{path}")]);
                let (_, who) = content.rsplit_once("by ").expect("a file of the script");
                let wrote = self.natives.get(who).map(String::as_str);
                // A file that an agent writes before it gives it its name may be caught, too.
                let passing = native.is_none() && !path.ends_with(".txt");
                assert!(
                    native == wrote || passing,
                    "{path} is {wrote:?}'s: {data:#}"
                );
            }
        }
    }

    /// Nothing that never landed has a checkpoint, and no trailer leads elsewhere than to its commit.
    fn links(&self) {
        let reachable = self.lab.git(&["rev-list", "HEAD"]);
        let book = self.lab.book();
        for checkpoint in &book.checkpoints {
            if let Some(commit) = &checkpoint.commit {
                assert!(reachable.contains(commit), "{checkpoint:?}");
            }
        }
        let format = "--format=%H %(trailers:key=Siglum-Checkpoint,valueonly,separator=%x20)";
        for line in self.lab.git(&["log", format, "base..HEAD"]).lines() {
            let mut words = line.split_whitespace();
            let commit = words.next();
            for id in words {
                let named = book.checkpoints.iter().find(|c| c.id == id);
                let of = named.and_then(|c| c.commit.as_deref());
                assert_eq!(of, commit, "{id} is in a trailer: {:#?}", book.checkpoints);
            }
        }
    }
}

/// Whether somebody still commits. An agent may have killed what it started, so nobody is waited for.
fn commits_run_in(lab: &Lab) -> bool {
    let processes = fs::read_dir("/proc").expect("processes").flatten();
    processes.map(|p| p.path()).any(|process| {
        let here = fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd == lab.work());
        let line = fs::read(process.join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line);
        here && (line.contains("commit.sh") || line.starts_with("git\0"))
    })
}

fn work_together(what: &str, workers: &[Worker], person: bool) {
    let agents: Vec<Agent> = workers.iter().map(|w| w.agent).collect();
    let Some(lab) = Lab::open_for(&agents) else {
        return;
    };
    fs::write(lab.beside("commit.sh"), COMMIT).expect("a script");
    lab.git(&["tag", "base"]);
    let load = Load::new();
    let natives = thread::scope(|scope| {
        let running = workers.iter().map(|w| (w.name, w.start(&lab)));
        let running: Vec<_> = running.collect();
        let person = person.then(|| scope.spawn(|| type_along(&lab)));
        let natives = running
            .into_iter()
            .map(|(name, agent)| (name, agent.finish()));
        let natives = natives.collect();
        if let Some(person) = person {
            person.join().expect("the person");
        }
        natives
    });
    wait_until("what was left behind to be done", || !commits_run_in(&lab));
    drop(load);
    let tally = Judge { lab: &lab, natives }.tally();
    tally.print(what);
    let (known, all) = tally.known();
    assert!(known * 20 >= all * 19, "only {known} of {all} are known");
}

#[test]
fn claude_and_codex() {
    let workers = [
        worker("claude", Agent::Claude),
        worker("codex", Agent::Codex),
    ];
    work_together("Claude Code and Codex", &workers, false);
}

#[test]
fn claude_twice() {
    let workers = [worker("one", Agent::Claude), worker("two", Agent::Claude)];
    work_together("Claude Code twice", &workers, false);
}

#[test]
fn three_and_a_person() {
    let workers = [
        worker("claude", Agent::Claude),
        worker("codex", Agent::Codex),
        worker("gemini", Agent::Gemini),
    ];
    work_together(
        "Claude Code, Codex, Gemini CLI and a person",
        &workers,
        true,
    );
}
