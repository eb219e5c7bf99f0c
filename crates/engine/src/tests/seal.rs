//! What the worker seals, folds and sets aside.

use std::io::Write as _;

use siglum_domain::fold;
use siglum_domain::observation::{Side, Source, StartKind, ToolClass};
use siglum_domain::receipt::{GENESIS, verifies};
use siglum_domain::{ConversationId, LedgerId, SessionId};
use siglum_ledger::{
    CheckpointFilter, Durability, Ledger, LedgerError, Mode, SessionFilter, SessionOrigin,
    SessionRecord, SqliteLedger, Transaction, TranscriptRecord, write,
};

use super::stage::*;
use crate::record::transcript;
use crate::worker;

/// Checks the chain of a session and tells up to where it is sealed.
fn sealed(stage: &mut Stage, session: SessionId) -> u64 {
    let receipts = stage.read(|tx| tx.receipts(session));
    let mut previous = GENESIS.to_owned();
    for receipt in &receipts {
        let rows = stage.read(|tx| tx.to_seal(session, receipt.first, receipt.last));
        let rows: Vec<_> = rows.into_iter().map(|(entry, _)| entry).collect();
        assert!(
            verifies(receipt, &previous, &rows),
            "receipt {}",
            receipt.number
        );
        previous.clone_from(&receipt.digest);
    }
    let last = receipts.last().map_or(0, |r| r.last);
    assert_eq!(stage.session(session).sealed, last);
    last
}

#[test]
fn an_open_turn_is_not_sealed_and_a_stopped_one_is() {
    let mut stage = Stage::new();
    let one = stage.hear(says(
        "one",
        vec![started(1, StartKind::Startup), prompt("p", 2)],
    ));
    stage.slice();
    assert_eq!(sealed(&mut stage, one), 1, "what came before the open turn");
    stage.hear(says("one", vec![stopped("p", 3)]));
    stage.slice();
    assert_eq!(sealed(&mut stage, one), 3);
    stage.hear(says(
        "one",
        vec![prompt("q", 4), call("t", "q", 5, ToolClass::Shell)],
    ));
    stage.slice();
    assert_eq!(sealed(&mut stage, one), 3);
    stage.hear(says("one", vec![prompt("r", 6)]));
    stage.slice();
    assert_eq!(
        sealed(&mut stage, one),
        5,
        "the next prompt closes a turn without a stop"
    );
    let receipts = stage.read(|tx| tx.receipts(one));
    assert_eq!(
        receipts.iter().map(|r| r.turns.len()).collect::<Vec<_>>(),
        [0, 1, 1]
    );
}

#[test]
fn a_killed_agent_is_ended_and_sealed() {
    let mut stage = Stage::new();
    let start = vec![started(1, StartKind::Startup), prompt("p", 2)];
    let one = stage.hear(in_process(50, says("one", start)));
    stage.hear(says("one", vec![call("t", "p", 3, ToolClass::Shell)]));
    stage.slice();
    assert_eq!(stage.session(one).ended_at, None);
    stage.dead.borrow_mut().push(50);
    stage.slice();
    stage.slice();
    let record = stage.session(one);
    assert_eq!(record.ended_at, Some(at(3)), "when it was last heard of");
    assert_eq!(sealed(&mut stage, one), record.head);
    assert_eq!(
        stage.read(|tx| tx.running_calls("/home/dev/main", at(0))),
        []
    );
    assert_eq!(
        stage
            .read(|tx| tx.checkpoints(&CheckpointFilter::of_session(one, 9)))
            .len(),
        1
    );
    let before = stage.session(one);
    stage.slice();
    assert_eq!(stage.session(one), before, "a dead session dies once");
}

#[test]
fn a_driven_session_outlives_the_processes_of_its_agent() {
    let mut stage = Stage::new();
    let id = SessionId::mint(&stage.ids);
    let name = ConversationId::new("driven").unwrap();
    let home = stage.ledger.id();
    let origin = SessionOrigin::Api;
    let record = SessionRecord::new(id, agent(), name, home, Mode::Driven, origin, at(1));
    write(&mut stage.ledger, Durability::Process, |tx| {
        tx.create_session(&record)?;
        tx.bind(id, &process(50), None, at(1))
    })
    .unwrap();
    stage.dead.borrow_mut().push(50);
    stage.slice();
    let after = stage.session(id);
    assert_eq!((after.ended_at, after.head), (None, 0));
}

