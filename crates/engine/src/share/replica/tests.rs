//! Two ledgers, one batch after the other.

use std::collections::{BTreeSet, VecDeque};

use proptest::prelude::*;
use siglum_domain::access::{Limits, Scope};
use siglum_domain::intake::AgentMatter;
use siglum_domain::link::Link;
use siglum_domain::receipt::GENESIS;
use siglum_domain::redact::Redactor;
use siglum_domain::{AgentName, CheckpointId, LedgerId, Oid, RepositoryId, SessionId, TokenId};
use siglum_ledger::{
    CheckpointFilter, CheckpointKind, CheckpointRecord, CommitRecord, DESTINATION, Durability,
    Ledger, SeenBy, SessionFilter, Statement, Transaction, read, write,
};
use uuid::Uuid;

use super::outgoing::Width;
use super::wire::Batch;
use super::*;
use crate::commits::elsewhere;
use crate::identity::access::Caller;
use crate::identity::names;
use crate::share::project;
use crate::tests::stage::{Stage, at, native, place, prompt, says, stopped};
use crate::views::verify;
use crate::world::Slice;

const NAME: &str = "team";
pub(super) const TO: Destined<'_> = Destined {
    name: NAME,
    host: "laptop",
};

pub(super) fn sender() -> Stage {
    let mut stage = Stage::new();
    stage.play(|world, ledger| {
        project::add(
            world,
            ledger,
            NAME,
            DESTINATION,
            "http://t",
            &siglum_domain::scope::Scope::in_process(),
        )
        .unwrap();
    });
    stage
}

pub(super) fn receiver() -> Stage {
    Stage::from_number(2)
}

/// The token of the ledger that sends.
pub(super) fn launcher() -> Caller {
    Caller {
        token: TokenId::from_uuid(Uuid::from_u128(0x70)),
        name: "laptop".to_owned(),
        scope: Scope::Launcher,
        limits: Limits::default(),
        note_due: false,
    }
}

pub(super) fn oid(n: u8) -> Oid {
    Oid::new(format!("{n:02x}").repeat(20)).unwrap()
}

/// A turn of a session, sealed.
pub(super) fn turn(stage: &mut Stage, name: &str, n: i64) -> SessionId {
    let turn = format!("t{n}");
    let observations = vec![prompt(&turn, n * 10), stopped(&turn, n * 10 + 1)];
    let session = stage.hear(says(name, observations));
    stage.now.set(stage.now.get() + 1);
    stage.slice();
    session
}

pub(super) fn wrote<T>(
    stage: &mut Stage,
    mut work: impl FnMut(&mut dyn Transaction) -> Result<T, siglum_ledger::LedgerError>,
) -> T {
    stage.play(|_, ledger| write(ledger, Durability::Process, &mut work).unwrap())
}

pub(super) fn attach(stage: &mut Stage, session: SessionId, issue: u64) {
    let link = Link::IssueNumber(issue);
    wrote(stage, |tx| {
        let link = link.clone();
        tx.state(
            at(5),
            "Ann",
            "cli",
            &Statement::LinkAttached { session, link },
        )
    });
}

/// A commit of a session, with its checkpoint.
pub(super) fn commit(stage: &mut Stage, session: SessionId, n: u8) -> RepositoryId {
    let repository = wrote(stage, |tx| {
        let fresh = RepositoryId::from_uuid(Uuid::from_u128(77));
        tx.note_place(&place(), fresh, at(1))
    });
    let checkpoint = CheckpointId::from_uuid(Uuid::from_u128(9000 + u128::from(n)));
    wrote(stage, |tx| {
        tx.put_checkpoint(&CheckpointRecord {
            id: checkpoint,
            kind: CheckpointKind::Commit,
            repository: Some(repository),
            commit: Some(oid(n)),
            at: at(7),
            pins: vec![(session, 1)],
        })?;
        tx.put_commit(&CommitRecord {
            repository,
            commit: oid(n),
            checkpoint: Some(checkpoint),
            intent: None,
            judgement: judged(session),
            facts: None,
            patch: None,
            at: at(7 + i64::from(n)),
            seen_by: SeenBy::Hook,
        })?;
        tx.put_authors(repository, &oid(n), &[])
    });
    repository
}

