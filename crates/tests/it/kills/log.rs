//! What the ledger holds of sessions, against what agents saw acknowledged.

use super::day::Day;
use super::killer::until_idle;
use crate::harness::{Agent, until};

/// Nothing that a hook acknowledged is lost, nothing is there twice, and what is sealed verifies.
pub(super) fn check(day: &mut Day<'_>) {
    until_idle(day.world);
    for agent in day.agents() {
        check_keys(day, agent);
        check_counts(day, agent);
    }
    let world = day.world;
    let none = [
        (
            "sessions with two names, or none",
            "SELECT count(*) FROM sessions s WHERE (SELECT count(*) FROM aliases a WHERE a.session = s.id) != 1",
        ),
        (
            "open intents",
            "SELECT count(*) FROM intents WHERE state = 'open'",
        ),
        (
            "events of tools in two sessions",
            "SELECT count(*) FROM (SELECT 1 FROM observations WHERE key LIKE 'pre:%' OR key LIKE 'post:%' \
             GROUP BY key HAVING count(*) > 1)",
        ),
        (
            "holes in a log",
            "SELECT count(*) FROM sessions s WHERE s.head != (SELECT count(*) FROM observations o WHERE o.session = s.id)",
        ),
    ];
    for (what, sql) in none {
        assert_eq!(world.count(sql), 0, "{what}");
    }
    assert_eq!(world.spooled(), 0);
    let panicked = world.declines().iter().filter(|r| *r == "panicked").count();
    assert_eq!(panicked, 0);
    check_receipts(day);
    check_ends(day);
}

fn check_keys(day: &Day<'_>, agent: &Agent) {
    let store = day.world.store();
    let count =
        |sql: &str, key: &str| -> i64 { store.query_row(sql, [key], |row| row.get(0)).unwrap() };
    for key in &agent.acknowledged {
        let rows = "SELECT count(*) FROM observations WHERE source = 'hook' AND key = ?1";
        assert_eq!(count(rows, key), 1, "{key} of {}", agent.native);
        let Some(call) = key.strip_prefix("post:") else {
            continue;
        };
        let event = format!("tool:{call}");
        let both = agent.acknowledged.contains(&format!("pre:{call}"));
        let edits = count("SELECT count(*) FROM edits WHERE event = ?1", &event);
        let seen = "SELECT count(*) FROM observations WHERE kind = 'file_seen' AND event = ?1";
        let seen = count(seen, &event);
        assert!(
            !both || seen == 0 || edits == 1,
            "{call}: {seen} sightings, {edits} edits"
        );
    }
}

/// Events without a name of their own are counted.
fn check_counts(day: &Day<'_>, agent: &Agent) {
    let kinds = [
        ("SessionStart", "session_started"),
        ("SessionEnd", "session_ended"),
        ("Stop", "stopped"),
        ("SubagentStart", "subagent_started"),
        ("SubagentStop", "subagent_stopped"),
        ("PostCompact", "compacted"),
    ];
    let store = day.world.store();
    for ((native, event), (sent, acknowledged)) in &agent.sent {
        let Some((_, kind)) = kinds.iter().find(|(name, _)| name == event) else {
            continue;
        };
        let sql = "SELECT count(*) FROM observations o JOIN aliases a ON a.session = o.session \
                   WHERE o.source = 'hook' AND a.native = ?1 AND o.kind = ?2";
        let rows: u32 = store
            .query_row(sql, [native, *kind], |row| row.get(0))
            .unwrap();
        // An end adds nothing to a session that has ended or was never heard of; which sessions have
        // ended is checked on its own.
        let least = if event == "SessionEnd" {
            0
        } else {
            *acknowledged
        };
        assert!(
            (least..=*sent).contains(&rows),
            "{native}: {event} was sent {sent} times, acknowledged {acknowledged} times, recorded {rows} times"
        );
    }
}

fn check_receipts(day: &Day<'_>) {
    let doctor = day.trees[0].siglum(&["doctor"]);
    let line = doctor
        .stdout
        .lines()
        .find(|line| line.contains("receipts of"));
    assert!(
        line.is_some_and(|line| line.ends_with(" verified, and all files that they need")),
        "{doctor:#?}"
    );
}

/// A session whose process died is over, one whose process lives is not.
fn check_ends(day: &mut Day<'_>) {
    let world = day.world;
    let goes_on = |native: &str| {
        let sql = "SELECT count(*) FROM sessions s JOIN aliases a ON a.session = s.id \
                   JOIN processes p ON p.session = s.id WHERE a.native = ?1 AND ended_at IS NULL";
        let rows = world
            .store()
            .query_row(sql, [native], |row| row.get::<_, u32>(0));
        rows.unwrap() > 0
    };
    for seat in &mut day.seats {
        for gone in &seat.past {
            until("a session without a process is over", || {
                !goes_on(&gone.native)
            });
        }
        if seat.agent.lives() {
            seat.agent.mortal = false;
            seat.agent.prompt("Are you there?");
            assert!(goes_on(&seat.agent.native), "{}", seat.agent.native);
        }
    }
}
