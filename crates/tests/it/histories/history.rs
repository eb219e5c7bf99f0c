//! What drivers asked for, and what they were told.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

/// One thing that is said in a turn, as the log names it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Item {
    /// `<kind>:<turn>`, with the tag behind it where a turn may have several.
    pub(super) key: String,
    /// `<driver>:<turn>:<n>`; a stop says nothing.
    pub(super) text: Option<String>,
}

impl Item {
    /// One of a log.
    pub(super) fn read(entry: &Value) -> Self {
        Self {
            key: entry["key"].as_str().unwrap().to_owned(),
            text: entry["text"].as_str().map(str::to_owned),
        }
    }

    /// One as it was said in a turn.
    fn from_step(turn: &str, item: &Value) -> Self {
        let (kind, text) = item.as_object().unwrap().iter().next().unwrap();
        let text = text.as_str().unwrap();
        let key = match kind.as_str() {
            "prompt" | "stop" => format!("{kind}:{turn}"),
            _ => format!("{kind}:{turn}:{text}"),
        };
        let text = (kind != "stop").then(|| text.to_owned());
        Self { key, text }
    }

    /// The turn that it is of.
    pub(super) fn turn(&self) -> &str {
        self.key.split(':').nth(1).unwrap_or_default()
    }

    /// Whether the ledger says it, and no driver.
    pub(super) fn is_of_recovery(&self) -> bool {
        self.key.starts_with("recovered:") || self.key.starts_with("decided:")
    }
}

/// What became of an operation, as far as its driver knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It was acknowledged.
    Done,
    /// It was said that nothing was done.
    Refused,
    /// The driver died before it was told, or was told that nobody knows.
    Unknown,
}

/// One operation.
#[derive(Debug, Clone)]
pub(super) struct Op {
    pub(super) by: String,
    /// `lease`, `commit` and so on.
    pub(super) what: String,
    pub(super) session: String,
    /// The turn, of what has one.
    pub(super) key: String,
    pub(super) items: Vec<Item>,
    /// Nanoseconds.
    pub(super) invoked: u64,
    /// As late as can be where no answer came.
    pub(super) returned: u64,
    pub(super) outcome: Outcome,
    pub(super) step: Value,
    pub(super) answer: Value,
}

impl Op {
    pub(super) fn new(by: &str, invoked: u64, step: Value) -> Self {
        let text = |key: &str| step[key].as_str().unwrap_or_default().to_owned();
        let key = text("key");
        let items = step["said"].as_array().into_iter().flatten();
        Self {
            by: by.to_owned(),
            what: text("do"),
            session: text("session"),
            items: items.map(|item| Item::from_step(&key, item)).collect(),
            key,
            invoked,
            returned: u64::MAX,
            outcome: Outcome::Unknown,
            step,
            answer: Value::Null,
        }
    }

    pub(super) fn answered(mut self, returned: u64, answer: Value) -> Self {
        self.outcome = match (answer.get("error"), answer["fate"].as_str()) {
            (None, _) => Outcome::Done,
            (Some(_), Some("unknown")) => Outcome::Unknown,
            (Some(_), _) => Outcome::Refused,
        };
        // What nobody knows may still come to be later.
        if self.outcome != Outcome::Unknown {
            self.returned = returned;
        }
        self.answer = answer;
        self
    }

    pub(super) fn is(&self, what: &str) -> bool {
        self.what == what
    }

    pub(super) fn is_done(&self) -> bool {
        self.outcome == Outcome::Done
    }

    /// Whether it may have been done.
    pub(super) fn may_be_done(&self) -> bool {
        self.outcome != Outcome::Refused
    }

    pub(super) fn epoch(&self) -> u64 {
        self.step["epoch"].as_u64().unwrap_or_default()
    }

    /// The number of the receipt that a commit was told, or a lease that settled what was left.
    pub(super) fn receipt(&self) -> Option<u64> {
        let receipt = match self.what.as_str() {
            "lease" => &self.answer["recovered"]["receipt"],
            "open" => &self.answer["committed"],
            _ => &self.answer["receipt"],
        };
        receipt["number"].as_u64()
    }

    /// Whether it was acknowledged as what it did itself, and not as what had been done before.
    pub(super) fn committed_now(&self) -> bool {
        self.is("commit") && self.is_done() && self.answer["already"] == false
    }

    /// Whether it puts what it says into a turn.
    pub(super) fn says(&self) -> bool {
        match self.what.as_str() {
            "open" => self.answer.get("committed").is_none(),
            "append" | "commit" => true,
            _ => false,
        }
    }

    /// Whether it must be done by the one driver who holds the session, and was.
    pub(super) fn wrote(&self) -> bool {
        self.is_done()
            && match self.what.as_str() {
                "open" => self.answer.get("committed").is_none(),
                "append" | "abort" | "renew" | "pending" => true,
                "commit" => self.answer["already"] == false,
                _ => false,
            }
    }

    /// For the words of a problem.
    pub(super) fn name(&self) -> String {
        format!(
            "{} of {} {} at {}",
            self.what, self.by, self.key, self.invoked
        )
    }
}

/// All operations of all drivers, in the order in which they were asked for.
pub(super) fn read(dir: &Path) -> Vec<Op> {
    let mut all = Vec::new();
    for file in std::fs::read_dir(dir).unwrap().flatten() {
        let text = std::fs::read_to_string(file.path()).unwrap();
        // A line without its end is of a driver that died while it wrote it, so that nothing followed.
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        let mut open: BTreeMap<u64, Op> = BTreeMap::new();
        for line in whole.lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            let (number, at) = (line["op"].as_u64().unwrap(), line["at"].as_u64().unwrap());
            if let Some(step) = line.get("step") {
                let by = line["by"].as_str().unwrap();
                open.insert(number, Op::new(by, at, step.clone()));
            } else {
                let op = open.remove(&number).unwrap();
                all.push(op.answered(at, line["answer"].clone()));
            }
        }
        all.extend(open.into_values());
    }
    all.sort_by_key(|op| op.invoked);
    all
}