fn judged(session: SessionId) -> siglum_domain::evidence::Judgement {
    use siglum_domain::evidence::{Committer, Judgement, RULES, Verdict};
    Judgement {
        rules: RULES,
        committer: Committer::Session { session },
        verdict: Verdict::Certain,
        rule: "ancestry".into(),
        evidence: Vec::new(),
        candidates: Vec::new(),
        outer: Vec::new(),
    }
}

/// A gate to another stage, that goes wrong as it is told.
pub(super) struct Played<'a> {
    to: &'a mut Stage,
    /// What happens to the next batches; all others arrive and are answered.
    pub(super) fate: VecDeque<Fate>,
    seen: Vec<Vec<u8>>,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Fate {
    /// It arrives, and so does its answer.
    Well,
    /// It never arrives.
    Gone,
    /// It arrives, and its answer is lost.
    Unanswered,
    /// An older one arrives before it.
    Old(usize),
}

impl<'a> Played<'a> {
    pub(super) fn to(to: &'a mut Stage) -> Self {
        Self {
            to,
            fate: VecDeque::new(),
            seen: Vec::new(),
        }
    }
}

fn take(to: &mut Stage, bytes: &[u8]) -> Result<Positions, ReplicaError> {
    let batch = decode(bytes, &mut Vec::new())?;
    to.play(|world, ledger| apply(world, ledger, &launcher(), &batch))
}

impl Gate for Played<'_> {
    fn send(&mut self, bytes: &[u8]) -> Result<Positions, GateError> {
        self.seen.push(bytes.to_vec());
        let lost = || GateError::Unavailable("lost".to_owned());
        let fate = self.fate.pop_front().unwrap_or(Fate::Well);
        match fate {
            Fate::Gone => return Err(lost()),
            Fate::Old(n) => {
                let old = self.seen[n % self.seen.len()].clone();
                take(self.to, &old).unwrap();
            }
            Fate::Well | Fate::Unanswered => {}
        }
        let answer = take(self.to, bytes).map_err(|error| match error {
            ReplicaError::Refused { document, rule } => GateError::Refused {
                document: Some(document),
                reason: rule,
            },
            other => GateError::Unavailable(other.to_string()),
        })?;
        match fate {
            Fate::Unanswered => Err(lost()),
            _ => Ok(answer),
        }
    }
}

/// Sends until nothing is due, however often it fails.
pub(super) fn feed(from: &mut Stage, gate: &mut dyn Gate) -> Sent {
    let mut sender = Sender::default();
    let mut sent = Sent::default();
    for _ in 0..10_000 {
        let fed = from.play(|world, ledger| sender.feed(world, ledger, &TO, gate).unwrap());
        sent += fed.sent;
        if fed.slice == Slice::Idle {
            let due = from.play(|world, ledger| {
                project::take_over(world, ledger, NAME).unwrap();
                due(ledger, NAME).unwrap()
            });
            if due.is_nothing() {
                return sent;
            }
        }
        // Whatever pause there is, is over.
        from.now.set(from.now.get() + 1_000);
    }
    panic!("it never had everything");
}

/// Everything that a ledger answers with, in words.
pub(super) fn stage_answers(stage: &mut Stage, home: LedgerId) -> Vec<String> {
    ledger_answers(&mut stage.ledger, home)
}

fn ledger_answers(ledger: &mut dyn Ledger, home: LedgerId) -> Vec<String> {
    let sessions = read(ledger, |tx| tx.sessions(&SessionFilter::default())).unwrap();
    let mut lines = Vec::new();
    for listing in sessions {
        let record = listing.record;
        if record.home != home {
            continue;
        }
        let id = record.id;
        let line = read(ledger, |tx| {
            Ok(format!(
                "{:?} {:?} {:?} {:?} {:?} {:?} {:?}",
                (
                    id,
                    &record.agent,
                    record.ended_at,
                    record.sealed,
                    record.repository
                ),
                tx.aliases(id)?,
                tx.log_rows(id, 0, 1000)?
                    .into_iter()
                    .filter(|r| r.sequence <= record.sealed)
                    .collect::<Vec<_>>(),
                tx.receipts(id)?,
                tx.first_prompt(id)?,
                tx.statements_of_session(id)?,
                tx.commits_of_session(id, 99)?,
            ))
        });
        lines.push(line.unwrap());
    }
    lines.sort();
    let mut checkpoints = read(ledger, |tx| tx.checkpoints(&CheckpointFilter::default())).unwrap();
    checkpoints.sort_by_key(|c| c.id);
    lines.push(format!("{checkpoints:?}"));
    lines
}

