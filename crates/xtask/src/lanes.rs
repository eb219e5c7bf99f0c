//! `cargo xtask test`: the lanes, run one after the other, and what is said about them at the end.

use std::time::{Duration, Instant};

use crate::needs::Part;
use crate::summary::Ended;
use crate::{
    Failure, clients, debian, doc_comments, layering, names, needs, packages, programs, python,
    rings, size, summary, team, tests_lane, truth, workspace,
};

/// One group of checks.
struct Lane {
    name: &'static str,
    needs: &'static [Part],
    run: fn() -> Result<Ended, Failure>,
    /// Lanes with tests fail when none was executed.
    has_tests: HasTests,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum HasTests {
    Yes,
    No,
}

/// What all black-box tests start.
const PROGRAMS: Part = Part::Programs(debian::BLACKBOX);

/// Tools that show traces.
const SINKS: Part = Part::Python(&[&python::PHOENIX, &python::MLFLOW]);

/// In the order in which they run: what is fast to fail comes first.
const LANES: &[Lane] = &[
    Lane {
        name: "fmt",
        needs: &[],
        run: fmt,
        has_tests: HasTests::No,
    },
    Lane {
        name: "house",
        needs: &[],
        run: house,
        has_tests: HasTests::No,
    },
    Lane {
        name: "clippy",
        needs: &[],
        run: clippy,
        has_tests: HasTests::No,
    },
    Lane {
        name: "docs",
        needs: &[],
        run: docs,
        has_tests: HasTests::No,
    },
    Lane {
        name: "unit",
        needs: needs::STORES,
        run: tests_lane::unit,
        has_tests: HasTests::Yes,
    },
    Lane {
        name: "blackbox",
        needs: needs::BLACKBOX,
        run: tests_lane::blackbox,
        has_tests: HasTests::Yes,
    },
    Lane {
        name: "truth",
        needs: &[PROGRAMS],
        run: truth::lane,
        // It counts cases, and is no test runner.
        has_tests: HasTests::No,
    },
    Lane {
        name: "team",
        needs: needs::STORES,
        run: team::lane,
        has_tests: HasTests::Yes,
    },
    Lane {
        name: "sinks",
        needs: &[PROGRAMS, SINKS],
        run: tests_lane::sinks,
        has_tests: HasTests::Yes,
    },
    Lane {
        name: "blobs",
        needs: needs::STORES,
        run: tests_lane::blobs,
        has_tests: HasTests::Yes,
    },
    Lane {
        name: "front-end",
        needs: &[PROGRAMS, Part::Programs(debian::BROWSER)],
        run: tests_lane::front_end,
        has_tests: HasTests::Yes,
    },
    Lane {
        name: "clients",
        needs: &[
            PROGRAMS,
            Part::Programs(clients::NEEDS),
            Part::Programs(debian::AGENTS),
            Part::Python(&[&python::MODEL_GENERATOR, &python::MYPY, &python::WHEEL]),
        ],
        run: tests_lane::clients,
        has_tests: HasTests::Yes,
    },
    Lane {
        name: "packages",
        // It installs its own as root, and nobody else runs it.
        needs: &[],
        run: packages::lane,
        // It installs and removes, and is no test runner.
        has_tests: HasTests::No,
    },
    Lane {
        name: "agents",
        needs: &[PROGRAMS, Part::Programs(debian::AGENTS), SINKS],
        run: tests_lane::agents,
        has_tests: HasTests::Yes,
    },
];

/// Lanes that only root can run.
const BY_ROOT: &[&str] = &["packages"];

/// If set, nothing is left out that this machine or user cannot show.
const WHOLE: &str = "SIGLUM_TEST_WHOLE";

/// What was asked for.
struct Choice {
    lanes: Vec<&'static Lane>,
    /// Whether `--only` named them.
    is_named: bool,
    /// What an ordinary user cannot run.
    left_out: Vec<&'static str>,
}

/// One line of the report.
struct Outcome {
    name: &'static str,
    took: Duration,
    ended: Ended,
}

/// Runs the chosen lanes, all of them even if one fails.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    let mut choice = choose(args)?;
    if !debian::is_root() {
        choice = choice.without_root(std::env::var_os(WHOLE).is_some())?;
    }
    let wants = choice.lanes.iter().map(|lane| (lane.name, lane.needs));
    needs::check(&wants.collect::<Vec<_>>())?;
    for name in &choice.left_out {
        eprintln!("the lane {name} is left out: it needs root");
    }
    let outcomes: Vec<Outcome> = choice.lanes.into_iter().map(run_lane).collect();
    report(&outcomes, &choice.left_out);
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

fn choose(args: &[String]) -> Result<Choice, Failure> {
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
        let is_due = only.is_empty() || only.contains(&lane.name);
        is_due && !skip.contains(&lane.name)
    };
    Choice {
        lanes: LANES.iter().filter(chosen).collect(),
        is_named: !only.is_empty(),
        left_out: Vec::new(),
    }
    .or_none_left()
}

