//! What is recorded is all or nothing, and once; and what is shown and exported of it.

use siglum_domain::fold::{Records, Usage};
use siglum_domain::link::Link;
use siglum_domain::observation::{Source, Tokens};
use siglum_domain::pipeline::{CheckEvidence, NewEvent, State};
use siglum_domain::price::{NanoUsd, Prices};
use siglum_domain::{AgentName, ConversationId, NativeId, SessionId, Timestamp};
use siglum_ledger::{Durability, Ledger, Mode, SessionOrigin, SessionRecord, Statement, write};

use crate::tests::stage::Stage;
use crate::views::pipeline::{GraphJson, PipelineError, Recorded, bundle, graph, list, record};

fn new(kind: &str, phase: Option<&str>) -> NewEvent {
    NewEvent {
        kind: kind.to_owned(),
        phase: phase.map(str::to_owned),
        ..NewEvent::default()
    }
}

fn checked(name: &str, text: &str, key: Option<&str>) -> NewEvent {
    NewEvent {
        name: Some(name.to_owned()),
        result: Some("passed".to_owned()),
        text: Some(text.to_owned()),
        key: key.map(str::to_owned),
        ..new("check", None)
    }
}

fn put(
    stage: &mut Stage,
    id: &str,
    events: &[NewEvent],
) -> Result<Vec<(u64, bool)>, PipelineError> {
    let recorded = stage.play(|world, ledger| record(world, ledger, id, events, "Ada", "cli"))?;
    let pair = |r: &Recorded| (r.number, r.already);
    Ok(recorded.iter().map(pair).collect())
}

fn linked(stage: &mut Stage, n: u128, links: &[Link]) -> SessionId {
    let session = SessionId::from_uuid(uuid::Uuid::from_u128(n));
    stage.play(|world, ledger| {
        let home = ledger.id();
        let native = NativeId::new(format!("n{n}")).unwrap();
        write(ledger, Durability::Process, |tx| {
            tx.create_session(&SessionRecord::new(
                session,
                AgentName::new("codex").unwrap(),
                ConversationId::of_native(Some(&native), session),
                home,
                Mode::Observed,
                SessionOrigin::Live,
                world.now(),
            ))?;
            for link in links {
                let link = link.clone();
                let attached = Statement::LinkAttached { session, link };
                tx.state(world.now(), "Ada", "cli", &attached)?;
            }
            Ok(())
        })
        .unwrap();
    });
    session
}

fn words(text: &str) -> String {
    text.to_owned()
}

#[test]
fn a_batch_is_recorded_whole_or_not_at_all() {
    let mut stage = Stage::new();
    let nobody = SessionId::from_uuid(uuid::Uuid::from_u128(99));
    let good = new("phase_started", Some("plan"));
    let strange = NewEvent {
        session: Some(nobody),
        ..good.clone()
    };
    let long = new("phase_started", Some(&"x".repeat(65)));
    for bad in [long, strange, new("nonsense", None)] {
        assert!(put(&mut stage, "p", &[good.clone(), bad]).is_err());
        let known = stage.play(|world, ledger| graph(world, ledger, "p", Prices::built_in()));
        assert!(matches!(known, Err(PipelineError::NoPipeline(_))));
    }
    let found = put(
        &mut stage,
        "p",
        &[good.clone(), new("phase_started", Some("b"))],
    );
    assert_eq!(found.unwrap(), [(1, false), (2, false)]);
    let ended = put(&mut stage, "never", &[new("ended", None)]);
    assert!(matches!(ended, Err(PipelineError::NoPipeline(id)) if id == "never"));
    assert!(
        matches!(put(&mut stage, " p", &[good]), Err(PipelineError::Refused(e)) if e.field == "pipeline_id")
    );
}

#[test]
fn a_key_says_it_once_and_stands_for_nothing_else() {
    let mut stage = Stage::new();
    let first = checked("unit", "all fine", Some("run-1"));
    assert_eq!(
        put(&mut stage, "p", std::slice::from_ref(&first)).unwrap(),
        [(1, false)]
    );
    let again = put(
        &mut stage,
        "p",
        &[checked("lint", "x", None), first.clone(), first.clone()],
    );
    assert_eq!(again.unwrap(), [(2, false), (1, true), (1, true)]);
    // Whether the session proves itself is no part of what is said.
    let proven = NewEvent {
        evidence: CheckEvidence::Session,
        ..first.clone()
    };
    assert_eq!(put(&mut stage, "p", &[proven]).unwrap(), [(1, true)]);
    for other in [
        checked("unit", "all fine?", Some("run-1")),
        NewEvent {
            result: Some(words("failed")),
            ..first.clone()
        },
    ] {
        let refused = put(&mut stage, "p", &[checked("more", "x", None), other]);
        assert!(
            matches!(refused, Err(PipelineError::Conflict { number: 1, .. })),
            "{refused:?}"
        );
    }
    assert_eq!(put(&mut stage, "q", &[first]).unwrap(), [(1, false)]);
    let shown = stage
        .play(|world, ledger| graph(world, ledger, "p", Prices::built_in()))
        .unwrap();
    assert_eq!(shown.loose.checks.len(), 2);
}

