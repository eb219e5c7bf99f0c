//! `cargo xtask test`: the lanes, run one after the other, and what is said about them at the end.

use std::time::{Duration, Instant};

use crate::summary::Ended;
use crate::{
    Failure, doc_comments, layering, names, packages, programs, rings, size, summary, team,
    tests_lane, truth, workspace,
};

/// One group of checks.
struct Lane {
    name: &'static str,
    run: fn() -> Result<Ended, Failure>,
    /// Lanes with tests fail when none was executed.
    has_tests: HasTests,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum HasTests {
    Yes,
    No,
}

/// In the order in which they run: what is fast to fail comes first.
const LANES: &[Lane] = &[
    Lane {
        name: "fmt",
        run: fmt,
        has_tests: HasTests::No,
    },
    Lane {
        name: "house",
        run: house,
        has_tests: HasTests::No,
    },
    Lane {
        name: "clippy",
        run: clippy,
        has_tests: HasTests::No,
    },
    Lane {
        name: "docs",
        run: docs,
        has_tests: HasTests::No,
    },
    Lane {
        name: "unit",
        run: tests_lane::unit,
        has_tests: HasTests::Yes,
    },
    Lane {
        name: "blackbox",
        run: tests_lane::blackbox,
        has_tests: HasTests::Yes,
    },
    Lane {
        name: "truth",
        run: truth::lane,
        // It counts cases, and is no test runner.
        has_tests: HasTests::No,
    },
    Lane {
        name: "team",
        run: team::lane,
        has_tests: HasTests::Yes,
    },
    Lane {
        name: "sinks",
        run: tests_lane::sinks,
        has_tests: HasTests::Yes,
    },
    Lane {
        name: "blobs",
        run: tests_lane::blobs,
        has_tests: HasTests::Yes,
    },
    Lane {
        name: "front-end",
        run: tests_lane::front_end,
        has_tests: HasTests::Yes,
    },
    Lane {
        name: "clients",
        run: tests_lane::clients,
        has_tests: HasTests::Yes,
    },
    Lane {
        name: "packages",
        run: packages::lane,
        // It installs and removes, and is no test runner.
        has_tests: HasTests::No,
    },
    Lane {
        name: "agents",
        run: tests_lane::agents,
        has_tests: HasTests::Yes,
    },
];

/// Lanes that run only where they are named.
const BY_NAME: &[&str] = &["team"];

/// One line of the report.
struct Outcome {
    name: &'static str,
    took: Duration,
    ended: Ended,
}

/// Runs the chosen lanes, all of them even if one fails.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    let lanes = choose(args)?;
    let outcomes: Vec<Outcome> = lanes.into_iter().map(run_lane).collect();
    report(&outcomes);
    let failed = outcomes
        .iter()
        .filter(|o| o.ended.problem.is_some())
        .count();
    match failed {
        0 => Ok(()),
        n => Err(Failure::new(format!(
            "{n} of {} lanes failed",
            outcomes.len()
        ))),
    }
}

fn choose(args: &[String]) -> Result<Vec<&'static Lane>, Failure> {
    let (mut only, mut skip) = (Vec::new(), Vec::new());
    let mut rest = args.iter();
    while let Some(flag) = rest.next() {
        let list = match flag.as_str() {
            "--only" => &mut only,
            "--skip" => &mut skip,
            other => return Err(Failure::Usage(format!("unknown argument {other}"))),
        };
        let name = rest.next().map(String::as_str).unwrap_or_default();
        if !LANES.iter().any(|lane| lane.name == name) {
            return Err(Failure::Usage(format!(
                "{flag} needs the name of a lane, not {name:?}"
            )));
        }
        list.push(name);
    }
    let chosen = |lane: &&Lane| {
        let is_due = match only.is_empty() {
            true => !BY_NAME.contains(&lane.name),
            false => only.contains(&lane.name),
        };
        is_due && !skip.contains(&lane.name)
    };
    let lanes: Vec<_> = LANES.iter().filter(chosen).collect();
    if lanes.is_empty() {
        return Err(Failure::Usage("no lane is left to run".to_owned()));
    }
    Ok(lanes)
}

fn run_lane(lane: &'static Lane) -> Outcome {
    eprintln!("\n== {}", lane.name);
    let start = Instant::now();
    let mut ended = (lane.run)().unwrap_or_else(|failure| Ended {
        problem: Some(failure.to_string()),
        ..Ended::default()
    });
    if lane.has_tests == HasTests::Yes && summary::total(&ended.summaries) == 0 {
        ended
            .problem
            .get_or_insert_with(|| "no test was executed".to_owned());
    }
    if let Some(problem) = &ended.problem {
        eprintln!("error: {problem}");
    }
    Outcome {
        name: lane.name,
        took: start.elapsed(),
        ended,
    }
}

