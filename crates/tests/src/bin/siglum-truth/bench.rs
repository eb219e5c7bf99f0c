//! Plays cases in several worlds at a time, and judges what is said of them.

use std::panic::AssertUnwindSafe;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::case::Case;
use crate::constructions::{CONSTRUCTIONS, Construction};
use crate::desk::Desk;
use crate::dice::Dice;
use crate::judge::{Question, Verdicts, judge};
use crate::options::Options;
use crate::tally::Tally;
use crate::world::World;

/// A case that was played, and is judged when its world is done.
struct Played {
    construction: &'static str,
    number: u64,
    story: Vec<String>,
    questions: Vec<Question>,
}

/// Plays all cases.
pub(crate) fn run(options: &Options) -> Tally {
    let chosen: Vec<&'static Construction> = CONSTRUCTIONS
        .iter()
        .filter(|c| options.only.is_empty() || options.only.iter().any(|name| name == c.name))
        .collect();
    let (next, done) = (AtomicU64::new(0), AtomicU64::new(0));
    let tally = Mutex::new(Tally::default());
    let begun = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..options.jobs {
            scope.spawn(|| {
                loop {
                    let first = next.fetch_add(options.block, Ordering::Relaxed);
                    if first >= options.cases {
                        break;
                    }
                    let last = (first + options.block).min(options.cases);
                    let numbers = options.from + first..options.from + last;
                    let part = play_block(options, &chosen, numbers);
                    let count = done.fetch_add(last - first, Ordering::Relaxed) + last - first;
                    tally.lock().unwrap().add(part);
                    let seconds = begun.elapsed().as_secs_f64();
                    eprint!("\r{count} of {} cases in {seconds:.0} s ", options.cases);
                }
            });
        }
    });
    eprintln!();
    tally.into_inner().unwrap()
}