#[test]
fn what_comes_late_is_sealed_later() {
    let mut stage = Stage::new();
    let one = stage.hear(says("one", vec![prompt("p", 2), stopped("p", 5)]));
    stage.slice();
    assert_eq!(sealed(&mut stage, one), 2);
    stage.hear(says("one", vec![call("t", "p", 3, ToolClass::Edit)]));
    stage.slice();
    assert_eq!(sealed(&mut stage, one), 3);
}

#[test]
fn what_a_transcript_says_of_a_stopped_turn_is_sealed_when_it_is_read() {
    // The line of a prompt, which a hook has told already.
    let line = |turn: &str, seconds: i64| {
        let mut line = prompt(turn, seconds);
        line.source = Source::Transcript;
        line.key = format!("line-{turn}");
        line
    };
    let mut stage = Stage::new();
    let hooks = vec![
        prompt("p", 2),
        stopped("p", 5),
        prompt("q", 6),
        stopped("q", 7),
    ];
    let one = stage.hear(says("one", hooks));
    stage.slice();
    assert_eq!(sealed(&mut stage, one), 4);
    for (turn, seconds, all) in [("p", 2, 5), ("q", 6, 6)] {
        stage.hear(says("one", vec![line(turn, seconds)]));
        stage.slice();
        assert_eq!(sealed(&mut stage, one), all, "{turn} has stopped");
    }
    stage.hear(says("one", vec![prompt("r", 8), line("r", 8)]));
    stage.slice();
    assert_eq!(sealed(&mut stage, one), 6, "the next one is open");
}

#[test]
fn a_summary_is_the_fold_of_the_log() {
    let mut stage = Stage::new();
    let mut log = vec![started(1, StartKind::Startup), prompt("p", 2)];
    log.extend([
        call("t", "p", 3, ToolClass::Edit),
        file("t", "p", 3, Side::Before, None),
        file("t", "p", 4, Side::After, Some(2)),
        returned("t", "p", 4, ToolClass::Edit, "ok"),
        stopped("p", 5),
    ]);
    let one = stage.hear(says("one", log));
    stage
        .play(|world, ledger| worker::fold_sessions(world, ledger, 9))
        .unwrap();
    let summary = stage.sessions().remove(0).summary;
    let view = fold::session(&stage.read(|tx| tx.entries(one, 0, 0)));
    assert_eq!(summary.state, "waiting");
    assert_eq!(summary.title.as_deref(), Some("Do p"));
    assert_eq!((summary.turns, summary.tool_calls), (1, 1));
    assert_eq!(summary.tokens, view.tokens);
    assert_eq!(
        stage
            .play(|world, ledger| worker::fold_sessions(world, ledger, 9))
            .unwrap(),
        0
    );
    stage.hear(says("one", vec![ended(6)]));
    assert_eq!(
        stage
            .play(|world, ledger| worker::fold_sessions(world, ledger, 9))
            .unwrap(),
        1
    );
    assert_eq!(stage.sessions().remove(0).summary.state, "ended");
}

#[test]
fn a_long_log_that_grows_is_folded_when_it_is_silent() {
    let mut stage = Stage::new();
    let many = (0..1_001).map(|n| prompt(&n.to_string(), 100));
    stage.hear(says("long", many.collect()));
    stage.hear(says("short", vec![prompt("p", 100)]));
    let fold = |stage: &mut Stage, now: i64| {
        stage.now.set(now);
        let folded = stage.play(|world, ledger| worker::fold_silent(world, ledger, 9));
        let folded = folded.unwrap();
        (folded.done, folded.waiting)
    };
    assert_eq!(fold(&mut stage, 101), (1, 1));
    assert_eq!(fold(&mut stage, 101), (0, 1));
    assert_eq!(fold(&mut stage, 102), (1, 0));
    // A clock that was set back holds nothing up.
    stage.hear(says("long", vec![prompt("more", 103)]));
    assert_eq!(fold(&mut stage, 50), (1, 0));
}

