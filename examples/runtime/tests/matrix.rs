//! Every committed turn is saved: with and without a store of the runtime's own, with and without a snapshot sink, with
//! one process for all turns and with one for each; once undisturbed, and once with a kill -9 in the middle.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use siglum_store::{Entry, Receipt, SessionFilter, SessionId, Store};

const TURNS: u64 = 50;
const KILLED: u64 = 25;

/// What differs between the cells.
#[derive(Clone, Copy)]
struct Cell {
    own_store: bool,
    sink: bool,
    one_shot: bool,
    /// The step of the turn in the middle at which the process is killed.
    step: &'static str,
}

macro_rules! cells {
    ($($name:ident: $own_store:literal $sink:literal $one_shot:literal $step:literal;)*) => {
        $(#[test]
        fn $name() {
            Cell { own_store: $own_store, sink: $sink, one_shot: $one_shot, step: $step }.check();
        })*
    };
}

cells! {
    nothing_else_long_lived: false false false "prompt";
    nothing_else_one_shot: false false true "call";
    sink_long_lived: false true false "result";
    sink_one_shot: false true true "answer";
    own_store_long_lived: true false false "stop";
    own_store_one_shot: true false true "commit";
    both_long_lived: true true false "call";
    both_one_shot: true true true "stop";
}

/// The runs of one cell in one disturbance.
struct Run {
    cell: Cell,
    dir: tempfile::TempDir,
    /// What the runtime said was committed: the number of the receipt and how its digest begins, by turn.
    acknowledged: BTreeMap<u64, (u64, String)>,
    processes: u64,
    /// The turn in which it was killed: the one in the middle, or a later one where the kill came late.
    killed_in: u64,
}

impl Cell {
    fn check(self) {
        let quiet = self.run(false);
        let killed = self.run(true);
        let word = |is: bool, yes, no| if is { yes } else { no };
        println!(
            "own store {}, snapshot sink {}, {}: {} turns in {} processes, {} with kill -9 after the {} of turn {KILLED}",
            word(self.own_store, "present", "absent"),
            word(self.sink, "present", "absent"),
            word(self.one_shot, "one-shot", "long-lived"),
            quiet.0,
            quiet.1,
            killed.0,
            self.step,
        );
    }

    /// Gives how many turns are saved, and how many processes it took.
    fn run(self, kill: bool) -> (usize, u64) {
        let mut run = Run {
            cell: self,
            dir: tempfile::tempdir().unwrap(),
            acknowledged: BTreeMap::new(),
            processes: 0,
            killed_in: 0,
        };
        let mut kill = kill;
        while !run.acknowledged.contains_key(&TURNS) {
            let died = run.process(kill);
            kill &= !died;
            assert!(run.processes <= TURNS + 2, "it does not come to its end");
        }
        assert!(!kill, "nothing was killed");
        (run.saved(), run.processes)
    }
}

impl Run {
    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Runs the runtime to its end, or to its death in the middle; tells which.
    fn process(&mut self, kill: bool) -> bool {
        let mut runtime = Command::new(env!("CARGO_BIN_EXE_runtime"));
        runtime.arg("--ledger").arg(self.path("ledger.db"));
        runtime.args(["--turns", &TURNS.to_string(), "--issue", "4"]);
        if self.cell.one_shot {
            runtime.arg("--once");
        }
        if self.cell.own_store {
            runtime.arg("--documents").arg(self.path("own"));
        }
        if self.cell.sink {
            runtime.arg("--snapshots").arg(self.path("snapshots"));
        }
        let mut child = runtime.stdout(Stdio::piped()).spawn().unwrap();
        self.processes += 1;
        let deadly = format!("turn-{KILLED} {}", self.cell.step);
        let mut killed = false;
        for line in BufReader::new(child.stdout.take().unwrap()).lines() {
            let line = line.unwrap();
            if kill && line == deadly {
                child.kill().unwrap();
                killed = true;
            }
            if let Some((turn, number, digest)) = acknowledgement(&line) {
                self.acknowledged.insert(turn, (number, digest));
            }
        }
        let status = child.wait().unwrap();
        assert!(killed || status.success(), "{status}");
        if killed {
            // All that it said before its death was read: it may have said more before the kill came.
            self.killed_in = self.acknowledged.keys().last().map_or(1, |turn| turn + 1);
            assert!(self.killed_in >= KILLED);
        }
        killed
    }