/// Plays some cases in one world.
fn play_block(
    options: &Options,
    chosen: &[&'static Construction],
    numbers: std::ops::Range<u64>,
) -> Tally {
    let mut tally = Tally::default();
    let mut world = World::new(&options.program);
    let mut all = Vec::new();
    for number in numbers {
        let turn = usize::try_from(number).unwrap() % chosen.len();
        let construction = chosen[turn];
        match play(options, &mut world, construction, number) {
            Ok(played) => {
                tally.count_case(construction.name);
                // Some are asked for at once, too: an early answer may not be false either.
                let early = if Dice::new(options.seed, "early", number).one_in(4) {
                    answers(options, &world, &played, None)
                } else {
                    Vec::new()
                };
                all.push((played, early));
            }
            Err(text) => {
                eprintln!("\n{text}");
                tally.broken.push(text);
                // Nobody knows who still does what there.
                judge_all(options, &world, &mut all, &mut tally);
                world = World::new(&options.program);
            }
        }
    }
    judge_all(options, &world, &mut all, &mut tally);
    tally
}

/// Asks for the commits of all cases of a world, and counts what is said of them.
fn judge_all(
    options: &Options,
    world: &World,
    all: &mut Vec<(Played, Vec<Verdicts>)>,
    tally: &mut Tally,
) {
    let mut desk = Desk::new(world);
    for (played, early) in all.drain(..) {
        let late = answers(options, world, &played, Some(&mut desk));
        count(tally, &played, &early, &late);
    }
}

fn play(
    options: &Options,
    world: &mut World,
    construction: &'static Construction,
    number: u64,
) -> Result<Played, String> {
    let dice = Dice::new(options.seed, construction.name, number);
    let begun = Instant::now();
    let mut case = Case::new(world, dice, number);
    let played = std::panic::catch_unwind(AssertUnwindSafe(|| {
        (construction.play)(&mut case);
        case.made()
    }));
    let story = std::mem::take(&mut case.story);
    let (seed, name) = (options.seed, construction.name);
    if options.story {
        let took = begun.elapsed().as_millis();
        eprintln!(
            "\n{name}, case {number}, {took} ms:\n  {}",
            story.join("\n  ")
        );
    }
    let commits = played.map_err(|panic| {
        let text = panic
            .downcast_ref::<String>()
            .cloned()
            .or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned()))
            .unwrap_or_default();
        format!(
            "NOT PLAYED: {name}, --seed {seed} --only {name} --from {number}: {text}\n  {}",
            story.join("\n  ")
        )
    })?;
    let writers = case.judges_lines.then(|| case.writers.clone());
    let repo = case.world.repo.clone();
    case.world.leave_quiet_repository();
    let question = |commit: crate::case::Commit| Question {
        carried: case.carried.contains(&commit.subject),
        writers: writers.clone(),
        repo: repo.clone(),
        number,
        commit,
    };
    Ok(Played {
        construction: construction.name,
        number,
        questions: commits.into_iter().map(question).collect(),
        story,
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Moment {
    /// Right after the case.
    Early,
    /// When all cases of the world are over.
    Final,
}

/// Asks for all commits of a case: right after it by the command, at the end through a desk.
fn answers(
    options: &Options,
    world: &World,
    played: &Played,
    mut desk: Option<&mut Desk<'_>>,
) -> Vec<Verdicts> {
    let moment = if desk.is_some() {
        Moment::Final
    } else {
        Moment::Early
    };
    let mut found = Vec::new();
    for question in &played.questions {
        let verdicts = judge(world, desk.as_deref_mut(), question);
        report(options, played, &verdicts, moment);
        found.push(verdicts);
    }
    found
}

/// Counts each statement once: as what it is at last, or as false if it ever was.
fn count(tally: &mut Tally, played: &Played, early: &[Verdicts], late: &[Verdicts]) {
    let name = played.construction;
    let rows = [
        name.to_owned(),
        format!("{name} (lines)"),
        format!("{name} (origins)"),
    ];
    for (index, now) in late.iter().enumerate() {
        let then = early.get(index);
        for (row, part) in rows
            .iter()
            .zip([Verdicts::maker, Verdicts::lines, Verdicts::origins])
        {
            for (place, statement) in part(now).iter().enumerate() {
                let before = then.and_then(|v| part(v).get(place)).map(|s| s.worth);
                let was_false = before.filter(|worth| worth.is_false());
                tally.count(
                    row,
                    was_false.map_or(statement.worth, |w| w.max(statement.worth)),
                );
            }
        }
    }
}

/// Prints what is false, with all that is needed to look into it.
fn report(options: &Options, played: &Played, verdicts: &Verdicts, moment: Moment) {
    let mut wrong = verdicts
        .statements()
        .filter(|s| s.worth.is_false())
        .peekable();
    if wrong.peek().is_none() {
        return;
    }
    let early = if moment == Moment::Early {
        ", asked at once"
    } else {
        ""
    };
    let (name, seed, number) = (played.construction, options.seed, played.number);
    let mut text = format!("FALSE: {name}, case {number}{early}\n");
    text.push_str(&format!(
        "  again: --seed {seed} --only {name} --from {number} --cases 1 --story\n"
    ));
    for statement in wrong {
        text.push_str(&format!("  {}\n", statement.text));
    }
    text.push_str(&format!("  {}\n", played.story.join("\n  ")));
    let committer = &verdicts.answer["committer"];
    for sign in committer["evidence"].as_array().into_iter().flatten() {
        text.push_str(&format!("  evidence {sign}\n"));
    }
    text.push_str(&format!("  answer {}", verdicts.answer));
    eprintln!("\n{text}");
}

/// Ends the program when nothing was done for long: a world that hangs would hang for ever.
pub(crate) fn watch(patience: Duration) {
    std::thread::spawn(move || {
        std::thread::sleep(patience);
        eprintln!("error: not done after {} s", patience.as_secs());
        std::process::exit(2);
    });
}