#[test]
fn a_long_transcript_is_in_the_way_of_no_other_session() {
    let mut stage = Stage::new();
    let record = transcript_of_one(&mut stage);
    let other = stage.hear(says("other", vec![prompt("p", 2), stopped("p", 3)]));
    let line = format!("{}\n", "x".repeat(1 << 20));
    std::fs::write(&record.path, line.repeat(9)).unwrap();
    want(&mut stage.ledger, &record);
    stage.slice();
    assert_eq!(stage.read(|tx| tx.wanted_transcripts(9)).len(), 1);
    let unfolded = stage.read(|tx| tx.unfolded(9));
    assert!(!unfolded.contains(&other), "it waits for the long one");
    assert!(
        unfolded.contains(&record.session),
        "it is folded at its end"
    );
    while !stage.read(|tx| tx.wanted_transcripts(9)).is_empty() {
        stage.slice();
    }
    // What was read last is sealed first.
    stage.slice();
    assert!(stage.read(|tx| tx.unfolded(9)).is_empty());
}

#[test]
fn a_transcript_that_cannot_be_read_is_set_aside_after_three_times() {
    let mut stage = Stage::new();
    let record = transcript_of_one(&mut stage);
    std::os::unix::fs::symlink("/etc/hostname", &record.path).unwrap();
    want(&mut stage.ledger, &record);
    let mut run = worker::Run::default();
    for parked in [0, 0, 1, 1] {
        stage.play(|world, ledger| worker::slice(world, ledger, &[], &mut run).unwrap());
        assert_eq!(stage.read(|tx| tx.parked()).len(), parked);
    }
    assert_eq!(stage.read(|tx| tx.wanted_transcripts(9)), []);
    let (queue, item, ..) = stage.read(|tx| tx.parked()).remove(0);
    assert_eq!((queue.as_str(), item.as_str()), ("transcripts", "one"));
}

/// The transcript of a session that there is, not wanted yet.
fn transcript_of_one(stage: &mut Stage) -> TranscriptRecord {
    let session = stage.hear(says("one", vec![started(1, StartKind::Startup)]));
    let path = stage.dir.path().join("one.jsonl");
    TranscriptRecord {
        stream: "one".to_owned(),
        agent: agent(),
        session,
        native: native("one"),
        path: path.to_string_lossy().into_owned(),
        subagent: None,
        file: String::new(),
        read_to: 0,
        tail: String::new(),
        turn: None,
        own: false,
    }
}

fn want(ledger: &mut SqliteLedger, record: &TranscriptRecord) {
    let done = write(ledger, Durability::Process, |tx| tx.want_transcript(record));
    done.unwrap();
}

type Work<'a> = &'a mut dyn FnMut(&mut dyn Transaction) -> Result<(), LedgerError>;

/// A ledger whose transactions that write wait for somebody else's.
struct Waiting<'a> {
    inner: &'a mut SqliteLedger,
    meanwhile: &'a dyn Fn(&mut SqliteLedger),
}

impl Ledger for Waiting<'_> {
    fn id(&self) -> LedgerId {
        self.inner.id()
    }

    fn key(&self) -> [u8; 32] {
        self.inner.key()
    }

    fn read(&mut self, work: Work<'_>) -> Result<(), LedgerError> {
        self.inner.read(work)
    }

    fn write(&mut self, durability: Durability, work: Work<'_>) -> Result<(), LedgerError> {
        (self.meanwhile)(self.inner);
        self.inner.write(durability, work)
    }

    fn maintain(&mut self) -> Result<(), LedgerError> {
        self.inner.maintain()
    }

    fn scrub(&mut self) -> Result<(), LedgerError> {
        self.inner.scrub()
    }

    fn check(&mut self) -> Result<Vec<String>, LedgerError> {
        self.inner.check()
    }
}

/// How many transcripts are wanted after a look at the one that is, while which something happens.
fn wanted_after(stage: &mut Stage, meanwhile: &dyn Fn(&mut SqliteLedger)) -> usize {
    let record = stage.read(|tx| tx.wanted_transcripts(9)).remove(0);
    let spec = siglum_agents::find("claude-code").unwrap();
    stage.play(|world, inner| {
        let mut waiting = Waiting { inner, meanwhile };
        transcript::read_on(world, &mut waiting, spec, &record, None).unwrap();
    });
    stage.read(|tx| tx.wanted_transcripts(9)).len()
}

