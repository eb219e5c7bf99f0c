//! Histories made by hand: a whole one, and each way in which one can be broken.

use serde_json::{Value, json};

use super::authority::{Authority, Log, Receipt};
use super::check::{Deaths, check};
use super::history::{Item, Op};

const SESSION: &str = "ses_1";

/// What happened and what is stored, made step by step: each operation takes one second, behind the one before.
#[derive(Default)]
struct Story {
    now: u64,
    history: Vec<Op>,
    log: Log,
}

const SECOND: u64 = 1_000_000_000;

impl Story {
    /// An operation and its answer.
    fn op(&mut self, by: &str, mut step: Value, answer: Value) -> &mut Self {
        step["session"] = json!(SESSION);
        let op = Op::new(by, self.now, step);
        self.now += SECOND;
        self.history.push(op.answered(self.now - 1, answer));
        self
    }

    /// One whose driver died.
    fn cut(&mut self, by: &str, mut step: Value) -> &mut Self {
        step["session"] = json!(SESSION);
        self.history.push(Op::new(by, self.now, step));
        self.now += SECOND;
        self
    }

    fn lease(&mut self, by: &str, epoch: u64) -> &mut Self {
        let committed = self.log.entries.len();
        let answer =
            json!({ "epoch": epoch, "committed": committed, "recovered": { "how": "nothing" } });
        self.op(by, json!({ "do": "lease", "term_ms": 1 }), answer)
    }

    /// Stores a turn of these.
    fn store(&mut self, turn: &str, items: &[Item]) -> Value {
        let first = self.log.entries.len() as u64 + 1;
        self.log.entries.extend_from_slice(items);
        let receipt = Receipt {
            number: self.log.receipts.len() as u64 + 1,
            first,
            last: self.log.entries.len() as u64,
            digest: format!("digest of {turn}"),
            key: turn.to_owned(),
        };
        let shown = shown(&receipt);
        self.log.receipts.push(receipt);
        shown
    }

    /// A turn that is committed at once, and acknowledged.
    fn turn(&mut self, by: &str, epoch: u64, turn: &str) -> &mut Self {
        let step = self.commit(by, epoch, turn);
        let items = Op::new(by, 0, step.clone()).items;
        let receipt = self.store(turn, &items);
        self.op(by, step, json!({ "receipt": receipt, "already": false }))
    }

    /// The step of one.
    fn commit(&self, by: &str, epoch: u64, turn: &str) -> Value {
        let tag = |n: u64| format!("{by}:{turn}:{n}");
        json!({
            "do": "commit", "epoch": epoch, "expected": self.log.entries.len(), "key": turn,
            "said": [{ "prompt": tag(1) }, { "note": tag(2) }, { "stop": "" }],
        })
    }

    fn append(&mut self, by: &str, turn: &str, n: u64) -> &mut Self {
        let items = json!([{ "note": format!("{by}:{turn}:{n}") }]);
        self.op(
            by,
            json!({ "do": "append", "epoch": 1, "key": turn, "said": items }),
            json!({}),
        )
    }

    fn page(&mut self, from: usize, to: usize) -> &mut Self {
        let entries: Vec<_> = self.log.entries[from..to]
            .iter()
            .map(|i| json!({ "key": i.key, "text": i.text }))
            .collect();
        let step = json!({ "do": "page", "after": from, "limit": 100 });
        self.op(
            "reader",
            step,
            json!({ "entries": entries, "committed": to }),
        )
    }

    fn problems(&self) -> Vec<String> {
        let authority = Authority::from([(SESSION.to_owned(), self.log.clone())]);
        check(&self.history, &authority, &Deaths::new())
    }
}

fn shown(r: &Receipt) -> Value {
    json!({ "number": r.number, "first": r.first, "last": r.last, "digest": r.digest })
}

fn item(key: &str, text: &str) -> Item {
    Item {
        key: key.to_owned(),
        text: Some(text.to_owned()),
    }
}

/// Two drivers, one after the other, and a reader: nothing is wrong.
fn sound() -> Story {
    let mut story = Story::default();
    story.lease("a", 1).turn("a", 1, "a.1");
    let open = json!({ "do": "open", "epoch": 1, "key": "a.2", "expected": 3, "said": [{ "prompt": "a:a.2:1" }] });
    story
        .op("a", open, json!({}))
        .append("a", "a.2", 2)
        .append("a", "a.2", 3);
    let items = [
        item("prompt:a.2", "a:a.2:1"),
        item("note:a.2:a:a.2:2", "a:a.2:2"),
        item("note:a.2:a:a.2:3", "a:a.2:3"),
    ];
    let receipt = story.store("a.2", &items);
    let commit = json!({ "do": "commit", "epoch": 1, "key": "a.2", "expected": 3, "said": [] });
    story.op("a", commit, json!({ "receipt": receipt, "already": false }));
    story
        .page(0, 6)
        .turn("a", 1, "a.3")
        .lease("b", 2)
        .turn("b", 2, "b.1")
        .page(3, 12);
    assert_eq!(story.problems(), [""; 0]);
    story
}