pub(super) fn home() -> LedgerId {
    LedgerId::from_uuid(Uuid::from_u128(1))
}

#[test]
fn a_receiver_answers_as_the_sender() {
    let (mut from, mut to) = (sender(), receiver());
    let session = turn(&mut from, "a", 1);
    turn(&mut from, "a", 2);
    turn(&mut from, "b", 3);
    attach(&mut from, session, 42);
    let repository = commit(&mut from, session, 7);
    let sent = feed(&mut from, &mut Played::to(&mut to));
    assert_eq!((sent.receipts, sent.statements), (3, 1), "{sent:?}");
    assert_eq!(
        stage_answers(&mut to, home()),
        stage_answers(&mut from, home())
    );
    let filter = SessionFilter {
        links: vec![Link::IssueNumber(42)],
        ..SessionFilter::default()
    };
    let listed = to.read(|tx| tx.sessions(&filter));
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0].record.home, home());
    let found = to
        .read(|tx| elsewhere::known_elsewhere(tx, None, &oid(7)))
        .unwrap();
    assert_eq!(found.judgement, judged(session));
    assert_eq!(found.repository, repository);
    let report = to.play(|world, ledger| verify::verify(world, ledger, None).unwrap());
    assert!(report.is_sound(), "{report:?}");
}

#[test]
fn what_changes_later_arrives_too() {
    let (mut from, mut to) = (sender(), receiver());
    let session = turn(&mut from, "a", 1);
    let repository = commit(&mut from, session, 7);
    feed(&mut from, &mut Played::to(&mut to));
    let other = turn(&mut from, "b", 2);
    wrote(&mut from, |tx| {
        tx.rejudge(repository, &oid(7), &judged(other))
    });
    wrote(&mut from, |tx| {
        tx.withdraw_checkpoint(CheckpointId::from_uuid(Uuid::from_u128(9007)))
    });
    wrote(&mut from, |tx| tx.set_ended(session, Some(at(99))));
    feed(&mut from, &mut Played::to(&mut to));
    assert_eq!(
        stage_answers(&mut to, home()),
        stage_answers(&mut from, home())
    );
    let found = to
        .read(|tx| elsewhere::known_elsewhere(tx, None, &oid(7)))
        .unwrap();
    assert_eq!(found.judgement, judged(other));
}

#[test]
fn an_older_state_that_comes_late_changes_nothing() {
    let (mut from, mut to) = (sender(), receiver());
    let session = turn(&mut from, "a", 1);
    let repository = commit(&mut from, session, 7);
    let mut gate = Played::to(&mut to);
    feed(&mut from, &mut gate);
    let old = gate.seen.clone();
    let other = turn(&mut from, "b", 2);
    wrote(&mut from, |tx| {
        tx.rejudge(repository, &oid(7), &judged(other))
    });
    wrote(&mut from, |tx| tx.set_ended(session, Some(at(99))));
    feed(&mut from, &mut gate);
    for bytes in old {
        take(gate.to, &bytes).unwrap();
    }
    assert_eq!(
        stage_answers(&mut to, home()),
        stage_answers(&mut from, home())
    );
}

/// The way to a ledger in PostgreSQL.
#[cfg(feature = "postgres")]
struct Server(siglum_ledger::PostgresLedger);

#[cfg(feature = "postgres")]
impl Gate for Server {
    fn send(&mut self, bytes: &[u8]) -> Result<Positions, GateError> {
        let batch = decode(bytes, &mut Vec::new()).unwrap();
        let ids = crate::tests::stage::Ids::default();
        let here = crate::Here {
            ids: &ids,
            clock: &|| at(1),
            alive: &|_| None,
            redactor: Redactor::shared(),
        };
        // Twice, as after an answer that was lost.
        apply(&here, &mut self.0, &launcher(), &batch).unwrap();
        Ok(apply(&here, &mut self.0, &launcher(), &batch).unwrap())
    }
}

