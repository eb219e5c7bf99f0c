//! Any order, any repetition, by hook or through the spool: the same ledger.

use std::collections::BTreeMap;

use proptest::prelude::*;
use siglum_domain::intake::{Decline, Intake, LandedBy, Matter, VERSION};
use siglum_domain::observation::{Observation, Side, StartKind, ToolClass};

use super::scenes::{intent, landed, scene};
use super::stage::*;
use crate::worker::{drain, fold_sessions};

/// What the hooks of one session say, in order, each its own delivery.
fn day(n: u8) -> Vec<Intake> {
    let id = format!("session-{n}");
    let base = i64::from(n) * 3;
    let t = |s: i64| base + s * 10;
    let (shell, edit) = (ToolClass::Shell, ToolClass::Edit);
    let hooks: Vec<Vec<Observation>> = vec![
        vec![started(t(1), StartKind::Startup)],
        vec![prompt("p", t(2))],
        vec![
            call("e", "p", t(3), edit),
            file("e", "p", t(3), Side::Before, Some(n)),
        ],
        vec![
            returned("e", "p", t(4), edit, "ok"),
            file("e", "p", t(4), Side::After, Some(n + 10)),
        ],
        vec![stopped("p", t(5))],
        vec![prompt("q", t(6))],
        vec![
            call("s", "q", t(7), shell),
            head("s", "q", t(7), Side::Before, n + 20),
        ],
        vec![
            returned(
                "s",
                "q",
                t(9),
                shell,
                &format!("[main {}] done", &oid(n + 30).as_str()[..7]),
            ),
            head("s", "q", t(9), Side::After, n + 30),
        ],
        vec![stopped("q", t(10))],
        vec![ended(t(11))],
        vec![started(t(12), StartKind::Resume)],
        vec![prompt("r", t(13))],
    ];
    let pid = u32::from(n) + 50;
    hooks
        .into_iter()
        .map(|seen| intake(in_process(pid, says(&id, seen))))
        .collect()
}

fn declined() -> Intake {
    let decline = Decline {
        edge: "hook".to_owned(),
        reason: "r".to_owned(),
        detail: String::new(),
        place: None,
    };
    Intake {
        version: VERSION,
        key: "declined".to_owned(),
        at: at(1),
        matter: Matter::Decline(decline),
    }
}

/// What the ledger says, without ids and without places in logs.
fn ledger_contents(stage: &mut Stage) -> BTreeMap<String, String> {
    stage
        .play(|world, ledger| fold_sessions(world, ledger, 99))
        .unwrap();
    let mut contents = BTreeMap::new();
    let repositories = stage.read(|tx| tx.repositories());
    for listing in stage.sessions() {
        let s = listing.record;
        let name = s.conversation.as_str().to_owned();
        let basics = (
            s.created_at,
            s.last_at,
            s.ended_at,
            s.head,
            s.origin,
            s.worktree,
        );
        contents.insert(format!("{name} record"), format!("{basics:?}"));
        contents.insert(format!("{name} summary"), format!("{:?}", listing.summary));
        let mut log = stage.read(|tx| tx.entries(s.id, 0, 0));
        log.sort_by(|a, b| a.observation.key.cmp(&b.observation.key));
        let turns: BTreeMap<_, _> = log
            .iter()
            .filter(|e| e.observation.key.starts_with("prompt:"))
            .map(|e| (e.turn, e.observation.key.clone()))
            .collect();
        let log: Vec<_> = log
            .iter()
            .map(|e| (turns.get(&e.turn), &e.observation))
            .collect();
        contents.insert(format!("{name} log"), format!("{log:?}"));
    }
    for repository in repositories {
        let edits = stage.read(|tx| tx.edits(repository.id, "a.rs", at(9999)));
        let edits: Vec<_> = edits
            .iter()
            .map(|e| (&e.event, e.at, &e.before, &e.after))
            .collect();
        contents.insert("edits".to_owned(), format!("{edits:?}"));
        for n in 30..34 {
            let moves = stage.read(|tx| tx.moves_to(repository.id, &oid(n)));
            let moves: Vec<_> = moves.iter().map(|m| (&m.event, m.mention, m.at)).collect();
            contents.insert(format!("moves {n}"), format!("{moves:?}"));
        }
        let of_repository = siglum_ledger::CommitFilter::of_repository(repository.id, 99);
        let commits = stage.read(|tx| tx.commits(&of_repository));
        for commit in commits {
            let j = commit.judgement;
            let counted = j.evidence.iter().filter(|e| e.counted);
            let texts: Vec<_> = counted.map(|e| &e.text).collect();
            contents.insert(
                format!("commit {}", commit.commit),
                format!("{:?} {texts:?}", j.verdict),
            );
        }
    }
    let running = stage.read(|tx| tx.running_calls("/home/dev/main", at(-9)));
    contents.insert("running".to_owned(), format!("{}", running.len()));
    let declines = stage.read(|tx| tx.declines(at(0), 99));
    contents.insert("declines".to_owned(), format!("{declines:?}"));
    contents
}

