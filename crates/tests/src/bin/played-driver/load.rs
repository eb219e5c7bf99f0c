//! Drives turns on sessions that several drivers want, with faults at random, until told or until it did enough:
//! `{"history": dir, "name": "d1", "threads": 1, "sessions": 3, "term_ms": 800, "seed": 1, "operations": 0}`.
//!
//! Each thread is a driver with a ledger of its own. What it asks for is in its history before it asks, and the answer
//! behind it, each line written whole: whoever reads knows of every operation that it was done, refused, or that
//! nobody can tell. It ends when its standard input does.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use crate::faulty::Fault;
use crate::machine;
use crate::steps::Player;

static STOP: AtomicBool = AtomicBool::new(false);

pub(crate) fn run(store: &str, home: &str, how: &Value) {
    std::thread::spawn(|| {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        STOP.store(true, Ordering::SeqCst);
    });
    std::thread::scope(|scope| {
        for n in 0..how["threads"].as_u64().unwrap() {
            scope.spawn(move || Load::new(store, home, how, n).drive());
        }
    });
}

/// The right to write to a session, as this driver knows it.
#[derive(Clone)]
struct Hold {
    session: String,
    epoch: u64,
    /// Where the log ends.
    end: u64,
    /// A turn that somebody else opened and did not answer.
    open: Option<String>,
}

struct Load {
    player: Player,
    history: File,
    name: String,
    dice: u64,
    operations: u64,
    most: u64,
    term: u64,
    sessions: Vec<String>,
    forks: Vec<String>,
    /// Where the logs end, as far as it has heard.
    ends: BTreeMap<String, u64>,
    turns: u64,
    tags: u64,
    /// Holds that it walked away with.
    stale: Vec<Hold>,
    /// The turns that it tried to commit last.
    keys: Vec<(String, String)>,
}

/// What was asked for was not done, or nobody knows.
struct Failed;

impl Load {
    fn new(store: &str, home: &str, how: &Value, thread: u64) -> Self {
        let number = |key: &str| how[key].as_u64().unwrap();
        let letter = char::from(b'a' + u8::try_from(thread).unwrap());
        let name = format!("{}{letter}", how["name"].as_str().unwrap());
        let file = format!("{}/{name}.jsonl", how["history"].as_str().unwrap());
        let ledger = loop {
            match machine::open(store) {
                Ok(ledger) => break ledger,
                Err(_) => std::thread::sleep(Duration::from_millis(20)),
            }
        };
        let mut load = Self {
            player: Player::new(ledger, home, store.starts_with("postgres"), &name),
            history: File::create(file).unwrap(),
            name,
            dice: (number("seed") ^ thread.wrapping_mul(0x9E37_79B9_7F4A_7C15)) | 1,
            operations: 0,
            most: number("operations"),
            term: number("term_ms"),
            sessions: Vec::new(),
            forks: Vec::new(),
            ends: BTreeMap::new(),
            turns: 0,
            tags: 0,
            stale: Vec::new(),
            keys: Vec::new(),
        };
        let wanted = usize::try_from(number("sessions")).unwrap();
        while load.sessions.len() < wanted {
            let conversation = format!("s{}", load.sessions.len());
            let made = load.ask(&json!({ "do": "create", "conversation": conversation }));
            let made = made
                .ok()
                .and_then(|m| m["session"].as_str().map(str::to_owned));
            load.sessions.extend(made);
        }
        load
    }