#[cfg(feature = "postgres")]
#[test]
fn a_receiver_in_postgresql_answers_as_the_sender() {
    let Some(address) = siglum_conformance::Server::address() else {
        println!("not tested: SIGLUM_TEST_PG is not set");
        return;
    };
    let server = siglum_conformance::Server::shared(&address).unwrap();
    let how = siglum_ledger::sqlite::Open::Command {
        id: LedgerId::from_uuid(Uuid::from_u128(2)),
        key: [3; 32],
    };
    let settings = server.settings(server.tenant());
    let ledger = siglum_ledger::PostgresLedger::open(&settings, how).unwrap();
    let mut gate = Server(ledger);
    let mut from = sender();
    let session = turn(&mut from, "a", 1);
    let repository = commit(&mut from, session, 7);
    attach(&mut from, session, 42);
    feed(&mut from, &mut gate);
    let other = turn(&mut from, "b", 2);
    wrote(&mut from, |tx| {
        tx.rejudge(repository, &oid(7), &judged(other))?;
        tx.withdraw_checkpoint(CheckpointId::from_uuid(Uuid::from_u128(9007)))?;
        tx.forget_session(session, at(5_000))
    });
    feed(&mut from, &mut gate);
    assert_eq!(
        ledger_answers(&mut gate.0, home()),
        stage_answers(&mut from, home())
    );
}

#[test]
fn what_is_erased_at_home_is_erased_elsewhere() {
    let (mut from, mut to) = (sender(), receiver());
    let (whole, parts) = (turn(&mut from, "a", 1), turn(&mut from, "b", 2));
    let mut gate = Played::to(&mut to);
    feed(&mut from, &mut gate);
    wrote(&mut from, |tx| {
        tx.forget_session(whole, at(5_000))?;
        let mut all = tx.payloads(0, 99)?.into_iter();
        let some = all.find(|p| p.session == parts).unwrap();
        tx.put_payload(some.position, None)?;
        tx.forget_parts(parts, at(5_000))
    });
    let first = gate.seen.clone();
    feed(&mut from, &mut gate);
    // What was under way before brings nothing back.
    for old in first {
        take(gate.to, &old).unwrap();
    }
    assert_eq!(
        stage_answers(&mut to, home()),
        stage_answers(&mut from, home())
    );
    let left = to.read(|tx| tx.payloads(0, 99));
    assert!(left.iter().all(|p| p.session == parts), "{left:?}");
    assert!(!left.is_empty());
}

#[test]
fn a_clock_that_goes_back_loses_nothing() {
    let (mut from, mut to) = (sender(), receiver());
    let session = turn(&mut from, "a", 1);
    feed(&mut from, &mut Played::to(&mut to));
    // As after a ledger was brought back from a backup: the number that orders batches is gone.
    wrote(&mut from, |tx| tx.set_cursor("replica-stamp", 0));
    from.now.set(1);
    wrote(&mut from, |tx| tx.set_ended(session, Some(at(50))));
    feed(&mut from, &mut Played::to(&mut to));
    assert_eq!(to.session(session).ended_at, Some(at(50)));
}

pub(super) fn batch(from: &mut Stage) -> Batch {
    from.play(|world, ledger| {
        project::take_over(world, ledger, NAME).unwrap();
        let width = Width::Bytes(1 << 20);
        outgoing(world, ledger, &TO, width).unwrap().batch
    })
}

#[test]
fn a_name_that_only_the_agent_gave_is_not_sent() {
    let mut from = sender();
    let session = turn(&mut from, "one", 1);
    let named = |name: &str| Statement::LinkAttached {
        session,
        link: names::link(name).unwrap(),
    };
    wrote(&mut from, |tx| {
        tx.state(at(5), "claude-code", "transcript", &named("by the agent"))?;
        tx.state(at(6), "Ann", "cli", &named("by Ann"))
    });
    let sent = format!("{:?}", batch(&mut from).statements);
    assert!(sent.contains("by Ann"), "{sent}");
    assert!(!sent.contains("by the agent"), "{sent}");
}