fn delivered<'a>(intakes: impl IntoIterator<Item = &'a Intake>) -> BTreeMap<String, String> {
    let mut stage = Stage::new();
    for intake in intakes {
        stage.deliver(intake);
    }
    ledger_contents(&mut stage)
}

fn three_days() -> Vec<Intake> {
    let mut all: Vec<_> = (0..3).flat_map(day).collect();
    all.push(declined());
    all
}

/// Session 0 works in process 50 and commits twice, once it has started and before it ends.
fn with_commits() -> Vec<Intake> {
    let mut first = day(0);
    let a = scene(1, &place(), 70, Some(50), Some(oid(20)));
    let b = scene(2, &place(), 71, Some(50), Some(oid(30)));
    let commits = [
        intent(&a, 72),
        landed(&a, &oid(30), LandedBy::Commit, 73),
        intent(&b, 74),
        landed(&b, &oid(31), LandedBy::Commit, 75),
    ];
    first.splice(7..7, commits);
    first
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_order_and_repetition_tell_the_same(
        order in Just((0..37usize).collect::<Vec<_>>()).prop_shuffle(),
        again in prop::collection::vec(0..37usize, 0..12),
    ) {
        let all = three_days();
        let wanted = delivered(&all);
        let found = delivered(order.iter().chain(&again).map(|n| &all[*n]));
        for (what, wanted) in &wanted {
            prop_assert_eq!(found.get(what), Some(wanted), "{}", what);
        }
        prop_assert_eq!(found.len(), wanted.len());
    }

    #[test]
    fn interleaved_sessions_and_commits_tell_the_same(
        picks in prop::collection::vec(0..3usize, 40),
        again in prop::collection::vec(0..40usize, 0..12),
    ) {
        let days = [with_commits(), day(1), day(2)];
        let wanted = delivered(days.iter().flatten());
        let mut next = [0; 3];
        let mut order = Vec::new();
        for pick in picks {
            order.extend(days[pick].get(next[pick]));
            next[pick] += 1;
        }
        for (day, next) in days.iter().zip(next) {
            order.extend(day.iter().skip(next));
        }
        let late: Vec<_> = again.iter().map(|n| order[*n]).collect();
        let found = delivered(order.into_iter().chain(late));
        for (what, wanted) in &wanted {
            prop_assert_eq!(found.get(what), Some(wanted), "{}", what);
        }
    }

    #[test]
    fn what_went_through_the_spool_tells_the_same(spooled in prop::collection::vec(any::<bool>(), 41)) {
        let mut all = with_commits();
        all.extend((1..3).flat_map(day));
        all.push(declined());
        all.sort_by_key(|i| i.at);
        let wanted = delivered(&all);
        let mut stage = Stage::new();
        let spool = stage.spool();
        for (intake, spooled) in all.iter().zip(spooled) {
            // Nothing overtakes what waits.
            if spooled {
                spool.put(intake).unwrap();
            } else {
                while drain(&stage.ids, &mut stage.ledger, std::slice::from_ref(&spool)).unwrap() > 0 {}
                stage.deliver(intake);
            }
        }
        while drain(&stage.ids, &mut stage.ledger, std::slice::from_ref(&spool)).unwrap() > 0 {}
        let found = ledger_contents(&mut stage);
        for (what, wanted) in &wanted {
            prop_assert_eq!(found.get(what), Some(wanted), "{}", what);
        }
    }
}
