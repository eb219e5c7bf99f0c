//! Intents, commits and authors.

use siglum_domain::evidence::{Committer, Verdict};
use siglum_domain::intake::Scene;
use siglum_domain::provenance::{Origin, Span};
use siglum_ledger::{
    CommitFilter, CommitRecord, FileAuthors, IntentRecord, IntentState, SeenBy, Transaction,
};

use super::check::{Check, Desk, Outcome, Shelf, same};
use super::sample::*;

pub(super) const CHECKS: &[Check] = &[
    Check::new("an intent is stored once and comes back whole", intents),
    Check::new(
        "intents are found by git process and by repository",
        intents_found,
    ),
    Check::new(
        "an intent is closed by its commit or by its death",
        intents_closed,
    ),
    Check::new("a commit comes back whole and is replaced", commit_whole),
    Check::new(
        "commits are found newest first by all that name them",
        commits_found,
    ),
    Check::new(
        "every combination of filters lists the commits that it says",
        commits_by_filter,
    ),
    Check::new("commits that git was not asked about wait", unfinished),
    Check::new("a judgement is replaced with its committer", rejudged),
    Check::new("a rewrite is noted once", rewrites),
    Check::new(
        "authors: not looked for, none, and some are three answers",
        authors,
    ),
    Check::new("authored commits count the lines of a session", authored),
];

fn intents(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    let again = Scene {
        message: "other".to_owned(),
        ..scene(1, 10)
    };
    desk.write(|tx| {
        tx.put_intent(repository_id(1), at(5), &scene(1, 10))?;
        tx.put_intent(repository_id(2), at(6), &again)
    })?;
    let found = desk.read(|tx| Ok((tx.intent(checkpoint_id(1))?, tx.intent(checkpoint_id(2))?)))?;
    let wanted = IntentRecord {
        repository: repository_id(1),
        at: at(5),
        scene: scene(1, 10),
        state: IntentState::Open,
    };
    same!(found, (Some(wanted), None), "the intents");
    Ok(())
}

fn numbers(found: &[IntentRecord]) -> Vec<u128> {
    let number = |i: &IntentRecord| (1..9).find(|n| checkpoint_id(*n) == i.scene.checkpoint);
    found.iter().map(|i| number(i).unwrap_or(0)).collect()
}

fn intents_found(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    let mut nobody = scene(5, 10);
    nobody.chain.ancestors.clear();
    desk.write(|tx| {
        tx.put_intent(repository_id(1), at(3), &scene(3, 10))?;
        tx.put_intent(repository_id(1), at(1), &scene(1, 10))?;
        tx.put_intent(repository_id(2), at(2), &scene(2, 10))?;
        tx.put_intent(repository_id(1), at(4), &scene(4, 11))?;
        tx.put_intent(repository_id(1), at(5), &nobody)
    })?;
    let by_git = desk.read(|tx| tx.intents_of_git(&process(10).key()))?;
    same!(numbers(&by_git), [3, 2, 1], "intents of a git process");
    let open = desk.read(|tx| {
        Ok((
            tx.open_intents(None)?,
            tx.open_intents(Some(repository_id(1)))?,
        ))
    })?;
    same!(numbers(&open.0), [1, 2, 3, 4, 5], "open intents");
    same!(
        numbers(&open.1),
        [1, 3, 4, 5],
        "open intents of a repository"
    );
    Ok(())
}

fn intents_closed(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    desk.write(|tx| {
        for n in [1, 2, 3] {
            tx.put_intent(repository_id(1), at(1), &scene(n, 10))?;
        }
        tx.close_intent(checkpoint_id(1), &IntentState::Landed(long_oid(4)))?;
        tx.close_intent(checkpoint_id(2), &IntentState::Expired)
    })?;
    let open = desk.read(|tx| tx.open_intents(None))?;
    same!(numbers(&open), [3], "open intents");
    // An intent that is stored again, out of the spool, stays closed.
    desk.write(|tx| tx.put_intent(repository_id(1), at(1), &scene(1, 10)))?;
    let of_git = desk.read(|tx| tx.intents_of_git(&process(10).key()))?;
    let mut states: Vec<_> = of_git
        .into_iter()
        .map(|i| (i.scene.checkpoint, i.state))
        .collect();
    states.sort_by_key(|s| s.0);
    let wanted = [
        (checkpoint_id(1), IntentState::Landed(long_oid(4))),
        (checkpoint_id(2), IntentState::Expired),
        (checkpoint_id(3), IntentState::Open),
    ];
    same!(states, wanted, "the states of intents");
    Ok(())
}

