//! What becomes of a tick.

use siglum_domain::context::ContextKey;
use siglum_domain::heartbeat::TickOutcome;

use super::stage::*;
use crate::driven::heartbeat::*;

const START: &str = "2026-01-05T00:00:00Z";

fn answered(text: &str) -> Ended {
    Ended::Answered {
        text: text.to_owned(),
    }
}

/// One process and one heartbeat of so many minutes, which is due first at `00:10`.
fn one(form: &str) -> (tempfile::TempDir, Replica) {
    let dir = place();
    let mut replica = Replica::new(opened(&dir), 1, 0);
    let definition = defined("h", &format!(r#""every":"10m"{form}"#));
    replica.play(at(START), |here, ledger| {
        put(here, ledger, &definition, Origin::Asked, "ann").unwrap()
    });
    (dir, replica)
}

fn tick_summary(tick: &siglum_ledger::TickRecord) -> String {
    let reason = tick.reason.as_deref().unwrap_or("-");
    format!("{} {} {reason}", tick.due, tick.outcome)
}

#[test]
fn a_tick_is_claimed_once_by_one() {
    let (dir, mut first) = one("");
    let mut second = Replica::new(opened(&dir), 2, 900);
    let early = at("2026-01-05T00:09:58Z");
    assert!(first.claim(early).is_empty() && second.claim(early).is_empty());
    // The other one's clock is ahead, so that it comes first.
    let now = at("2026-01-05T00:09:59.500Z");
    assert_eq!(first.claim(now).len(), 0);
    let claimed = second.claim(now);
    assert_eq!(claimed.len(), 1);
    assert_eq!(claimed[0].tick.due, at("2026-01-05T00:10:00Z"));
    assert!(first.claim(at("2026-01-05T00:10:01Z")).is_empty());
}

#[test]
fn what_an_answer_comes_to() {
    for (target, text, outcome) in [
        ("log", "Two issues wait.", TickOutcome::Owed),
        ("none", "Two issues wait.", TickOutcome::Ran),
        ("log", " HEARTBEAT_OK\n", TickOutcome::Acknowledged),
        ("none", "HEARTBEAT_OK", TickOutcome::Acknowledged),
        ("log", " \n", TickOutcome::Ran),
    ] {
        let (_dir, mut replica) = one(&format!(r#","target":"{target}""#));
        let now = at("2026-01-05T00:10:00Z");
        let claimed = replica.claim(now).remove(0);
        replica.begin(now, &claimed);
        let tick = replica.end(now, &claimed, &answered(text)).unwrap();
        assert_eq!(tick.outcome, outcome, "{target} {text}");
        let alive = show(replica.ledger.as_mut(), &name("h"))
            .unwrap()
            .record
            .alive_at;
        assert_eq!(alive, Some(now));
    }
}

#[test]
fn an_answer_is_redacted_before_it_waits_and_delivered_by_the_stable_route() {
    let (_dir, mut replica) = one(
        r#","target":"route","target_route_key":"team:lead","route_key":"team:h:heartbeat:heartbeat""#,
    );
    let now = at("2026-01-05T00:10:00Z");
    let claimed = replica.claim(now).remove(0);
    let keys = replica.begin(now, &claimed);
    assert_eq!(keys.route.as_str(), "team:h:heartbeat");
    let secret = "ghp_a1B2c3D4e5F6g7H8i9J0a1B2c3D4e5F6g7H8";
    replica
        .end(now, &claimed, &answered(&format!("It is {secret}.")))
        .unwrap();
    let waits = replica.ticks("h").remove(0);
    assert!(!format!("{waits:?}").contains(secret));
    let mut sent = Vec::new();
    replica.deliver(now, |parcel| {
        sent.push((
            parcel.id.clone(),
            parcel.route.clone(),
            parcel.target.clone(),
        ));
        assert!(!parcel.text.contains(secret) && parcel.text.starts_with("It is"));
        Ok(())
    });
    let target = Target::Route(siglum_domain::context::RouteKey::new("team:lead").unwrap());
    assert_eq!(
        sent,
        [("h@2026-01-05T00:10:00Z".to_owned(), keys.route, target)]
    );
    let tick = replica.ticks("h").remove(0);
    assert_eq!(
        (tick.outcome, tick.owed, tick.delivered_at),
        (TickOutcome::Delivered, None, Some(now))
    );
}

#[test]
fn a_delivery_is_tried_again_by_its_name_and_at_last_given_up() {
    let (dir, mut first) = one("");
    let mut second = Replica::new(opened(&dir), 2, 0);
    let mut now = at("2026-01-05T00:10:00Z");
    let claimed = first.claim(now).remove(0);
    first.begin(now, &claimed);
    first
        .end(now, &claimed, &answered("Look at this."))
        .unwrap();
    // The first one takes it and dies; the second one gets it when the time of the first is over.
    first.play(now, |here, ledger| {
        assert_eq!(take(here, ledger).unwrap().len(), 1);
    });
    let mut names = Vec::new();
    second.deliver(now, |_| panic!("it is taken"));
    for _ in 0..40 {
        now = now.plus_millis(91_000 * 20);
        second.deliver(now, |parcel| {
            names.push(parcel.id.clone());
            Err(Undelivered::Later("503".to_owned()))
        });
    }
    assert_eq!(names.len(), 12, "not for ever");
    names.dedup();
    assert_eq!(names.len(), 1, "by one name");
    let tick = second.ticks("h").pop().unwrap();
    assert_eq!(tick_summary(&tick), "2026-01-05T00:10:00Z undelivered 503");
    assert_eq!(tick.owed, None);
}

#[test]
fn a_refused_delivery_is_not_tried_again() {
    let (_dir, mut replica) = one("");
    let now = at("2026-01-05T00:10:00Z");
    let claimed = replica.claim(now).remove(0);
    replica
        .end(now, &claimed, &answered("Look at this."))
        .unwrap();
    replica.deliver(now, |_| Err(Undelivered::Refused("410 gone".to_owned())));
    assert_eq!(
        tick_summary(&replica.ticks("h")[0]),
        "2026-01-05T00:10:00Z undelivered 410 gone"
    );
    replica.deliver(at("2026-01-06T00:00:00Z"), |_| panic!("it was refused"));
}

#[test]
fn a_tick_is_skipped_while_the_one_before_runs() {
    let (_dir, mut replica) = one("");
    let claimed = replica.claim(at("2026-01-05T00:10:00Z")).remove(0);
    let held = claimed.held();
    for minute in 11..=20 {
        let now = at(&format!("2026-01-05T00:{minute}:00Z")).plus_millis(-1_000);
        replica.play(now, |here, ledger| hold(here, ledger, &held).unwrap());
    }
    assert!(replica.claim(at("2026-01-05T00:20:00Z")).is_empty());
    let refused = replica.play(at("2026-01-05T00:20:01Z"), |here, ledger| {
        ask(here, ledger, &name("h"), "ann")
    });
    assert!(
        matches!(refused, Err(HeartbeatError::StillRunning { .. })),
        "{refused:?}"
    );
    replica
        .end(
            at("2026-01-05T00:20:02Z"),
            &claimed,
            &answered("HEARTBEAT_OK"),
        )
        .unwrap();
    let all: Vec<_> = replica.ticks("h").iter().map(tick_summary).collect();
    assert_eq!(
        all,
        [
            "2026-01-05T00:20:00Z skipped still-running",
            "2026-01-05T00:10:00Z acknowledged -"
        ]
    );
}

#[test]
fn a_tick_whose_runner_died_is_interrupted_and_never_run_again() {
    let (dir, mut first) = one("");
    let mut second = Replica::new(opened(&dir), 2, 0);
    let claimed = first.claim(at("2026-01-05T00:10:00Z")).remove(0);
    first.begin(at("2026-01-05T00:10:00Z"), &claimed);
    let bury = |replica: &mut Replica, now| {
        replica.play(at(now), |here, ledger| bury(here, ledger).unwrap())
    };
    assert_eq!(bury(&mut second, "2026-01-05T00:10:59Z"), 0);
    assert_eq!(bury(&mut second, "2026-01-05T00:11:01Z"), 1);
    assert_eq!(bury(&mut second, "2026-01-05T00:11:01Z"), 0);
    let tick = second.ticks("h").remove(0);
    assert_eq!(
        tick_summary(&tick),
        "2026-01-05T00:10:00Z interrupted replica 1 ran it and was not heard of any more"
    );
    assert!(tick.session.is_some(), "what it did can be read");
    // It was only slow: what it says comes too late, and changes nothing.
    let late = first.end(at("2026-01-05T00:12:00Z"), &claimed, &answered("Done."));
    assert!(matches!(late, Err(HeartbeatError::Lost { .. })), "{late:?}");
    assert_eq!(second.ticks("h").remove(0), tick);
    assert!(second.claim(at("2026-01-05T00:19:00Z")).is_empty());
    assert_eq!(
        second.claim(at("2026-01-05T00:20:00Z")).len(),
        1,
        "the next one runs"
    );
}

#[test]
fn missed_ticks_collapse_into_one() {
    let (_dir, mut replica) = one("");
    let claimed = replica.claim(at("2026-01-05T05:05:00Z"));
    assert_eq!(claimed.len(), 1);
    let tick = &claimed[0].tick;
    assert_eq!((tick.due, tick.missed), (at("2026-01-05T05:00:00Z"), 29));
    replica
        .end(
            at("2026-01-05T05:06:00Z"),
            &claimed[0],
            &answered("HEARTBEAT_OK"),
        )
        .unwrap();
    assert!(replica.claim(at("2026-01-05T05:09:59Z")).is_empty());
    assert_eq!(replica.claim(at("2026-01-05T05:10:00Z")).len(), 1);
}

#[test]
fn a_very_long_absence_is_no_long_search() {
    let dir = place();
    let mut replica = Replica::new(opened(&dir), 1, 0);
    let definition = defined("h", r#""every":"1s""#);
    replica.play(at("2020-01-01T00:00:00Z"), |here, ledger| {
        put(here, ledger, &definition, Origin::Asked, "ann").unwrap()
    });
    let claimed = replica.claim(at("2026-01-05T00:00:00Z"));
    assert_eq!(claimed[0].tick.missed, 10_000, "and maybe more");
    assert!(claimed[0].tick.due > at("2026-01-04T22:59:59Z"));
}

#[test]
fn what_is_found_in_quiet_hours_is_skipped() {
    let (_dir, mut replica) = one(r#","active":"00:00-01:00""#);
    assert!(replica.claim(at("2026-01-05T03:00:00Z")).is_empty());
    let tick = replica.ticks("h").remove(0);
    assert_eq!(
        tick_summary(&tick),
        "2026-01-05T00:50:00Z skipped quiet-hours"
    );
    assert_eq!(tick.missed, 4);
    let next = show(replica.ledger.as_mut(), &name("h"))
        .unwrap()
        .record
        .next_due;
    assert_eq!(next, Some(at("2026-01-06T00:00:00Z")));
    let totals = show(replica.ledger.as_mut(), &name("h")).unwrap().totals;
    assert_eq!(
        (totals[0].reason.as_str(), totals[0].ticks),
        ("quiet-hours", 1)
    );
}

#[test]
fn somebody_who_asks_gets_a_tick_also_when_it_is_quiet_or_paused() {
    let (_dir, mut replica) = one(r#","active":"00:00-01:00""#);
    let now = at("2026-01-05T03:00:00Z");
    replica.play(now, |here, ledger| {
        pause(here, ledger, &name("h"), Pause::Paused, "ann").unwrap()
    });
    let claimed = replica.play(now, |here, ledger| {
        ask(here, ledger, &name("h"), "gateway").unwrap()
    });
    assert_eq!(
        claimed.tick.cause,
        siglum_domain::heartbeat::TickCause::Asked
    );
    replica
        .end(now, &claimed, &answered("HEARTBEAT_OK"))
        .unwrap();
    assert!(
        replica.claim(at("2026-01-07T00:00:00Z")).is_empty(),
        "it is paused"
    );
}

#[test]
fn a_shared_heartbeat_has_both_keys_equal() {
    let (_dir, mut replica) = one(r#","isolated":false,"route_key":"agent:main""#);
    let now = at("2026-01-05T00:10:00Z");
    let claimed = replica.claim(now).remove(0);
    let keys = replica.begin(now, &claimed);
    assert_eq!(keys.context, ContextKey::from_route(&keys.route));
}
