//! How heartbeats are kept, changed, and let go.

use siglum_domain::SessionId;
use siglum_domain::audit::Action;
use siglum_domain::context::{ContextKey, RouteKey};
use siglum_domain::heartbeat::TickOutcome;
use siglum_ledger::AuditFilter;

use super::stage::*;
use crate::driven::heartbeat::*;

const START: &str = "2026-01-05T00:00:00Z";

fn desk() -> (tempfile::TempDir, Replica) {
    let dir = place();
    let replica = Replica::new(opened(&dir), 1, 0);
    (dir, replica)
}

fn keep(
    replica: &mut Replica,
    now: &str,
    definition: &Definition,
    origin: Origin,
) -> Result<(), HeartbeatError> {
    replica.play(at(now), |here, ledger| {
        put(here, ledger, definition, origin, "ann").map(drop)
    })
}

fn next(replica: &mut Replica) -> Option<siglum_domain::Timestamp> {
    show(replica.ledger.as_mut(), &name("h"))
        .unwrap()
        .record
        .next_due
}

fn audited(replica: &mut Replica, action: &Action) -> Vec<String> {
    let filter = AuditFilter {
        action: Some(action.as_str().to_owned()),
        ..AuditFilter::default()
    };
    let entries = replica.read(|tx| tx.audit(&filter));
    entries
        .into_iter()
        .map(|e| e.body.unwrap().text.as_str().to_owned())
        .collect()
}