fn commit_whole(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    let seen = [
        SeenBy::Hook,
        SeenBy::Rewrite,
        SeenBy::Tool,
        SeenBy::Sweep,
        SeenBy::Import,
    ];
    for seen_by in seen {
        let full = CommitRecord {
            intent: Some(checkpoint_id(2)),
            facts: Some(facts(&oid(1))),
            patch: Some(String::new()),
            seen_by,
            ..commit(1)
        };
        let bare = CommitRecord {
            checkpoint: None,
            judgement: judgement(Committer::Unknown, Verdict::Ambiguous),
            seen_by,
            ..commit(1)
        };
        for wanted in [full, bare] {
            desk.write(|tx| tx.put_commit(&wanted))?;
            let found = desk.read(|tx| tx.commit(repository_id(1), &oid(1)))?;
            same!(found, Some(wanted), "the commit");
        }
    }
    let elsewhere = desk.read(|tx| tx.commit(repository_id(2), &oid(1)))?;
    same!(elsewhere, None, "the commit in another repository");
    let all = desk.read(|tx| tx.commits(&CommitFilter::default()))?;
    same!(all.len(), 1, "commits after the same one ten times");
    Ok(())
}

fn commits_found(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    let shared = |n: u8| CommitRecord {
        checkpoint: Some(checkpoint_id(1)),
        patch: Some("patch".to_owned()),
        ..commit(n)
    };
    let elsewhere = CommitRecord {
        repository: repository_id(2),
        ..shared(5)
    };
    let mut other = commit(4);
    other.judgement = judgement(by_session(2), Verdict::Likely);
    desk.write(|tx| {
        for record in [&shared(3), &shared(1), &shared(2), &other, &elsewhere] {
            tx.put_commit(record)?;
        }
        Ok(())
    })?;
    let newest_two = CommitFilter {
        limit: 2,
        ..CommitFilter::default()
    };
    let found = desk.read(|tx| {
        Ok([
            tx.commits(&CommitFilter::default())?,
            tx.commits(&newest_two)?,
            tx.commits(&CommitFilter::of_repository(repository_id(1), 9))?,
            tx.commits(&CommitFilter::of_repository(repository_id(1), 1))?,
            tx.commits_of_session(session_id(1), 9)?,
            tx.commits_of_session(session_id(1), 2)?,
            tx.commits_of_checkpoint(checkpoint_id(1))?,
            tx.commits_by_patch(repository_id(1), "patch")?,
            tx.commits_by_patch(repository_id(1), "")?,
        ])
    })?;
    let wanted: [&[u8]; 9] = [
        &[5, 4, 3, 2, 1],
        &[5, 4],
        &[4, 3, 2, 1],
        &[4],
        &[5, 3, 2, 1],
        &[5, 3],
        &[5, 3, 2, 1],
        &[1, 2, 3],
        &[],
    ];
    for (n, (found, wanted)) in found.into_iter().zip(wanted).enumerate() {
        let found: Vec<_> = found.into_iter().map(|c| c.commit).collect();
        let wanted: Vec<_> = wanted.iter().map(|n| oid(*n)).collect();
        same!(found, wanted, format!("query {n} for commits"));
    }
    Ok(())
}

/// Six commits of three repositories: three at one time, three of one id, one of a long id.
fn varied(desk: &mut Desk) -> Outcome<Vec<CommitRecord>> {
    furnish(desk)?;
    desk.write(|tx| tx.note_place(&place(3), repository_id(3), at(0)))?;
    let record = |repository, id, time| CommitRecord {
        repository: repository_id(repository),
        commit: id,
        at: at(time),
        ..commit(1)
    };
    let records = vec![
        record(1, oid(0x12), 1),
        record(2, oid(0x12), 1),
        record(1, oid(0x13), 1),
        record(2, long_oid(0x12), 2),
        record(3, oid(0x12), 3),
        record(1, oid(0xff), 4),
    ];
    desk.write(|tx| records.iter().try_for_each(|record| tx.put_commit(record)))?;
    Ok(records)
}