impl Choice {
    /// Leaves out what only root can run, or refuses it where it was named or `must_be_whole`.
    fn without_root(mut self, must_be_whole: bool) -> Result<Self, Failure> {
        let is_by_root = |lane: &&Lane| BY_ROOT.contains(&lane.name);
        self.left_out = self
            .lanes
            .iter()
            .copied()
            .filter(is_by_root)
            .map(|lane| lane.name)
            .collect();
        if let Some(name) = self
            .left_out
            .first()
            .filter(|_| self.is_named || must_be_whole)
        {
            return Err(Failure::new(format!(
                "the lane {name} needs root; leave it out with --skip {name}"
            )));
        }
        self.lanes.retain(|lane| !is_by_root(lane));
        self.or_none_left()
    }

    fn or_none_left(self) -> Result<Self, Failure> {
        if self.lanes.is_empty() {
            return Err(Failure::Usage("no lane is left to run".to_owned()));
        }
        Ok(self)
    }
}

fn run_lane(lane: &'static Lane) -> Outcome {
    eprintln!("\n== {}", lane.name);
    let start = Instant::now();
    let ready = needs::ensure(lane.needs);
    let mut ended = ready
        .and_then(|()| (lane.run)())
        .unwrap_or_else(|failure| Ended {
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

fn report(outcomes: &[Outcome], left_out: &[&str]) {
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
    for name in left_out {
        println!("{name:10} {:9}  left out: it needs root", "");
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
        let lanes = choose(&args).map_or(Vec::new(), |choice| choice.lanes);
        let names: Vec<_> = lanes.iter().map(|l| l.name).collect();
        assert_eq!(names, expected);
    }

    fn choose_without_root(args: &[&str], must_be_whole: bool) -> Result<Choice, Failure> {
        let args: Vec<String> = args.iter().map(|&a| a.to_owned()).collect();
        choose(&args)?.without_root(must_be_whole)
    }

    #[test]
    fn without_root_lanes_that_need_it_are_left_out_unless_somebody_insists() {
        let choice = choose_without_root(&[], false).unwrap();
        assert_eq!(choice.left_out, ["packages"]);
        let runs = |name: &str| choice.lanes.iter().any(|lane| lane.name == name);
        assert!(runs("unit") && !runs("packages"));
        let skipped = choose_without_root(&["--skip", "packages"], true).unwrap();
        assert!(skipped.left_out.is_empty());
        for (args, must_be_whole) in [(&[][..], true), (&["--only", "packages"], false)] {
            let refused = choose_without_root(args, must_be_whole).err().unwrap();
            let hint = "the lane packages needs root; leave it out with --skip packages";
            assert_eq!(refused.to_string(), hint);
        }
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
                "team",
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
            needs: &[],
            run: || Ok(Ended::default()),
            has_tests: HasTests::Yes,
        };
        assert_eq!(
            run_lane(&EMPTY).ended.problem.as_deref(),
            Some("no test was executed")
        );
    }
}