fn refused(to: &mut Stage, batch: &Batch) -> (DocumentName, String) {
    let before = stage_answers(to, home());
    let error = to
        .play(|world, ledger| apply(world, ledger, &launcher(), batch))
        .unwrap_err();
    assert_eq!(stage_answers(to, home()), before, "something was written");
    match error {
        ReplicaError::Refused { document, rule } => (document, rule),
        other => panic!("{other}"),
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "one row for each rule")]
fn what_breaks_a_rule_is_refused_with_its_name_and_nothing_is_written() {
    let (mut from, mut to) = (sender(), receiver());
    let session = turn(&mut from, "a", 1);
    turn(&mut from, "a", 2);
    attach(&mut from, session, 42);
    let repository = commit(&mut from, session, 7);
    let good = batch(&mut from);
    let receipt = |n| DocumentName::Receipt(session, n);
    type Spoil = fn(&mut Batch);
    let spoiled: [(Spoil, DocumentName); 18] = [
        (
            |b| b.receipts[1].receipt.digest = GENESIS.to_owned(),
            receipt(2),
        ),
        (|b| b.receipts[0].entries[0].key.push('x'), receipt(1)),
        (
            |b| {
                b.receipts[0].entries[0].fact =
                    Some("{\"fact\":\"other\",\"name\":\"n\"}".to_owned());
            },
            receipt(1),
        ),
        (
            |b| b.receipts[0].entries[0].salt = Some("zz".to_owned()),
            receipt(1),
        ),
        (
            |b| {
                b.receipts[0].entries.pop();
            },
            receipt(1),
        ),
        (|b| b.receipts[0].receipt.first = 0, receipt(1)),
        (
            |b| b.sessions[0].home = LedgerId::from_uuid(Uuid::from_u128(3)),
            DocumentName::Session(session),
        ),
        (
            |b| b.sessions[0].home = LedgerId::from_uuid(Uuid::from_u128(2)),
            DocumentName::Session(session),
        ),
        (
            |b| b.sessions[0].cwd = Some("x".repeat(5_000)),
            DocumentName::Session(session),
        ),
        (|b| b.sessions.clear(), receipt(1)),
        (|b| b.repositories.clear(), DocumentName::Session(session)),
        (
            |b| {
                if let Statement::LinkAttached { link, .. } = &mut b.statements[0].statement {
                    *link = Link::IssueNumber(0);
                }
            },
            DocumentName::Statement(1),
        ),
        (
            |b| {
                if let Statement::LinkAttached { link, .. } = &mut b.statements[0].statement {
                    *link = Link::Phase("a\nb".to_owned());
                }
            },
            DocumentName::Statement(1),
        ),
        (
            |b| b.repositories[0].roots = vec![oid(1); 257],
            DocumentName::Repository(repository),
        ),
        (
            |b| b.repositories[0].remote = Some("https://user:pass@host/o/r".to_owned()),
            DocumentName::Repository(repository),
        ),
        (
            |b| b.repositories[0].remote = Some("/srv/git/r.git".to_owned()),
            DocumentName::Repository(repository),
        ),
        (
            |b| b.repositories[0].remote = Some(format!("host/{}", "r".repeat(5_000))),
            DocumentName::Repository(repository),
        ),
        (
            |b| b.commits[0].patch = Some("\0".to_owned()),
            DocumentName::Commit(repository, oid(7)),
        ),
    ];
    for (n, (spoil, name)) in spoiled.into_iter().enumerate() {
        let mut bad = good.clone();
        spoil(&mut bad);
        let (document, rule) = refused(&mut to, &bad);
        assert_eq!(document, name, "{n}: {rule}");
        assert_eq!(document.to_string().parse(), Ok(name));
    }
    to.play(|world, ledger| apply(world, ledger, &launcher(), &good))
        .unwrap();
    // What belongs to one ledger is nobody else's.
    let mut stolen = good.clone();
    stolen.ledger = LedgerId::from_uuid(Uuid::from_u128(4));
    for session in &mut stolen.sessions {
        session.home = stolen.ledger;
    }
    assert_eq!(
        refused(&mut to, &stolen).0,
        DocumentName::Repository(repository)
    );
    stolen.repositories.clear();
    stolen.sessions.iter_mut().for_each(|s| s.repository = None);
    assert_eq!(refused(&mut to, &stolen).0, DocumentName::Session(session));
    stolen.sessions.clear();
    assert_eq!(refused(&mut to, &stolen).0, receipt(1));
    stolen.receipts.clear();
    stolen.statements.clear();
    let checkpoint = good.checkpoints[0].id;
    assert_eq!(
        refused(&mut to, &stolen).0,
        DocumentName::Checkpoint(checkpoint)
    );
}