fn report(outcomes: &[Outcome]) {
    println!("\n== lanes");
    for Outcome { name, took, ended } in outcomes {
        let seconds = took.as_secs_f64();
        match &ended.problem {
            None => println!("{name:10} {seconds:7.1} s  passed"),
            Some(what) => {
                let first = what.lines().next().unwrap_or_default();
                println!("{name:10} {seconds:7.1} s  failed: {first}");
            }
        }
    }
    let failed = |o: &&Outcome| !o.ended.failures.is_empty();
    for Outcome { name, ended, .. } in outcomes.iter().filter(failed) {
        println!("\n== {name}: what failed tests printed");
        for shown in &ended.failures {
            println!("{shown}");
        }
    }
    let tested = |o: &&Outcome| !o.ended.summaries.is_empty();
    for Outcome { name, ended, .. } in outcomes.iter().filter(tested) {
        println!("\n== {name}: the test runners' summaries");
        for line in &ended.summaries {
            println!("{line}");
        }
    }
}

fn fmt() -> Result<Ended, Failure> {
    programs::run(&mut programs::cargo(&["fmt", "--all", "--check"])).map(|()| Ended::default())
}

fn clippy() -> Result<Ended, Failure> {
    let mut cargo = programs::cargo(&["clippy", "--all-targets", "--quiet"]);
    cargo.args(programs::WHOLE).args(["--", "-D", "warnings"]);
    programs::run(&mut cargo)?;
    // What `cargo demo` builds, and sees first.
    let mut cargo = programs::cargo(&["clippy", "--quiet", "-p", "siglum"]);
    cargo.args(["--no-default-features", "--", "-D", "warnings"]);
    programs::run(&mut cargo).map(|()| Ended::default())
}

fn docs() -> Result<Ended, Failure> {
    let mut cargo = programs::cargo(&["doc", "--no-deps", "--quiet"]);
    cargo
        .args(programs::WHOLE)
        .env("RUSTDOCFLAGS", "-D warnings");
    programs::run(&mut cargo).map(|()| Ended::default())
}

/// Checks imports, rings of modules, sizes, names and doc comments.
pub(crate) fn house() -> Result<Ended, Failure> {
    let root = workspace::root();
    let (crates, mut problems) = layering::check(&root)?;
    let files = size::measure(&root)?;
    let (too_long, warnings) = size::check(&files);
    problems.extend(too_long);
    problems.extend(names::check(&root)?);
    problems.extend(doc_comments::check(&root, &files)?);
    let (floors, ringed) = rings::check(&root)?;
    problems.extend(ringed);
    for floor in floors {
        println!("{floor}");
    }
    for warning in warnings {
        eprintln!("warning: {warning}");
    }
    if problems.is_empty() {
        println!(
            "house: {crates} crates and {} files are in order",
            files.len()
        );
        return Ok(Ended::default());
    }
    Err(Failure::new(problems.join("\n")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(args: &[&str], expected: &[&str]) {
        let args: Vec<String> = args.iter().map(|&a| a.to_owned()).collect();
        let names: Vec<_> = choose(&args)
            .unwrap_or_default()
            .iter()
            .map(|l| l.name)
            .collect();
        assert_eq!(names, expected);
    }

    #[test]
    fn lanes_are_chosen() {
        check(&["--only", "unit"], &["unit"]);
        check(&["--only", "unit", "--only", "fmt"], &["fmt", "unit"]);
        check(&["--only", "unit", "--skip", "unit"], &[]);
        check(&["--only", "nonsense"], &[]);
        check(&["--only", "team"], &["team"]);
        check(
            &["--skip", "agents", "--skip", "blackbox"],
            &[
                "fmt",
                "house",
                "clippy",
                "docs",
                "unit",
                "truth",
                "sinks",
                "blobs",
                "front-end",
                "clients",
                "packages",
            ],
        );
    }

    #[test]
    fn a_lane_without_tests_fails() {
        static EMPTY: Lane = Lane {
            name: "empty",
            run: || Ok(Ended::default()),
            has_tests: HasTests::Yes,
        };
        assert_eq!(
            run_lane(&EMPTY).ended.problem.as_deref(),
            Some("no test was executed")
        );
    }
}