/// Breaks a sound one, and expects to be told so.
#[track_caller]
fn caught(word: &str, breaks: impl FnOnce(&mut Story)) {
    let mut story = sound();
    breaks(&mut story);
    let problems = story.problems();
    let named = |p: &String| p.contains(&format!(": {word}:"));
    assert!(
        problems.iter().any(named),
        "not called {word}: {problems:#?}"
    );
}

/// The log is made anew from these turns of the sound one, with receipts in order.
fn only(story: &mut Story, order: &[usize]) {
    let log = std::mem::take(&mut story.log);
    for &at in order {
        let receipt = &log.receipts[at];
        story.store(&receipt.key, log.items(receipt));
    }
}

#[test]
fn a_turn_that_was_acknowledged_and_is_gone_is_lost() {
    caught("lost", |story| only(story, &[0, 1, 2]));
    caught("lost", |story| only(story, &[0, 1, 3]));
}

#[test]
fn a_turn_that_is_there_twice_is_doubled() {
    caught("doubled", |story| only(story, &[0, 1, 2, 3, 3]));
    // Its own driver would not see it: the second is behind all that anybody was told.
    caught("doubled", |story| {
        let twice = story.log.entries[0].clone();
        story.log.entries.push(twice);
        story.log.receipts[3].last += 1;
    });
}

#[test]
fn turns_that_changed_places_are_reordered() {
    caught("reordered", |story| {
        // Each is told where it is, and it is not where it was asked for.
        only(story, &[0, 2, 1, 3]);
        for op in &mut story.history {
            if let Some(r) = story
                .log
                .receipts
                .iter()
                .find(|r| op.committed_now() && r.key == op.key)
            {
                op.answer["receipt"] = shown(r);
                op.step["expected"] = json!(r.first - 1);
            }
        }
    });
}

#[test]
fn events_that_changed_places_are_reordered() {
    caught("reordered", |story| story.log.entries.swap(4, 5));
    // Also where one call said both.
    caught("reordered", |story| story.log.entries.swap(0, 1));
}

#[test]
fn an_event_of_another_turn_is_interleaved() {
    caught("interleaved", |story| story.log.entries.swap(5, 6));
    caught("interleaved", |story| {
        story
            .log
            .entries
            .insert(4, item("note:b.9:b:b.9:1", "b:b.9:1"));
        story.log.receipts[1].last += 1;
    });
}

#[test]
fn an_event_that_is_gone_from_its_turn_is_lost() {
    caught("lost", |story| {
        only(story, &[0, 1, 2, 3]);
        story.log.entries.remove(4);
        story.log.receipts[1].last -= 1;
    });
}

#[test]
fn an_event_that_says_something_else_is_altered() {
    caught("altered", |story| {
        story.log.entries[4].text = Some("else".to_owned());
    });
}

#[test]
fn a_receipt_that_is_missing_leaves_a_gap() {
    caught("gap", |story| {
        story.log.receipts.remove(1);
    });
    caught("gap", |story| story.log.receipts[2].first += 1);
    caught("gap", |story| {
        story.log.entries.pop();
    });
}

#[test]
fn a_driver_that_was_replaced_and_is_acknowledged_is_not_fenced() {
    caught("fenced", |story| {
        story.turn("a", 1, "a.4");
    });
    // It need not be a commit.
    caught("fenced", |story| {
        let open = json!({ "do": "open", "epoch": 1, "key": "a.4", "expected": 12, "said": [] });
        story.op("a", open, json!({}));
    });
    // Nor need anybody have been told of the epoch.
    caught("fenced", |story| {
        let third = |op: &&mut Op| op.is("commit") && op.key == "a.3";
        story.history.iter_mut().find(third).unwrap().step["epoch"] = json!(3);
    });
}

