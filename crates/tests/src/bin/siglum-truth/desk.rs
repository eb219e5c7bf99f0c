//! A process that answers the questions about a repository: what `siglum mcp` says is what `siglum why --json` says.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::world::World;

/// Where questions are asked: a process answers for one repository alone, and the last one stays open.
pub(crate) struct Desk<'w> {
    world: &'w World,
    open: Option<(PathBuf, Clerk)>,
}

impl<'w> Desk<'w> {
    pub(crate) const fn new(world: &'w World) -> Self {
        Self { world, open: None }
    }

    /// The data of the answer to `why`.
    pub(crate) fn ask(&mut self, repo: &Path, commit: &str) -> Value {
        if self.open.as_ref().is_none_or(|(at, _)| at != repo) {
            self.open = Some((repo.to_owned(), Clerk::start(self.world, repo)));
        }
        let (_, clerk) = self.open.as_mut().unwrap();
        clerk.ask(commit)
    }
}

/// The process, and how many questions it got.
struct Clerk {
    child: Child,
    answers: BufReader<ChildStdout>,
    requests: u64,
}

impl Clerk {
    /// Starts it in a repository of a world.
    fn start(world: &World, repo: &Path) -> Self {
        let mut command = world.judged();
        command.arg("mcp").current_dir(repo).stdin(Stdio::piped());
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let answers = BufReader::new(child.stdout.take().unwrap());
        let mut clerk = Self {
            child,
            answers,
            requests: 0,
        };
        let client = json!({ "name": "siglum-truth", "version": "1" });
        clerk.request(
            "initialize",
            &json!({ "protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": client }),
        );
        clerk.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        clerk
    }

    fn send(&mut self, message: &Value) {
        let pipe = self.child.stdin.as_mut().unwrap();
        writeln!(pipe, "{message}").unwrap();
        pipe.flush().unwrap();
    }

    fn request(&mut self, method: &str, parameters: &Value) -> Value {
        self.requests += 1;
        let id = self.requests;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": parameters }));
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        let mut answer: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(answer["id"], id, "{answer}");
        answer["result"].take()
    }

    fn ask(&mut self, commit: &str) -> Value {
        let arguments = json!({ "commit": commit });
        let arguments = json!({ "name": "why", "arguments": arguments });
        let result = self.request("tools/call", &arguments);
        let text = result["content"][0]["text"].as_str().unwrap_or_default();
        let mut answer: Value = serde_json::from_str(text).unwrap_or_else(|_| panic!("{result}"));
        if answer["schema"].is_string() {
            answer = answer["data"].take();
        }
        assert!(answer["committer"].is_object(), "{answer}");
        answer
    }
}

impl Drop for Clerk {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}
