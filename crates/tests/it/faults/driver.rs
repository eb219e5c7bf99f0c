//! A driver of turns in a process of its own.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::store::Store;
use crate::harness::{World, until};

pub(crate) struct Driver {
    child: Child,
    steps: ChildStdin,
    answers: BufReader<ChildStdout>,
    /// What it said when it had opened the store, or could not.
    pub(crate) began: Value,
}

impl Driver {
    #[track_caller]
    pub(crate) fn start(store: &Store) -> Self {
        Self::at(store, &store.address())
    }

    /// One that finds the store at another address.
    #[track_caller]
    pub(crate) fn at(store: &Store, address: &str) -> Self {
        Self::on(&store.world, address)
    }

    /// One of the ledger at an address.
    #[track_caller]
    pub(crate) fn on(world: &World, address: &str) -> Self {
        let mut command = world.command(env!("CARGO_BIN_EXE_played-driver"));
        let mut child = command
            .args([
                address.to_owned(),
                world.root.join("driver").display().to_string(),
            ])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let steps = child.stdin.take().unwrap();
        let mut answers = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        answers.read_line(&mut line).unwrap();
        let began = serde_json::from_str(&line).expect("the driver could not open the store");
        Self {
            child,
            steps,
            answers,
            began,
        }
    }

    /// Says a step and does not wait for the answer.
    pub(crate) fn say(&mut self, step: &Value) {
        // One that is dead does not hear it.
        let _ = writeln!(self.steps, "{step}").and_then(|()| self.steps.flush());
    }

    /// The next answer; none if it died.
    pub(crate) fn answer(&mut self) -> Option<Value> {
        let mut line = String::new();
        let read = self.answers.read_line(&mut line);
        let whole = read.is_ok() && line.ends_with('\n');
        whole.then(|| serde_json::from_str(&line).unwrap())
    }

    pub(crate) fn ask(&mut self, step: &Value) -> Option<Value> {
        self.say(step);
        self.answer()
    }

    /// The answer to a step that must be done.
    #[track_caller]
    pub(crate) fn must(&mut self, step: &Value) -> Value {
        let answer = self.ask(step).expect("the driver died");
        assert_eq!(answer.get("error"), None, "{step}: {answer}");
        answer
    }

    /// The refusal of a step that must be refused with this code.
    #[track_caller]
    pub(crate) fn refused(&mut self, step: &Value, code: &str) -> Value {
        let answer = self.ask(step).expect("the driver died");
        assert_eq!(answer["error"], code, "{step}: {answer}");
        answer
    }

    /// Makes it die, stop or fail at a writing transaction from now on.
    pub(crate) fn fault(&mut self, at: u32, place: &str, what: &str) {
        self.must(&json!({ "do": "fault", "at": at, "where": place, "what": what }));
    }

    #[track_caller]
    pub(crate) fn create(&mut self, conversation: &str) -> String {
        let made = self.must(&json!({ "do": "create", "conversation": conversation }));
        made["session"].as_str().unwrap().to_owned()
    }

    #[track_caller]
    pub(crate) fn lease(&mut self, session: &str) -> Value {
        self.must(&json!({ "do": "lease", "session": session }))
    }

    /// Commits a turn at once: a prompt, an answer and a stop.
    #[track_caller]
    pub(crate) fn turn(&mut self, session: &str, key: &str) -> Value {
        self.must(&whole(session, key))
    }

    /// Commits so many turns, `t1` first.
    #[track_caller]
    pub(crate) fn turns(&mut self, session: &str, count: u32) {
        for n in 1..=count {
            self.turn(session, &format!("t{n}"));
        }
    }

    /// The texts of the log, in order.
    #[track_caller]
    pub(crate) fn texts(&mut self, session: &str) -> Vec<String> {
        let log = self.must(&json!({ "do": "read", "session": session }));
        texts(&log)
    }

    #[track_caller]
    pub(crate) fn receipts(&mut self, session: &str) -> Vec<Value> {
        let all = self.must(&json!({ "do": "receipts", "session": session }));
        all.as_array().unwrap().clone()
    }

    /// Feeds the directory of the store, as projection `shown`.
    #[track_caller]
    pub(crate) fn feed(&mut self, store: &Store) -> Value {
        self.must(&json!({ "do": "feed", "name": "shown", "dir": store.dir() }))
    }

    /// The directory of the store is fed from now on.
    #[track_caller]
    pub(crate) fn follow(&mut self) {
        self.must(&json!({ "do": "add", "name": "shown" }));
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.pid()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    pub(crate) fn stop(&self) {
        self.signal(Signal::STOP);
        self.until_stopped();
    }

    /// Waits until it has stopped by itself.
    pub(crate) fn until_stopped(&self) {
        let stat = format!("/proc/{}/stat", self.pid());
        until("the driver stops", || {
            let stat = std::fs::read_to_string(&stat).unwrap();
            stat.rsplit_once(')')
                .is_some_and(|(_, rest)| rest.starts_with(" T"))
        });
    }

    pub(crate) fn go_on(&self) {
        self.signal(Signal::CONT);
    }

    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A turn that is committed at once.
pub(crate) fn whole(session: &str, key: &str) -> Value {
    let items = [
        json!({ "prompt": format!("{key} asks") }),
        json!({ "answer": format!("{key} answers") }),
        json!({ "stop": "" }),
    ];
    json!({ "do": "commit", "session": session, "key": key, "said": items })
}

pub(crate) fn texts(log: &Value) -> Vec<String> {
    let entries = log.as_array().unwrap().iter();
    entries
        .filter_map(|e| e["text"].as_str())
        .map(str::to_owned)
        .collect()
}