#[test]
fn what_is_at_home_here_is_nobodys_replica() {
    let (mut from, mut to) = (sender(), receiver());
    turn(&mut from, "a", 1);
    // Both stages count their ids alike: the same session is at home here.
    let own = turn(&mut to, "a", 1);
    let (document, rule) = refused(&mut to, &batch(&mut from));
    assert!(rule.contains("at home here"), "{rule}");
    assert!(
        matches!(document, DocumentName::Session(s) if s == own)
            || matches!(document, DocumentName::Repository(_))
    );
}

#[test]
fn a_gap_is_answered_and_the_sender_goes_on_from_there() {
    let (mut from, mut to) = (sender(), receiver());
    let session = turn(&mut from, "a", 1);
    turn(&mut from, "a", 2);
    let mut gap = batch(&mut from);
    gap.receipts.remove(0);
    let answer = to
        .play(|world, ledger| apply(world, ledger, &launcher(), &gap))
        .unwrap();
    assert_eq!(
        (answer.receipts[0].session, answer.receipts[0].number),
        (session, 0)
    );
    feed(&mut from, &mut Played::to(&mut to));
    assert_eq!(
        stage_answers(&mut to, home()),
        stage_answers(&mut from, home())
    );
}

#[test]
fn one_that_is_refused_is_set_aside_and_holds_up_nothing() {
    let (mut from, mut to) = (sender(), receiver());
    let bad = turn(&mut from, "a", 1);
    // The same id on both sides, as after a ledger was copied by hand.
    let copied = siglum_ledger::SessionRecord {
        home: LedgerId::from_uuid(Uuid::from_u128(2)),
        repository: None,
        ..from.session(bad)
    };
    wrote(&mut to, |tx| tx.create_session(&copied));
    let (good, other) = (turn(&mut from, "b", 2), turn(&mut from, "c", 3));
    attach(&mut from, good, 1);
    let mut gate = Played::to(&mut to);
    let mut sender = Sender::default();
    for _ in 0..400 {
        from.play(|world, ledger| sender.feed(world, ledger, &TO, &mut gate).unwrap());
        from.now.set(from.now.get() + 1_000);
    }
    for session in [good, other] {
        assert_eq!(to.session(session).sealed, from.session(session).sealed);
    }
    let parked = from.read(|tx| tx.delivery(NAME, bad)).unwrap();
    assert!(parked.parked_at.is_some(), "{parked:?}");
    assert!(parked.reason.unwrap().contains("at home here"));
    assert_eq!(
        to.session(bad).home,
        LedgerId::from_uuid(Uuid::from_u128(2))
    );
}

#[test]
fn a_document_that_is_refused_is_set_aside_and_tried_again_on_request() {
    let (mut from, mut to) = (sender(), receiver());
    let session = turn(&mut from, "a", 1);
    let repository = commit(&mut from, session, 7);
    // Somebody else's checkpoint has its id there.
    let taken = CheckpointId::from_uuid(Uuid::from_u128(9007));
    wrote(&mut to, |tx| {
        tx.put_checkpoint(&CheckpointRecord {
            id: taken,
            kind: CheckpointKind::Manual,
            repository: None,
            commit: None,
            at: at(1),
            pins: Vec::new(),
        })
    });
    let mut gate = Played::to(&mut to);
    feed(&mut from, &mut gate);
    let found = gate.to.read(|tx| tx.commit(repository, &oid(7)));
    assert!(found.is_some(), "the commit is held up");
    let parked = from.read(|tx| tx.parked());
    assert_eq!(parked.len(), 1, "{parked:?}");
    assert!(parked[0].3.contains("another ledger"), "{parked:?}");
    wrote(gate.to, |tx| tx.withdraw_checkpoint(taken));
    from.play(|_, ledger| retry(ledger, NAME).unwrap());
    feed(&mut from, &mut gate);
    assert!(from.read(|tx| tx.parked()).is_empty());
    assert_eq!(
        stage_answers(&mut to, home()),
        stage_answers(&mut from, home())
    );
}