    fn roll(&mut self, sides: u64) -> u64 {
        self.dice ^= self.dice >> 12;
        self.dice ^= self.dice << 25;
        self.dice ^= self.dice >> 27;
        (self.dice.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % sides
    }

    fn once_in(&mut self, times: u64) -> bool {
        self.roll(times) == 0
    }

    fn pick(&mut self, len: usize) -> usize {
        usize::try_from(self.roll(len as u64)).unwrap()
    }

    fn write(&mut self, line: &Value) {
        let line = format!("{line}\n");
        self.history.write_all(line.as_bytes()).unwrap();
    }

    /// One operation, with its place in the history.
    fn play(&mut self, step: &Value) -> Value {
        self.operations += 1;
        let (op, by) = (self.operations, self.name.clone());
        self.write(&json!({ "op": op, "by": by, "at": machine::moment(), "step": step }));
        let answer = self.player.play(step).unwrap_or_else(|refusal| refusal);
        self.write(&json!({ "op": op, "by": by, "at": machine::moment(), "answer": answer }));
        answer
    }

    /// Asks, and asks again where the store failed; mostly.
    fn ask(&mut self, step: &Value) -> Result<Value, Value> {
        if self.once_in(12) {
            let fault = self.fault();
            self.player.fault(Some(fault));
        }
        let mut tries = 0;
        let answer = loop {
            let answer = self.play(step);
            let code = answer["error"].as_str().unwrap_or_default();
            let again = matches!(code, "unknown" | "store") && tries < 3;
            if !again || self.once_in(8) {
                break answer;
            }
            tries += 1;
        };
        self.player.fault(None);
        match answer.get("error") {
            None => Ok(answer),
            Some(_) => Err(answer),
        }
    }

    fn fault(&mut self) -> Fault {
        let (place, what) = match self.roll(5) {
            0 => ("before", "fail"),
            1 => ("inside", "fail"),
            2 => ("inside", "unknown"),
            3 => ("before", "unknown"),
            _ => ("after", "unknown"),
        };
        // Longer, sometimes, than a commit asks again.
        let times = 1 + self.roll(6);
        Fault::read(&json!({ "at": 1, "times": times, "where": place, "what": what }))
    }

    fn drive(mut self) {
        let enough = |load: &Self| load.most > 0 && load.operations >= load.most;
        while !STOP.load(Ordering::SeqCst) && !enough(&self) {
            if self.once_in(16) {
                self.fork();
            }
            if self.once_in(6) {
                self.haunt();
            }
            if self.once_in(6) {
                // As a worker does, which does not know who drives.
                let at = self.pick(self.sessions.len());
                let _ = self.ask(&json!({ "do": "recover", "session": self.sessions[at] }));
            }
            if self.once_in(3) {
                self.read_something();
            }
            match self.lease() {
                Some(hold) => self.stay(hold),
                None => std::thread::sleep(Duration::from_millis(2 + self.roll(10))),
            }
        }
    }

    /// The lease of the first session that is free, beginning anywhere.
    fn lease(&mut self) -> Option<Hold> {
        let mut all = self.sessions.clone();
        let from = self.pick(all.len());
        all.rotate_left(from);
        if !self.forks.is_empty() && self.once_in(10) {
            let fork = self.pick(self.forks.len());
            all.insert(0, self.forks[fork].clone());
        }
        for session in all {
            let step = json!({ "do": "lease", "session": session, "term_ms": self.term });
            match self.ask(&step) {
                Ok(took) => {
                    let end = took["committed"].as_u64().unwrap();
                    self.ends.insert(session.clone(), end);
                    return Some(Hold {
                        session,
                        epoch: took["epoch"].as_u64().unwrap(),
                        end,
                        open: took["open"].as_str().map(str::to_owned),
                    });
                }
                Err(refused) if refused["error"] == "held" => {
                    let decision = ["done", "failed", "discard"][self.pick(3)];
                    let step = json!({ "do": "decide", "session": session, "decision": decision });
                    let _ = self.ask(&step);
                }
                Err(_) => {}
            }
        }
        None
    }

    /// Drives some turns, and gives the session back; or not.
    fn stay(&mut self, mut hold: Hold) {
        for _ in 0..=self.roll(6) {
            if self.turn(&mut hold).is_err() {
                break;
            }
            if self.once_in(5) && self.renew(&mut hold).is_err() {
                break;
            }
            if STOP.load(Ordering::SeqCst) {
                break;
            }
        }
        if self.once_in(6) {
            self.stale.push(hold);
            return;
        }
        if self.once_in(30) {
            // It sleeps past its lease, and goes on as if it had not.
            std::thread::sleep(Duration::from_millis(self.term + self.roll(100)));
            let _ = self.turn(&mut hold);
        }
        let Hold { session, epoch, .. } = hold;
        let _ = self.ask(&json!({ "do": "release", "session": session, "epoch": epoch }));
    }

    fn renew(&mut self, hold: &mut Hold) -> Result<(), Failed> {
        let step = json!({
            "do": "renew", "session": hold.session, "epoch": hold.epoch, "term_ms": self.term,
        });
        let renewed = self.ask(&step).map_err(|_| Failed)?;
        hold.epoch = renewed["epoch"].as_u64().unwrap();
        Ok(())
    }

    /// Comes back with a hold that it walked away with.
    fn haunt(&mut self) {
        if self.stale.is_empty() {
            return;
        }
        let at = self.pick(self.stale.len());
        let mut hold = self.stale.swap_remove(at);
        if self.once_in(3) && self.renew(&mut hold).is_err() {
            return;
        }
        let _ = self.turn(&mut hold);
    }

    fn fork(&mut self) {
        let n = self.pick(self.sessions.len());
        let conversation = format!("f{n}");
        let step =
            json!({ "do": "fork", "session": self.sessions[n], "conversation": conversation });
        if let Ok(made) = self.ask(&step) {
            let fork = made["session"].as_str().unwrap().to_owned();
            if !self.forks.contains(&fork) {
                self.forks.push(fork);
            }
        }
    }

    fn read_something(&mut self) {
        let at = self.pick(self.sessions.len());
        let session = self.sessions[at].clone();
        let end = self.ends.get(&session).copied().unwrap_or_default();
        let after = end.saturating_sub(self.roll(20));
        let step = match self.roll(3) {
            0 => json!({ "do": "page", "session": session, "after": after, "limit": 40 }),
            1 => json!({ "do": "sealed", "session": session, "after": after / 8, "limit": 40 }),
            _ => {
                let mine = self.keys.iter().filter(|(of, _)| *of == session);
                let keys: Vec<_> = mine.map(|(_, key)| key.clone()).collect();
                json!({ "do": "keyed", "session": session, "keys": keys })
            }
        };
        if let Ok(found) = self.ask(&step) {
            let end = found["committed"].as_u64().unwrap_or(end);
            self.ends.insert(session, end);
        }
    }

    /// `<driver>:<turn>:<n>`
    fn tag(&mut self, key: &str) -> String {
        self.tags += 1;
        format!("{}:{key}:{}", self.name, self.tags)
    }

    fn notes(&mut self, key: &str, most: u64) -> Vec<Value> {
        let count = self.roll(most + 1);
        (0..count)
            .map(|_| json!({ "note": self.tag(key) }))
            .collect()
    }

    /// One turn, from its beginning or taken up, at once or in steps.
    fn turn(&mut self, hold: &mut Hold) -> Result<(), Failed> {
        let taken_up = hold.open.take();
        let is_new = taken_up.is_none();
        self.turns += 1;
        let key = taken_up.unwrap_or_else(|| format!("{}.{}", self.name, self.turns));
        let on = |hold: &Hold, what: &str, observations: Value| {
            json!({
                "do": what, "session": hold.session, "epoch": hold.epoch, "expected": hold.end,
                "key": key, "said": observations,
            })
        };
        if is_new && self.once_in(3) {
            let mut observations = vec![json!({ "prompt": self.tag(&key) })];
            observations.extend(self.notes(&key, 4));
            observations.push(json!({ "stop": "" }));
            return self.commit(hold, &key, on(hold, "commit", json!(observations)));
        }
        if is_new {
            let observations = match self.once_in(6) {
                true => json!([]),
                false => json!([{ "prompt": self.tag(&key) }]),
            };
            self.must(&on(hold, "open", observations))?;
        }
        for _ in 0..self.roll(4) {
            if self.once_in(3) {
                let tag = self.tag(&key);
                self.must(&on(hold, "append", json!([{ "call": tag }])))?;
                let observations = json!([{ "result": tag }]);
                self.must(&on(hold, "append", observations))?;
            } else {
                let observations = json!(self.notes(&key, 3));
                self.must(&on(hold, "append", observations))?;
            }
        }
        if self.once_in(5) {
            self.must(&on(hold, "pending", json!([])))?;
        }
        if self.once_in(8) {
            return self.must(&on(hold, "abort", json!([]))).map(|_| ());
        }
        let mut observations = self.notes(&key, 1);
        if !self.once_in(3) {
            observations.push(json!({ "stop": "" }));
        }
        if self.once_in(6) {
            self.must(&on(hold, "append", json!(observations)))?;
            observations.clear();
        }
        self.commit(hold, &key, on(hold, "commit", json!(observations)))
    }

    fn must(&mut self, step: &Value) -> Result<Value, Failed> {
        self.ask(step).map_err(|_| Failed)
    }

    /// Commits, and asks for what must not be done twice, or at all.
    fn commit(&mut self, hold: &mut Hold, key: &str, step: Value) -> Result<(), Failed> {
        self.keys.push((hold.session.clone(), key.to_owned()));
        if self.keys.len() > 20 {
            self.keys.remove(0);
        }
        let done = self.must(&step)?;
        let before = hold.end;
        hold.end = hold.end.max(done["receipt"]["last"].as_u64().unwrap());
        self.ends.insert(hold.session.clone(), hold.end);
        if self.once_in(6) {
            self.must(&step)?;
        }
        if self.once_in(12) {
            let mut other = step.clone();
            other["said"] = json!([{ "note": self.tag(key) }]);
            let _ = self.ask(&other);
        }
        if self.once_in(12) {
            self.turns += 1;
            let key = format!("{}.{}", self.name, self.turns);
            let mut late = step;
            late["key"] = json!(key);
            late["expected"] = json!(before);
            late["said"] = json!([{ "prompt": self.tag(&key) }, { "stop": "" }]);
            let _ = self.ask(&late);
        }
        Ok(())
    }
}