#[test]
fn a_lease_that_two_have_is_not_fenced() {
    caught("fenced", |story| {
        let long = json!({ "do": "lease", "term_ms": 60_000 });
        let answer = |epoch: u64| json!({ "epoch": epoch, "committed": 12, "recovered": { "how": "nothing" } });
        story
            .op("c", long.clone(), answer(3))
            .op("d", long, answer(4));
    });
    caught("fenced", |story| {
        story.lease("c", 2);
    });
    caught("fenced", |story| {
        story.lease("c", 1);
    });
}

#[test]
fn what_nobody_committed_is_not_shown() {
    // It was refused.
    caught("uncommitted", |story| {
        let step = story.commit("b", 2, "b.2");
        let items = Op::new("b", 0, step.clone()).items;
        story.store("b.2", &items);
        story.op(
            "b",
            step,
            json!({ "error": "stale", "fate": "not committed" }),
        );
    });
    // It was said, and never asked to be committed.
    caught("uncommitted", |story| {
        story.append("b", "b.2", 1);
        story.store("b.2", &[item("note:b.2:b:b.2:1", "b:b.2:1")]);
    });
    // It was aborted.
    caught("uncommitted", |story| {
        let abort = json!({ "do": "abort", "epoch": 2, "key": "b.1" });
        story.op("b", abort, json!({}));
    });
    // It was read in the middle of a turn, or before anybody asked for it.
    caught("uncommitted", |story| {
        story.page(0, 5);
    });
    caught("uncommitted", |story| {
        let mut read = story.history.pop().unwrap();
        let commit = story.history.iter().find(|op| op.key == "b.1").unwrap();
        read.returned = commit.invoked - 1;
        story.history.insert(0, read);
    });
}

#[test]
fn a_read_that_is_no_beginning_of_the_log_is_caught() {
    caught("uncommitted", |story| {
        story.page(0, 3);
        story.history.last_mut().unwrap().answer["entries"][1]["text"] = json!("else");
    });
    caught("stale", |story| {
        story.page(0, 9);
    });
}

#[test]
fn what_was_acknowledged_in_an_open_turn_is_not_lost() {
    caught("lost", |story| {
        story.append("b", "b.2", 1);
    });
    let mut story = sound();
    story.append("b", "b.2", 1);
    for op in &mut story.history {
        if op.key == "b.2" {
            op.step["epoch"] = json!(2);
        }
    }
    story.log.open = Some(("b.2".to_owned(), vec![item("note:b.2:b:b.2:1", "b:b.2:1")]));
    assert_eq!(story.problems(), [""; 0]);
}

#[test]
fn what_nobody_knows_may_be_there_once_or_not_at_all() {
    let step = sound().commit("b", 2, "b.2");
    let items = Op::new("b", 0, step.clone()).items;
    let mut absent = sound();
    absent.cut("b", step.clone());
    assert_eq!(absent.problems(), [""; 0]);
    let mut there = sound();
    there.cut("b", step.clone());
    there.store("b.2", &items);
    assert_eq!(there.problems(), [""; 0]);
    let unknown = json!({ "error": "unknown", "fate": "unknown" });
    let mut answered = sound();
    answered.op("b", step.clone(), unknown);
    answered.store("b.2", &items);
    assert_eq!(answered.problems(), [""; 0]);
    caught("lost", |story| {
        story.cut("b", step.clone());
        story.store("b.2", &items[..2]);
    });
    caught("doubled", |story| {
        story.cut("b", step.clone());
        story.store("b.2", &items);
        story.store("b.2", &items);
    });
}

#[test]
fn a_repeated_request_is_placed_where_it_was_done() {
    let mut story = sound();
    let step = |what: &str, items: Value| json!({ "do": what, "epoch": 2, "expected": 12, "key": "b.2", "said": items });
    let note = json!([{ "note": "b:b.2:1" }]);
    let stop = json!([{ "stop": "" }]);
    let unknown = json!({ "error": "unknown", "fate": "unknown" });
    let failed = json!({ "error": "store", "fate": "not committed" });
    story.op("b", step("open", json!([])), json!({}));
    story.op("b", step("commit", stop.clone()), unknown);
    story.op("b", step("commit", stop.clone()), failed);
    story.op("b", step("append", note), json!({}));
    let stopped = Item {
        key: "stop:b.2".to_owned(),
        text: None,
    };
    let mut items = vec![item("note:b.2:b:b.2:1", "b:b.2:1"), stopped];
    let receipt = story.store("b.2", &items);
    let done = json!({ "receipt": receipt, "already": false });
    story.op("b", step("commit", stop), done);
    assert_eq!(story.problems(), [""; 0]);
    items.reverse();
    story.log.entries.truncate(12);
    story.log.entries.extend(items);
    assert_ne!(story.problems(), [""; 0]);
}