fn commits_by_filter(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    let mut all = varied(&mut desk)?;
    let key = |c: &CommitRecord| (c.at, c.commit.clone(), c.repository);
    all.sort_by_key(|c| std::cmp::Reverse(key(c)));
    let repositories = [vec![], vec![1], vec![1, 2], vec![9]];
    let prefixes = [
        None,
        Some("1212"),
        Some("12121"),
        Some("ffff"),
        Some("1214"),
    ];
    let afters = [None, Some(1), Some(3), Some(5)];
    for repositories in repositories {
        let repositories: Vec<_> = repositories.into_iter().map(repository_id).collect();
        for (prefix, after) in prefixes
            .iter()
            .flat_map(|p| afters.map(|after| (*p, after)))
        {
            for limit in [0, 2] {
                let filter = CommitFilter {
                    repositories: repositories.clone(),
                    prefix: prefix.map(str::to_owned),
                    after: after.map(|n: usize| key(&all[n])),
                    limit,
                };
                let fits = |c: &&CommitRecord| {
                    (repositories.is_empty() || repositories.contains(&c.repository))
                        && prefix.is_none_or(|p| c.commit.as_str().starts_with(p))
                        && filter.after.as_ref().is_none_or(|after| key(c) < *after)
                };
                let most = if limit == 0 { 99 } else { limit };
                let wanted: Vec<_> = all.iter().filter(fits).take(most).cloned().collect();
                let found = desk.read(|tx| tx.commits(&filter))?;
                same!(found, wanted, format!("commits by {filter:?}"));
            }
        }
    }
    Ok(())
}

fn unfinished(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    let elsewhere = CommitRecord {
        repository: repository_id(2),
        ..commit(4)
    };
    desk.write(|tx| {
        for n in [1, 2, 3] {
            let at = at(90 - i64::from(n));
            tx.put_commit(&CommitRecord { at, ..commit(n) })?;
        }
        tx.put_commit(&elsewhere)
    })?;
    let waiting = |desk: &mut Desk, most| desk.read(|tx| tx.unfinished(repository_id(1), most));
    same!(
        waiting(&mut desk, 9)?,
        [3, 2, 1].map(oid),
        "commits to ask about, oldest first"
    );
    same!(waiting(&mut desk, 2)?, [3, 2].map(oid), "the two oldest");
    let finish = |n| move |tx: &mut dyn Transaction| tx.finish(repository_id(1), &oid(n), "patch");
    desk.write(finish(2))?;
    same!(
        waiting(&mut desk, 9)?,
        [3, 2, 1].map(oid),
        "nothing is finished that git did not speak of"
    );
    desk.write(|tx| tx.put_facts(repository_id(1), &facts(&oid(2))))?;
    same!(
        waiting(&mut desk, 9)?,
        [3, 2, 1].map(oid),
        "nothing is finished without its patch"
    );
    desk.write(finish(2))?;
    same!(
        waiting(&mut desk, 9)?,
        [3, 1].map(oid),
        "commits to ask about after one"
    );
    let found = desk.read(|tx| tx.commit(repository_id(1), &oid(2)))?;
    let wanted = CommitRecord {
        facts: Some(facts(&oid(2))),
        patch: Some("patch".to_owned()),
        at: at(88),
        ..commit(2)
    };
    same!(found, Some(wanted), "the finished commit");
    desk.write(|tx| tx.put_facts(repository_id(1), &facts(&oid(9))))?;
    desk.write(finish(9))?;
    let unknown = desk.read(|tx| tx.commit(repository_id(1), &oid(9)))?;
    same!(
        unknown,
        None,
        "a commit that was finished without being known"
    );
    Ok(())
}