#[test]
fn a_secret_that_the_rules_learned_of_later_stays_behind() {
    let (mut from, mut to) = (sender(), receiver());
    let session = turn(&mut from, "a", 1);
    let secret = format!("ghp_{}", &"a1B2c3D4e5".repeat(4)[..36]);
    // A sender whose rules know less: the digest covers what it sealed.
    let mut batch = batch(&mut from);
    let entry = &mut batch.receipts[0].entries[0];
    let salt = [7; 32];
    let fact = entry.fact.as_ref().unwrap().replace("t1", &secret);
    let fact = match fact.contains(&secret) {
        true => fact,
        false => format!("{{\"fact\":\"other\",\"name\":\"{secret}\"}}"),
    };
    entry.salt = Some("07".repeat(32));
    entry.digest = siglum_domain::receipt::payload_digest(&salt, fact.as_bytes());
    entry.fact = Some(fact);
    let rows: Vec<_> = batch.receipts[0]
        .entries
        .iter()
        .map(|e| siglum_domain::receipt::SealedEntry {
            sequence: e.sequence,
            header: format!("{}\n{}\n{}", e.source.as_str(), e.key, e.event),
            payload: e.digest.clone(),
        })
        .collect();
    let turns = batch.receipts[0].receipt.turns.clone();
    batch.receipts[0].receipt =
        siglum_domain::receipt::seal(session, None, &rows, turns, at(3)).unwrap();
    to.play(|world, ledger| apply(world, ledger, &launcher(), &batch))
        .unwrap();
    let stored = to.read(|tx| tx.log_rows(session, 0, 9));
    assert!(!format!("{stored:?}").contains(&secret), "{stored:?}");
    assert_eq!(stored[0].salt, None);
    assert!(stored[0].fact.is_some(), "only the secret goes");
    let sealed = to.session(session).sealed;
    let chain = to.read(|tx| tx.to_seal(session, 1, sealed));
    let chain: Vec<_> = chain.into_iter().map(|(e, _)| e).collect();
    let receipt = to.read(|tx| tx.last_receipt(session)).unwrap();
    assert!(siglum_domain::receipt::verifies(&receipt, GENESIS, &chain));
}

#[test]
fn no_digest_of_a_launch_token_leaves() {
    let digest = "d1".repeat(32);
    let (mut from, mut to) = (sender(), receiver());
    let session = turn(&mut from, "a", 1);
    let launch = siglum_ledger::Launch {
        digest: digest.clone(),
        launcher: None,
        agent: None,
        program: "claude".to_owned(),
        worktree: None,
    };
    wrote(&mut from, |tx| {
        let launch = launch.clone();
        tx.state(
            at(1),
            "Ann",
            "launcher",
            &Statement::Launched { session, launch },
        )
    });
    let mut gate = Played::to(&mut to);
    feed(&mut from, &mut gate);
    for bytes in &gate.seen {
        let batch = decode(bytes, &mut Vec::new()).unwrap();
        assert!(!serde_json::to_string(&batch).unwrap().contains(&digest));
    }
    let standing = to
        .read(|tx| crate::driven::launch::standing(tx, session))
        .unwrap();
    assert_eq!(
        (
            standing.launch.digest.as_str(),
            standing.launch.program.as_str()
        ),
        ("", "claude")
    );
}

#[test]
fn programs_of_every_version_read_that_nobody_named_the_agent() {
    let (mut from, mut to) = (sender(), receiver());
    let session = from.hear(AgentMatter {
        agent: AgentName::unnamed(),
        ..says("a", vec![prompt("t1", 10), stopped("t1", 11)])
    });
    from.now.set(from.now.get() + 1);
    from.slice();
    assert_eq!(from.session(session).agent, None);
    let mut gate = Played::to(&mut to);
    feed(&mut from, &mut gate);
    let sent: Vec<Batch> = gate
        .seen
        .iter()
        .map(|bytes| decode(bytes, &mut Vec::new()).unwrap())
        .collect();
    let documents = sent.iter().flat_map(|batch| &batch.sessions);
    let agents: BTreeSet<&str> = documents.map(|d| d.agent.as_str()).collect();
    assert_eq!(agents, BTreeSet::from(["unknown"]));
    assert_eq!(to.session(session).agent, None);
}

#[test]
fn a_replica_is_extended_by_nobody_here() {
    let (mut from, mut to) = (sender(), receiver());
    let session = turn(&mut from, "a", 1);
    feed(&mut from, &mut Played::to(&mut to));
    let head = to.session(session).head;
    // The same native id on this machine is another session, and so is what names the replica itself.
    to.ids.skip(1_000);
    let here = to.hear(says("a", vec![prompt("t9", 90)]));
    assert_ne!(here, session);
    let mut named = says("z", vec![prompt("t9", 90)]);
    named.explicit = Some(session);
    assert_ne!(to.hear(named), session);
    let declined = to.read(|tx| tx.declines(at(0), 9));
    assert!(
        declined.iter().any(|d| d.reason == "replica"),
        "{declined:?}"
    );
    to.slice();
    assert_eq!(to.session(session).head, head);
    assert_eq!(to.read(|tx| tx.aliases(session)), [native("a")]);
}