    /// Holds what is stored against what was acknowledged and what was said.
    fn saved(&self) -> usize {
        let store = Store::open(self.path("ledger.db")).unwrap();
        let sessions = store.sessions(&SessionFilter::default()).unwrap();
        assert_eq!(sessions.len(), 1);
        let session = sessions[0].record.id;
        let entries = store.read(session, 0, 0).unwrap().entries;
        let receipts = store.receipts(session, 0, 1_000).unwrap();
        assert_eq!(receipts.len() as u64, TURNS);
        for (turn, (number, digest)) in &self.acknowledged {
            let receipt = &receipts[usize::try_from(*number).unwrap() - 1];
            assert!(
                receipt.digest.starts_with(digest),
                "turn {turn} is another one"
            );
        }
        for (turn, receipt) in (1..).zip(&receipts) {
            assert_eq!(receipt.number, turn);
            let said: Vec<&str> = entries_of(receipt, &entries)
                .map(|e| e.observation.key.as_str())
                .collect();
            let due = keys(turn);
            match self.acknowledged.contains_key(&turn) {
                true => assert_eq!(said, due, "turn {turn}"),
                // Its driver was killed: all that was said, and how it was settled.
                false => {
                    assert_eq!(turn, self.killed_in);
                    let kept = said.iter().zip(&due).take_while(|(a, b)| a == b).count();
                    assert!(kept >= 1 && kept < said.len() || said == due, "{said:?}");
                }
            }
        }
        if self.cell.sink {
            compare(&self.path("snapshots"), session, &receipts, &entries);
        }
        if self.cell.own_store {
            let own = std::fs::read_to_string(self.path("own/own.jsonl")).unwrap();
            assert!(own.lines().count() as u64 >= TURNS - 1);
        }
        receipts.len()
    }
}

/// `turn-7 committed: receipt 7 89abcdef`.
fn acknowledgement(line: &str) -> Option<(u64, u64, String)> {
    let (turn, rest) = line
        .strip_prefix("turn-")?
        .split_once(" committed: receipt ")?;
    let (number, digest) = rest.split_once(' ')?;
    Some((turn.parse().ok()?, number.parse().ok()?, digest.to_owned()))
}

/// The events of a turn that nothing disturbed.
fn keys(turn: u64) -> Vec<String> {
    let kinds = ["prompt", "call", "result", "msg", "stop"];
    kinds.iter().map(|k| format!("{k}:turn-{turn}")).collect()
}

fn entries_of<'a>(receipt: &Receipt, entries: &'a [Entry]) -> impl Iterator<Item = &'a Entry> {
    let sealed = receipt.first..=receipt.last;
    entries.iter().filter(move |e| sealed.contains(&e.sequence))
}

/// The sink has every receipt, once, in order, with what it seals, and nothing else.
fn compare(dir: &Path, session: SessionId, receipts: &[Receipt], entries: &[Entry]) {
    let text = std::fs::read_to_string(dir.join(format!("{session}.jsonl"))).unwrap();
    let lines: Vec<Value> = text
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    assert_eq!(
        lines.len(),
        receipts.len(),
        "the sink lacks turns, or has more"
    );
    for (line, receipt) in lines.iter().zip(receipts) {
        assert_eq!(line["receipt"], receipt.number);
        assert_eq!(line["digest"], receipt.digest.as_str());
        let events: Vec<&str> = entries_of(receipt, entries)
            .map(|e| e.observation.key.as_str())
            .collect();
        assert_eq!(line["events"], Value::from(events));
    }
}
