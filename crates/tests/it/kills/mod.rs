//! A day of work in which hooks, the worker, git and agents are killed at random, then the ledger
//! against what really happened.
//!
//! `SIGLUM_KILLS` says how many kills (100), `SIGLUM_SEED` repeats the plan of a day.

mod day;
mod killer;
mod log;
mod shift;
mod statements;
mod truth;

use std::time::Instant;

use day::Day;

use crate::harness::{Dice, World, number, seed};

#[test]
fn a_day_of_random_kills_loses_nothing_and_says_nothing_false() {
    let seed = seed();
    let wanted = number("SIGLUM_KILLS").unwrap_or(100);
    eprintln!("SIGLUM_SEED={seed} SIGLUM_KILLS={wanted}");
    let began = Instant::now();
    let mut dice = Dice(seed);
    let world = World::new();
    let mut day = Day::begin(&world);
    while day.killed.values().sum::<u64>() < wanted {
        day.step(&mut dice);
        let (steps, killed) = (u64::from(day.number), &day.killed);
        assert!(steps < 20 + 10 * wanted, "too few kills: {killed:?}");
        if day.number.is_multiple_of(25) {
            day.trees[0].why("HEAD");
            statements::check_trailers(&day, &["--branches", "base.."]);
        }
    }
    let worked = began.elapsed();
    for repo in &day.trees {
        repo.why("HEAD");
    }
    let trailers = statements::check_trailers(&day, &["--all", "--reflog", "base.."]);
    let verdicts = statements::check(&day);
    log::check(&mut day);
    let killed = &day.killed;
    eprintln!(
        "{} steps and {} kills in {worked:.0?}, all checked in {:.0?}\nkilled {killed:?}\n{trailers} trailers, commits by who made them and verdict:",
        day.number,
        killed.values().sum::<u64>(),
        began.elapsed() - worked,
    );
    for (what, count) in verdicts {
        eprintln!("{count:6} {what}");
    }
}