fn rejudged(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    desk.write(|tx| tx.put_commit(&commit(1)))?;
    for (committer, verdict) in [
        (by_session(2), Verdict::Certain),
        (Committer::Human, Verdict::Certain),
        (by_session(1), Verdict::Likely),
        (Committer::Unknown, Verdict::Unknown),
    ] {
        let wanted = CommitRecord {
            judgement: judgement(committer, verdict),
            ..commit(1)
        };
        desk.write(|tx| tx.rejudge(repository_id(1), &oid(1), &wanted.judgement))?;
        let found = desk.read(|tx| tx.commit(repository_id(1), &oid(1)))?;
        same!(found, Some(wanted), "the commit");
        let made = desk.read(|tx| {
            Ok([1, 2].map(|n| {
                tx.commits_of_session(session_id(n), 9)
                    .map(|c| !c.is_empty())
            }))
        })?;
        for (n, made) in (1..).zip(made) {
            same!(
                made?,
                committer == by_session(n),
                "whether a session made it"
            );
        }
    }
    Ok(())
}

fn rewrites(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    desk.write(|tx| {
        tx.put_rewrite(repository_id(1), &oid(2), &oid(9), "rebase", at(2))?;
        tx.put_rewrite(repository_id(1), &oid(3), &oid(9), "rebase", at(1))?;
        tx.put_rewrite(repository_id(1), &oid(2), &oid(9), "rebase", at(0))?;
        tx.put_rewrite(repository_id(2), &oid(4), &oid(9), "amend", at(0))
    })?;
    let found = desk.read(|tx| {
        Ok((
            tx.rewritten_from(repository_id(1), &oid(9))?,
            tx.rewritten_from(repository_id(1), &oid(2))?,
        ))
    })?;
    same!(
        found,
        (vec![oid(3), oid(2)], vec![]),
        "what commits were made of"
    );
    Ok(())
}

fn file(path: &str, spans: &[(u32, u32, Origin)]) -> FileAuthors {
    let span = |(first, last, origin): &(u32, u32, Origin)| Span {
        first: *first,
        last: *last,
        origin: *origin,
        bridged: matches!(origin, Origin::Session(_)),
    };
    FileAuthors {
        path: path.to_owned(),
        spans: spans.iter().map(span).collect(),
    }
}

fn authors(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    let of = |desk: &mut Desk| desk.read(|tx| tx.authors(repository_id(1), &oid(1)));
    same!(of(&mut desk)?, None, "authors that nobody looked for");
    let some = vec![
        file(
            "a",
            &[
                (1, 3, Origin::Session(session_id(1))),
                (4, 4, Origin::Unknown),
            ],
        ),
        file("b ü", &[(1, 1, Origin::Parent)]),
        file("empty", &[]),
    ];
    for wanted in [some.clone(), vec![file("c", &[])], vec![], some] {
        let mut given = wanted.clone();
        given.reverse();
        desk.write(|tx| tx.put_authors(repository_id(1), &oid(1), &given))?;
        same!(of(&mut desk)?, Some(wanted), "the authors");
    }
    let other = desk.read(|tx| tx.authors(repository_id(2), &oid(1)))?;
    same!(other, None, "the authors in another repository");
    Ok(())
}

fn authored(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    let mine = Origin::Session(session_id(1));
    let theirs = Origin::Session(session_id(2));
    desk.write(|tx| {
        for n in [2, 1, 3] {
            tx.put_commit(&commit(n))?;
        }
        let two = [
            file("a", &[(1, 3, mine), (4, 4, theirs)]),
            file("b", &[(7, 8, mine)]),
        ];
        tx.put_authors(repository_id(1), &oid(1), &two)?;
        tx.put_authors(repository_id(1), &oid(2), &[file("a", &[(1, 9, mine)])])?;
        tx.put_authors(repository_id(1), &oid(3), &[file("a", &[(1, 9, mine)])])?;
        tx.put_authors(repository_id(1), &oid(3), &[file("a", &[(1, 9, theirs)])])
    })?;
    let found = desk.read(|tx| Ok((tx.authored(session_id(1))?, tx.authored(session_id(2))?)))?;
    let row = |(n, lines)| (repository_id(1), oid(n), lines);
    same!(
        found.0,
        [(2, 9), (1, 5)].map(row),
        "commits with lines of the first"
    );
    same!(
        found.1,
        [(3, 9), (1, 1)].map(row),
        "commits with lines of the second"
    );
    Ok(())
}