/// The hook finds it wanted, and starts no worker: nobody else would read what it is about.
#[test]
fn a_transcript_stays_wanted_that_a_hook_wants_while_it_is_looked_at() {
    let mut stage = Stage::new();
    let record = transcript_of_one(&mut stage);
    let moved = TranscriptRecord {
        path: format!("{}.moved", record.path),
        ..record.clone()
    };
    let goes_on = |record: &TranscriptRecord, ledger: &mut SqliteLedger| {
        let mut options = std::fs::OpenOptions::new();
        let file = options.create(true).append(true).open(&record.path);
        file.unwrap().write_all(b"{\"type\":\"user\"}\n").unwrap();
        want(ledger, record);
    };
    want(&mut stage.ledger, &record);
    let begins = wanted_after(&mut stage, &|ledger| goes_on(&record, ledger));
    assert_eq!(begins, 1, "there was none");
    let grows = wanted_after(&mut stage, &|ledger| goes_on(&record, ledger));
    assert_eq!(grows, 1, "there was less");
    let moves = wanted_after(&mut stage, &|ledger| goes_on(&moved, ledger));
    assert_eq!(moves, 1, "it was elsewhere");
    assert_eq!(wanted_after(&mut stage, &|_| {}), 0, "all of it is read");
}

#[test]
fn sessions_that_wait_for_their_turn_do_not_hold_up_the_others() {
    let mut stage = Stage::new();
    for n in 0..70 {
        stage.hear(says(&format!("open-{n}"), vec![prompt("p", n)]));
    }
    let done = stage.hear(says("done", vec![prompt("p", 100), stopped("p", 101)]));
    let mut run = worker::Run::default();
    let mut slices = 0;
    while stage.play(|world, ledger| worker::slice(world, ledger, &[], &mut run).unwrap())
        == worker::Slice::Worked
    {
        slices += 1;
        assert!(slices < 20, "the worker never comes to rest");
    }
    assert_eq!(sealed(&mut stage, done), 2);
}

#[test]
fn sessions_that_nobody_can_see_hide_no_dead_one_from_the_worker() {
    let mut stage = Stage::new();
    let (day, many) = (24 * 60 * 60, 600);
    let dead = stage.hear(in_process(7, says("dead", vec![prompt("p", 0)])));
    let lost = |n: i64| says(&format!("lost-{n}"), vec![prompt("p", 1 + n)]);
    for n in 0..many {
        stage.hear(lost(n));
    }
    stage.dead.borrow_mut().push(7);
    let may_run = |stage: &mut Stage| {
        let filter = SessionFilter {
            open: true,
            seen: true,
            ..SessionFilter::default()
        };
        stage.read(|tx| tx.sessions(&filter)).len()
    };
    stage.slice();
    assert_eq!(may_run(&mut stage), 601, "silent for minutes only");
    stage.now.set(day + many + 1);
    for _ in 0..3 {
        stage.slice();
    }
    assert_eq!(may_run(&mut stage), 0);
    assert!(stage.session(dead).ended_at.is_some());
    let back = stage.hear(says("lost-3", vec![prompt("q", day + many + 2)]));
    assert_eq!(stage.session(back).ended_at, None, "unseen is no end");
    assert_eq!(may_run(&mut stage), 1, "it was heard of again");
}

#[test]
fn nothing_is_sealed_while_file_versions_cannot_be_synced() {
    let mut stage = Stage::new();
    let one = stage.hear(says(
        "one",
        vec![
            started(1, StartKind::Startup),
            prompt("p", 2),
            stopped("p", 3),
        ],
    ));
    let put = stage.play(|world, _| world.objects.put(b"a version", None));
    let folder = stage.objects().join(&put.unwrap().to_string()[..2]);
    // A file in the place of its folder: the disk refuses in a way that is not "gone".
    std::fs::remove_dir_all(&folder).unwrap();
    std::fs::write(&folder, "").unwrap();
    stage.slice();
    assert_eq!(sealed(&mut stage, one), 0);
    std::fs::remove_file(&folder).unwrap();
    stage.slice();
    assert_eq!(sealed(&mut stage, one), 3);
}
