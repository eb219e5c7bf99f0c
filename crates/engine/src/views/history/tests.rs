use std::cell::Cell;

use siglum_domain::evidence::{Committer, Judgement};
use siglum_domain::fold::ToolCall;
use siglum_domain::intake::{AgentMatter, Intake, Matter, VERSION};
use siglum_domain::observation::{Body, Fact, Observation, Source, ToolClass, event};
use siglum_domain::redact::Redacted;
use siglum_domain::{AgentName, IdSource, LedgerId, NativeId};
use siglum_ledger::sqlite::Open;
use siglum_ledger::{CheckpointFilter, SqliteLedger};

use super::*;
use crate::record::deliver::{Delivered, deliver};
use crate::record::session_end::{Ended, end};

/// Ids in order.
#[derive(Default)]
struct Ids(Cell<u128>);

impl IdSource for Ids {
    fn fresh(&self) -> uuid::Uuid {
        self.0.set(self.0.get() + 1);
        uuid::Uuid::from_u128(self.0.get())
    }
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_seconds(seconds)
}

fn prompted(ledger: &mut dyn Ledger, ids: &Ids) -> SessionId {
    let prompt = Observation {
        source: Source::Hook,
        key: "k1".into(),
        event: event::prompt("p1"),
        at: at(10),
        turn: Some("p1".into()),
        subagent: None,
        fact: Fact::Prompt {
            text: Body::Text(Redacted::from_stored("do it".into())),
            synthetic: false,
        },
    };
    let matter = AgentMatter {
        observations: vec![prompt],
        ..AgentMatter::new(
            AgentName::new("claude-code").unwrap(),
            NativeId::new("n1").unwrap(),
        )
    };
    let intake = Intake {
        version: VERSION,
        key: "i1".into(),
        at: at(10),
        matter: Matter::Agent(matter),
    };
    match deliver(ledger, ids, &intake).unwrap() {
        Delivered::Session(id) => id,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_session_ends_once_by_anybodys_word() {
    let home = tempfile::tempdir().unwrap();
    let ids = Ids::default();
    let how = Open::Command {
        id: LedgerId::mint(&ids),
        key: [7; 32],
    };
    let mut ledger = SqliteLedger::open(&home.path().join("l.db"), how).unwrap();
    let id = prompted(&mut ledger, &ids);
    let mut say = |seconds| end(&ids, &mut ledger, id, "me", at(seconds)).unwrap();
    assert_eq!(say(20), Some(Ended::Now));
    assert_eq!(say(30), Some(Ended::Before(at(20))));
    read(&mut ledger, |tx| {
        assert_eq!(tx.statements_of_session(id)?.len(), 1);
        assert_eq!(
            tx.checkpoints(&CheckpointFilter::of_session(id, 9))?.len(),
            1
        );
        assert_eq!(tx.session(id)?.and_then(|s| s.ended_at), Some(at(20)));
        let view = fold::session(&tx.entries(id, 0, 0)?);
        assert_eq!(view.state.word(), "ended");
        Ok(())
    })
    .unwrap();
    let nobody = SessionId::mint(&ids);
    assert_eq!(end(&ids, &mut ledger, nobody, "me", at(40)).unwrap(), None);
}

fn turn(number: usize, opened: i64, heads: &[&Oid]) -> Turn {
    let call = |head: &&Oid| ToolCall {
        event: "e".into(),
        tool: "Bash".into(),
        class: ToolClass::Shell,
        started: None,
        ended: None,
        outcome: None,
        input: None,
        output: None,
        path: None,
        edits: Vec::new(),
        heads: (None, Some((*head).clone())),
        subagent: None,
    };
    Turn {
        number,
        state: TurnState::Sealed,
        view: TurnView {
            opened: Some(at(opened)),
            tools: heads.iter().map(call).collect(),
            ..TurnView::default()
        },
        commits: Vec::new(),
    }
}

fn made(commit: &Oid, seen: i64) -> CommitRecord {
    CommitRecord {
        repository: RepositoryId::from_uuid(uuid::Uuid::nil()),
        commit: commit.clone(),
        checkpoint: None,
        intent: None,
        judgement: Judgement {
            rules: 1,
            committer: Committer::Unknown,
            verdict: Verdict::Unknown,
            rule: "ancestry".into(),
            evidence: Vec::new(),
            candidates: Vec::new(),
            outer: Vec::new(),
        },
        facts: None,
        patch: None,
        at: at(seen),
        seen_by: SeenBy::Hook,
    }
}

#[test]
fn a_commit_belongs_to_the_call_that_moved_head_else_to_the_turn_of_its_time() {
    let oid = |digit: &str| Oid::new(digit.repeat(40)).unwrap();
    let (a, b, c) = (oid("a"), oid("b"), oid("c"));
    let mut turns = vec![turn(1, 10, &[]), turn(2, 20, &[&a]), turn(3, 30, &[])];
    for record in [made(&a, 99), made(&b, 25), made(&c, 5)] {
        place(&mut turns, &record);
    }
    let of = |at: usize| -> Vec<&Oid> { turns[at].commits.iter().map(|m| &m.commit).collect() };
    assert_eq!(of(1), [&b, &a]);
    assert_eq!(of(0), [&c]);
    assert!(of(2).is_empty());
    let mut none = Vec::new();
    place(&mut none, &made(&a, 1));
    assert_eq!(none[0].commits.len(), 1);
}