#[test]
fn a_change_that_leaves_the_schedule_alone_does_not_put_it_off() {
    let (_dir, mut replica) = desk();
    keep(
        &mut replica,
        START,
        &defined("h", r#""every":"10m""#),
        Origin::Asked,
    )
    .unwrap();
    assert_eq!(next(&mut replica), Some(at("2026-01-05T00:10:00Z")));
    let model = defined("h", r#""every":"10m","model":"m""#);
    keep(&mut replica, "2026-01-05T00:05:00Z", &model, Origin::Asked).unwrap();
    assert_eq!(next(&mut replica), Some(at("2026-01-05T00:10:00Z")));
    let other = defined("h", r#""every":"20m""#);
    keep(&mut replica, "2026-01-05T00:05:00Z", &other, Origin::Asked).unwrap();
    assert_eq!(next(&mut replica), Some(at("2026-01-05T00:25:00Z")));
}

#[test]
fn a_change_of_where_answers_go_is_recorded() {
    let (_dir, mut replica) = desk();
    keep(
        &mut replica,
        START,
        &defined("h", r#""every":"10m""#),
        Origin::Asked,
    )
    .unwrap();
    let other = defined(
        "h",
        r#""every":"10m","target":"route","target_route_key":"team:lead""#,
    );
    keep(&mut replica, START, &other, Origin::Asked).unwrap();
    keep(&mut replica, START, &other, Origin::Asked).unwrap();
    let rows = audited(&mut replica, &Action::HeartbeatChanged);
    assert_eq!(rows.len(), 2, "what changes nothing is not told: {rows:?}");
    assert!(
        rows.iter()
            .any(|t| t.contains(r#""target":"route team:lead","target_before":"log""#)),
        "{rows:?}"
    );
}

#[test]
fn the_configuration_says_what_its_heartbeats_are() {
    let (_dir, mut replica) = desk();
    let sync_to = |replica: &mut Replica, all: &[Definition], by: &str| {
        replica.play(at(START), |here, ledger| {
            sync(here, ledger, all, by).unwrap();
        });
    };
    keep(
        &mut replica,
        START,
        &defined("own", r#""every":"10m""#),
        Origin::Asked,
    )
    .unwrap();
    sync_to(
        &mut replica,
        &[defined("h", r#""every":"10m""#)],
        "configuration on a",
    );
    let other = defined("h", r#""every":"20m""#);
    let refused = keep(&mut replica, START, &other, Origin::Asked);
    assert!(
        matches!(refused, Err(HeartbeatError::Configured(_))),
        "{refused:?}"
    );
    let gone = replica.play(at(START), |here, ledger| {
        remove(here, ledger, &name("h"), "ann")
    });
    assert!(
        matches!(gone, Err(HeartbeatError::Configured(_))),
        "{gone:?}"
    );
    replica.play(at(START), |here, ledger| {
        assert!(pause(here, ledger, &name("h"), Pause::Paused, "ann").unwrap());
    });
    sync_to(&mut replica, &[other], "configuration on a");
    assert_eq!(next(&mut replica), None, "a person paused it");
    sync_to(&mut replica, &[], "configuration on b");
    let names = |replica: &mut Replica| -> Vec<String> {
        list(replica.ledger.as_mut(), None, usize::MAX)
            .unwrap()
            .iter()
            .map(|o| o.record.name.to_string())
            .collect()
    };
    assert_eq!(names(&mut replica), ["h", "own"], "it is another machine's");
    sync_to(&mut replica, &[], "configuration on a");
    assert_eq!(names(&mut replica), ["own"]);
}

#[test]
fn a_pause_ends_with_the_next_time_that_it_is_due() {
    let (_dir, mut replica) = desk();
    keep(
        &mut replica,
        START,
        &defined("h", r#""every":"10m""#),
        Origin::Asked,
    )
    .unwrap();
    let to = |replica: &mut Replica, now: &str, to| {
        replica.play(at(now), |here, ledger| {
            pause(here, ledger, &name("h"), to, "ann").unwrap()
        })
    };
    assert!(to(&mut replica, "2026-01-05T00:05:00Z", Pause::Paused));
    assert!(!to(&mut replica, "2026-01-05T00:06:00Z", Pause::Paused));
    assert!(replica.claim(at("2026-01-05T03:00:00Z")).is_empty());
    assert!(to(&mut replica, "2026-01-05T03:05:00Z", Pause::GoesOn));
    assert_eq!(next(&mut replica), Some(at("2026-01-05T03:10:00Z")));
    let nobody = replica.play(at(START), |here, ledger| {
        pause(here, ledger, &name("x"), Pause::Paused, "ann")
    });
    assert!(matches!(nobody, Err(HeartbeatError::Unknown(_))));
}

/// Runs the ticks of so many hours.
fn run(replica: &mut Replica, hours: i64) {
    for minute in 0..hours * 6 {
        let now = at(START).plus_millis((minute + 1) * 600_000);
        for claimed in replica.claim(now) {
            replica.begin(now, &claimed);
            replica
                .end(
                    now,
                    &claimed,
                    &Ended::Answered {
                        text: "HEARTBEAT_OK".to_owned(),
                    },
                )
                .unwrap();
        }
    }
}

/// Attaches a link to one session, and has a projection lack what is in another one.
fn pin(replica: &mut Replica, linked: SessionId, lagging: SessionId) {
    replica.play(at(START), |_, ledger| {
        siglum_ledger::write(ledger, siglum_ledger::Durability::Process, |tx| {
            let link = siglum_domain::link::Link::IssueNumber(7);
            let attached = siglum_ledger::Statement::LinkAttached {
                session: linked,
                link,
            };
            tx.state(at(START), "ann", "cli", &attached)?;
            tx.put_projection(&siglum_ledger::Projection {
                name: "p".to_owned(),
                kind: "directory".to_owned(),
                target: "/home/dev/p".to_owned(),
                at: at(START),
                scope: Some(siglum_domain::scope::Scope::in_process()),
            })?;
            for tick in tx.ticks(&name("h"), None, 99)? {
                if tick.session != Some(lagging) {
                    tx.taken("p", tick.session.unwrap(), 1, at(START))?;
                }
            }
            Ok(())
        })
        .unwrap();
    });
}

#[test]
fn old_ticks_go_with_their_sessions_and_what_they_came_to_stays() {
    let (_dir, mut replica) = desk();
    keep(
        &mut replica,
        START,
        &defined("h", r#""every":"10m","keep":"1h""#),
        Origin::Asked,
    )
    .unwrap();
    run(&mut replica, 5);
    let session = |replica: &mut Replica, n: usize| {
        replica
            .ticks("h")
            .iter()
            .rev()
            .nth(n)
            .unwrap()
            .session
            .unwrap()
    };
    // A person attached a link to the second one, and the third has what a projection lacks.
    let (linked, lagging) = (session(&mut replica, 1), session(&mut replica, 2));
    pin(&mut replica, linked, lagging);
    let now = at("2026-01-05T05:00:00Z");
    let swept = replica.play(now, |here, ledger| sweep(here, ledger).unwrap());
    assert_eq!(
        swept,
        Swept {
            ticks: 22,
            sessions: 21,
            pinned: 1
        }
    );
    let left = replica.ticks("h");
    assert_eq!(
        left.len(),
        8,
        "those of the last hour, and the one that waits"
    );
    assert!(left.iter().any(|t| t.session == Some(lagging)));
    assert!(replica.read(|tx| tx.session(linked)).is_some());
    assert_eq!(replica.read(|tx| tx.strays()), []);
    assert_eq!(replica.ledger.check().unwrap(), [""; 0]);
    let totals = show(replica.ledger.as_mut(), &name("h")).unwrap().totals;
    assert_eq!(
        (totals[0].outcome, totals[0].ticks, totals[0].tokens),
        (TickOutcome::Acknowledged, 30, 300)
    );
    assert_eq!(audited(&mut replica, &Action::HeartbeatSwept).len(), 1);
    // When the projection has come on, the rest goes.
    replica.play(now, |_, ledger| {
        siglum_ledger::write(ledger, siglum_ledger::Durability::Process, |tx| {
            tx.taken("p", lagging, 1, at(START))
        })
        .unwrap();
    });
    let swept = replica.play(now, |here, ledger| sweep(here, ledger).unwrap());
    assert_eq!(
        swept,
        Swept {
            ticks: 1,
            sessions: 1,
            pinned: 0
        }
    );
    let idle = replica.play(now, |here, ledger| sweep(here, ledger).unwrap());
    assert_eq!(idle, Swept::default());
    assert_eq!(
        audited(&mut replica, &Action::HeartbeatSwept).len(),
        2,
        "nothing is told of nothing"
    );
}

#[test]
fn a_session_that_goes_on_is_not_swept() {
    let (_dir, mut replica) = desk();
    keep(
        &mut replica,
        START,
        &defined("h", r#""every":"10m","keep":"1h","isolated":false"#),
        Origin::Asked,
    )
    .unwrap();
    run(&mut replica, 3);
    let sessions: Vec<_> = replica
        .ticks("h")
        .iter()
        .map(|t| t.session.unwrap())
        .collect();
    let swept = replica.play(at("2026-01-05T03:00:00Z"), |here, ledger| {
        sweep(here, ledger).unwrap()
    });
    assert_eq!((swept.ticks, swept.sessions), (11, 0));
    assert!(
        sessions
            .iter()
            .all(|s| replica.read(|tx| tx.session(*s)).is_some())
    );
}

#[test]
fn a_silent_heartbeat_can_still_be_shown_and_a_removed_one_goes_at_last() {
    let (_dir, mut replica) = desk();
    keep(
        &mut replica,
        START,
        &defined("h", r#""every":"10m","keep":"1h""#),
        Origin::Asked,
    )
    .unwrap();
    run(&mut replica, 1);
    let later = at("2026-02-05T00:00:00Z");
    replica.play(later, |here, ledger| sweep(here, ledger).unwrap());
    let shown = show(replica.ledger.as_mut(), &name("h")).unwrap();
    assert_eq!(shown.last.unwrap().due, at("2026-01-05T01:00:00Z"));
    assert_eq!(shown.record.alive_at, Some(at("2026-01-05T01:00:00Z")));
    replica.play(later, |here, ledger| {
        remove(here, ledger, &name("h"), "ann").unwrap();
    });
    assert!(matches!(
        show(replica.ledger.as_mut(), &name("h")),
        Err(HeartbeatError::Unknown(_))
    ));
    replica.play(later, |here, ledger| sweep(here, ledger).unwrap());
    assert_eq!(
        replica.ticks("h").len(),
        1,
        "it is kept as long as it would have been"
    );
    replica.play(at("2026-02-05T01:00:01Z"), |here, ledger| {
        sweep(here, ledger).unwrap()
    });
    assert_eq!(replica.ticks("h").len(), 0);
    assert_eq!(replica.read(|tx| tx.heartbeats()), []);
    assert_eq!(replica.read(|tx| tx.strays()), []);
}

#[test]
fn isolated_keys_are_those_of_the_domain() {
    let route = RouteKey::new("r").unwrap();
    let session = siglum_domain::SessionId::from_uuid(uuid::Uuid::from_u128(5));
    let key = ContextKey::isolated(&route, session).unwrap();
    assert!(
        is_of_one_run(&key, session),
        "sweeping knows a session of one run by this"
    );
}