#[test]
fn frames_and_versions_are_read_within_bounds() {
    let large = zstd::bulk::compress(&vec![b' '; BATCH_MOST + 1], 1).unwrap();
    assert!(matches!(
        decode(&large, &mut Vec::new()),
        Err(ReplicaError::TooLarge { .. })
    ));
    for bad in [&b"{}"[..], b"", b"\x28\xb5\x2f\xfdxx", b"[[[[", b"\xff\xfe"] {
        assert!(
            matches!(
                decode(bad, &mut Vec::new()),
                Err(ReplicaError::Malformed(_))
            ),
            "{bad:?}"
        );
    }
    let mut other = Batch::new(home(), at(1));
    other.version = 2;
    assert!(matches!(
        decode(&encode(&other), &mut Vec::new()),
        Err(ReplicaError::Malformed(_))
    ));
    other.version = 1;
    assert_eq!(decode(&encode(&other), &mut Vec::new()).unwrap(), other);
    assert_eq!(
        decode(&serde_json::to_vec(&other).unwrap(), &mut Vec::new()).unwrap(),
        other
    );
    let _ = Redactor::shared();
}

#[test]
fn fields_that_a_newer_home_adds_are_listed() {
    let mut from = sender();
    turn(&mut from, "a", 1);
    let mut newer = serde_json::to_value(batch(&mut from)).unwrap();
    newer["weather"] = "rain".into();
    newer["sessions"][0]["mood"] = 1.into();
    let mut ignored = Vec::new();
    let read = decode(&serde_json::to_vec(&newer).unwrap(), &mut ignored).unwrap();
    assert_eq!(read.sessions.len(), 1);
    ignored.sort();
    assert_eq!(ignored, ["sessions.0.mood", "weather"]);
}

fn fates() -> impl Strategy<Value = Vec<Fate>> {
    let fate = prop_oneof![
        Just(Fate::Well),
        Just(Fate::Gone),
        Just(Fate::Unanswered),
        (0_usize..40).prop_map(Fate::Old),
    ];
    proptest::collection::vec(fate, 0..30)
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Turn(u8),
    Attach(u64),
    Commit(u8),
    End,
    Forget,
    Send(u8),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (0_u8..3).prop_map(Step::Turn),
        2 => (1_u64..5).prop_map(Step::Attach),
        2 => (1_u8..4).prop_map(Step::Commit),
        1 => Just(Step::End),
        1 => Just(Step::Forget),
        4 => (1_u8..4).prop_map(Step::Send),
    ];
    proptest::collection::vec(step, 1..20)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    /// However batches are cut, lost, repeated and delayed, the receiver ends as the sender is.
    #[test]
    fn any_fate_gives_the_same_receiver(steps in steps(), fates in fates()) {
        let (mut from, mut to) = (sender(), receiver());
        let mut gate = Played::to(&mut to);
        gate.fate = fates.into();
        let mut session = turn(&mut from, "s0", 1);
        let mut sender = Sender::default();
        for (n, step) in steps.into_iter().enumerate() {
            let n = i64::try_from(n).unwrap() + 2;
            match step {
                Step::Turn(s) => session = turn(&mut from, &format!("s{s}"), n),
                Step::Attach(issue) => attach(&mut from, session, issue),
                Step::Commit(c) => drop(commit(&mut from, session, c)),
                Step::End => wrote(&mut from, |tx| tx.set_ended(session, Some(at(n)))),
                Step::Forget => wrote(&mut from, |tx| tx.forget_session(session, at(n * 10 + 5))),
                Step::Send(times) => for _ in 0..times {
                    from.play(|world, ledger| sender.feed(world, ledger, &TO, &mut gate).unwrap());
                    from.now.set(from.now.get() + 700);
                },
            }
        }
        feed(&mut from, &mut gate);
        prop_assert_eq!(stage_answers(&mut to, home()), stage_answers(&mut from, home()));
    }
}
