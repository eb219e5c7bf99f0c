//! Commands that answer, on many old sessions.

use std::cell::Cell;

use crate::Fallible;
use crate::clock::Chance;
use crate::contest::{Contest, Outcome};
use crate::fill::{Care, fill};
use crate::home::Home;
use crate::repo::Repo;
use crate::report::Line;
use crate::run::Run;

/// What an answer may take, in milliseconds.
const MOST: f64 = 30.0;

/// The commands: name and arguments; `COMMIT` stands for a commit of the history.
const COMMANDS: &[(&str, &[&str])] = &[
    ("why COMMIT", &["why", "COMMIT"]),
    ("log", &["log"]),
    ("status", &["status"]),
];

pub(super) fn measure(run: &Run) -> Fallible<Vec<Line>> {
    let many = run.much(10_000, 1_000);
    let dir = run.dir("queries")?;
    let home = Home::create(&run.program, &dir)?;
    let repo = Repo::create(&home, &dir.join("repo"), 20, many)?;
    home.run(&repo.dir, &["init", "--yes"])?;
    fill(&home, &repo, many, Care::Sealed)?;
    let _lock = home.without_worker()?;
    let mut lines = Vec::new();
    let there: Vec<_> = COMMANDS
        .iter()
        .filter(|(name, args)| {
            let answer = home.run(&repo.dir, &named(args, &repo, 0));
            let there = answer.is_ok_and(|(_, out)| !out.stdout.is_empty());
            if !there {
                lines.push(Line::new(
                    format!("{name}: no answer yet"),
                    f64::NAN,
                    "ms",
                    0,
                ));
            }
            there
        })
        .collect();
    let times = contest(run, &home, &repo, &there)?;
    for (name, _) in &there {
        let of = times.arm(name);
        lines.push(
            Line::new(
                format!("{name}, {many} sessions"),
                of.median(),
                "ms",
                of.n(),
            )
            .p95(of.p95())
            .against("empty", times.arm("empty").median())
            .bound("≤ 30 ms", of.median() <= MOST),
        );
    }
    lines.extend(first_after_a_rush(run)?);
    Ok(lines)
}

fn named<'a>(args: &[&'a str], repo: &'a Repo, number: usize) -> Vec<&'a str> {
    let commit = repo.history[number % repo.history.len()].commit.as_str();
    args.iter()
        .map(|arg| if *arg == "COMMIT" { commit } else { arg })
        .collect()
}

fn contest(
    run: &Run,
    home: &Home,
    repo: &Repo,
    commands: &[&(&'static str, &'static [&'static str])],
) -> Fallible<Outcome> {
    let chance = Chance::new(6);
    let chance = &chance;
    let mut contest = Contest::new();
    contest.arm("empty", || run.empty_process());
    for (name, args) in commands {
        contest.arm(*name, move || {
            let number = chance.below(repo.history.len());
            Ok(home.run(&repo.dir, &named(args, repo, number))?.0)
        });
    }
    contest.run(run.much(60, 15))
}

/// The first answers after a thousand sessions came in that no worker has seen: for reading.
fn first_after_a_rush(run: &Run) -> Fallible<Vec<Line>> {
    let sessions = run.much(1_000, 100);
    let dir = run.dir("rush")?;
    let home = Home::create(&run.program, &dir)?;
    let repo = Repo::create(&home, &dir.join("repo"), 20, sessions)?;
    home.run(&repo.dir, &["init", "--yes"])?;
    fill(&home, &repo, sessions, Care::Unsealed)?;
    let _lock = home.without_worker()?;
    let times = Cell::new(Vec::new());
    for _ in 0..2 {
        let (time, _) = home.run(&repo.dir, &["why", "HEAD"])?;
        let mut all = times.take();
        all.push(time);
        times.set(all);
    }
    let all = times.into_inner();
    Ok(vec![
        Line::new(
            format!("why, first after {sessions} unsealed sessions"),
            all[0],
            "ms",
            1,
        ),
        Line::new("why, second after them", all[1], "ms", 1),
    ])
}