#[test]
fn sessions_belong_by_their_links_and_stay_when_they_are_taken_out() {
    let mut stage = Stage::new();
    let of = |phase: &str| {
        [
            Link::PipelineId(words("p")),
            Link::Phase(words(phase)),
            Link::AgentRole(words("coder")),
        ]
    };
    let out = linked(&mut stage, 1, &of("a"));
    linked(&mut stage, 2, &of("a"));
    linked(&mut stage, 3, &[Link::PipelineId(words("other"))]);
    stage.play(|world, ledger| {
        let (session, link) = (out, Link::PipelineId(words("p")));
        let detached = Statement::LinkDetached { session, link };
        write(ledger, Durability::Process, |tx| {
            tx.state(world.now(), "Ada", "cli", &detached)
        })
        .unwrap();
    });
    let shown = stage
        .play(|world, ledger| graph(world, ledger, "p", Prices::built_in()))
        .unwrap();
    let all: Vec<_> = shown.phases[0]
        .instances()
        .map(|i| (i.label(), i.member.detached))
        .collect();
    assert_eq!(all, [(words("coder"), true), (words("coder #2"), false)]);
    assert_eq!(shown.totals.sessions, 1);
    let page = stage
        .play(|world, ledger| list(world, ledger, None, 1))
        .unwrap();
    assert!(page.more);
    let next = page.pipelines[0].pipeline.clone();
    let rest = stage
        .play(|world, ledger| list(world, ledger, Some(&next), 0))
        .unwrap();
    assert_eq!((rest.pipelines.len(), rest.more), (1, false));
    let behind = stage.play(|world, ledger| list(world, ledger, Some("never"), 0));
    assert!(matches!(behind, Err(PipelineError::NoPipeline(_))));
}

#[test]
fn a_bundle_has_everything_redacted_and_the_same_digest_each_time() {
    let mut stage = Stage::new();
    let session = linked(&mut stage, 7, &[Link::PipelineId(words("p"))]);
    let secret = format!("ghp_{}", &"a1B2c3D4e5".repeat(4)[..36]);
    let events = [
        new("phase_started", Some("a")),
        NewEvent {
            name: Some(words("api")),
            text: Some(format!("token {secret}")),
            session: Some(session),
            ..new("contract", Some("a"))
        },
        NewEvent {
            verdict: Some(words("approved")),
            ..new("review", None)
        },
        checked("unit", "fine", Some("key-of-mine-1234")),
        new("ended", None),
    ];
    put(&mut stage, "p", &events).unwrap();
    let first = stage
        .play(|world, ledger| bundle(world, ledger, "p"))
        .unwrap();
    stage.now.set(2_000);
    let again = stage
        .play(|world, ledger| bundle(world, ledger, "p"))
        .unwrap();
    assert_eq!(first, again);
    let text = first.content.to_string();
    assert!(!text.contains(&secret[4..12]), "{text}");
    for kept in [session.to_string().as_str(), "key-of-mine-1234", "approved"] {
        assert!(text.contains(kept), "{kept} in {text}");
    }
    for (part, many) in [
        ("events", 2),
        ("contracts", 1),
        ("reviews", 1),
        ("checks", 1),
        ("sessions", 1),
    ] {
        assert_eq!(
            first.content[part].as_array().map(Vec::len),
            Some(many),
            "{part}"
        );
    }
    let keys: Vec<&String> = first.content.as_object().unwrap().keys().collect();
    assert!(keys.is_sorted(), "{keys:?}");
    let digest = blake3::hash(text.as_bytes()).to_hex();
    assert_eq!(first.digest, digest.as_str());
    let shown = stage
        .play(|world, ledger| graph(world, ledger, "p", Prices::built_in()))
        .unwrap();
    assert_eq!(shown.state, State::Unknown);
    let sent = serde_json::to_value(GraphJson::from(&shown)).unwrap();
    assert_eq!(
        sent["no_phase"]["waves"][0][0]["session"],
        session.to_string()
    );
}

/// A message that a session wrote so many tokens with.
fn message(model: &str, output: u64) -> Usage {
    Usage {
        event: format!("msg:{model}"),
        request: None,
        turn: None,
        // 2026-11-01, when the model had a price.
        at: Timestamp::from_seconds(1_793_491_200),
        model: Some(model.to_owned()),
        subagent: None,
        branch: None,
        source: Source::Transcript,
        tokens: Tokens {
            output,
            ..Tokens::default()
        },
        repeated: Records::default(),
        retold: Records::default(),
    }
}

#[test]
fn the_cost_is_that_of_the_sessions_that_are_counted() {
    let mut stage = Stage::new();
    let pipeline = Link::PipelineId(words("p"));
    let one = linked(&mut stage, 1, std::slice::from_ref(&pipeline));
    let two = linked(&mut stage, 2, std::slice::from_ref(&pipeline));
    let removed = linked(&mut stage, 3, std::slice::from_ref(&pipeline));
    put(&mut stage, "p", &[new("phase_started", Some("plan"))]).unwrap();
    stage.play(|world, ledger| {
        write(ledger, Durability::Process, |tx| {
            for (session, model, output) in [
                (one, "claude-opus-5", 1_000),
                (two, "a-model-of-nobody", 7),
                (removed, "claude-opus-5", 500),
            ] {
                tx.put_usages(session, &[message(model, output)])?;
            }
            let (session, link) = (removed, pipeline.clone());
            tx.state(
                world.now(),
                "Ada",
                "cli",
                &Statement::LinkDetached { session, link },
            )?;
            Ok(())
        })
        .unwrap();
    });
    let shown = stage
        .play(|world, ledger| graph(world, ledger, "p", Prices::built_in()))
        .unwrap();
    let cost = shown.totals.cost.unwrap();
    assert_eq!(cost.known, NanoUsd(25_000_000), "25 dollars a million");
    assert_eq!(cost.unpriced.output, 7);
    assert_eq!(cost.to_string(), "$0.0250 + unknown");
    let listed = stage
        .play(|world, ledger| list(world, ledger, None, 10))
        .unwrap();
    assert_eq!(
        listed.pipelines[0].totals.cost, None,
        "not asked for in lists"
    );
}
