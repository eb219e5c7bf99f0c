//! `cargo xtask team`: a team that is played for some minutes, as a black-box test of its own.

use std::path::Path;

use crate::summary::{self, Ended, Runner};
use crate::truth::Build;
use crate::{Failure, needs, postgres, programs};

/// The test.
const TEST: &str = "team::a_team_loses_nothing_and_ends_with_the_same_answers";
/// What decides how the team plays: the option, and the variable that tells the test.
const NUMBERS: &[(&str, &str)] = &[
    ("--laptops", "SIGLUM_TEAM_LAPTOPS"),
    ("--jobs", "SIGLUM_TEAM_JOBS"),
    ("--conversations", "SIGLUM_TEAM_CONVERSATIONS"),
    ("--pace", "SIGLUM_TEAM_PACE"),
    ("--seed", "SIGLUM_SEED"),
];
/// How long the team plays, in seconds.
const SECONDS: &str = "SIGLUM_TEAM_SECONDS";
const DEFAULT_SECONDS: u64 = 180;

/// How the team is played.
struct Plan {
    build: Build,
    variables: Vec<(&'static str, String)>,
}

/// Builds the program and the tests, and plays.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    let ended = play(&parse(args)?)?;
    ended.problem.map_or(Ok(()), |what| Err(Failure::new(what)))
}

/// The lane: as small a team as shows everything.
pub(crate) fn lane() -> Result<Ended, Failure> {
    play(&parse(&[])?)
}

fn parse(args: &[String]) -> Result<Plan, Failure> {
    let mut plan = Plan {
        build: Build::Dev,
        variables: vec![(SECONDS, DEFAULT_SECONDS.to_string())],
    };
    let mut rest = args.iter();
    while let Some(flag) = rest.next() {
        let mut value = || {
            let missing = || Failure::Usage(format!("{flag} needs a value"));
            rest.next().ok_or_else(missing)
        };
        match flag.as_str() {
            "--release" => plan.build = Build::Release,
            "--strict" => plan.variables.push(("SIGLUM_TEAM_STRICT", "1".to_owned())),
            "--before" => {
                let program = Path::new(value()?).canonicalize();
                let program = program.map_err(|e| Failure::Usage(format!("{flag}: {e}")))?;
                let program = program.display().to_string();
                plan.variables.push(("SIGLUM_TEAM_BEFORE", program));
            }
            "--minutes" => {
                let seconds = number(flag, value()?)? * 60;
                plan.variables.push((SECONDS, seconds.to_string()));
            }
            other => {
                let known = NUMBERS.iter().find(|(name, _)| *name == other);
                let Some((_, variable)) = known else {
                    return Err(Failure::Usage(format!("unknown argument {other}")));
                };
                let number = number(flag, value()?)?;
                plan.variables.push((*variable, number.to_string()));
            }
        }
    }
    Ok(plan)
}

/// A number of which something comes.
fn number(flag: &str, text: &str) -> Result<u64, Failure> {
    let number = text.parse::<u64>().ok();
    let number = number.filter(|n| (1..=u64::MAX / 60).contains(n));
    number.ok_or_else(|| Failure::Usage(format!("{flag} needs a number from 1, not {text:?}")))
}

fn play(plan: &Plan) -> Result<Ended, Failure> {
    needs::ensure(needs::STORES)?;
    let server = postgres::for_tests()?;
    let program = plan.build.binary("siglum", "siglum")?;
    let mut tests = programs::cargo(&["test"]);
    tests
        .args(programs::WHOLE)
        .args(["--test", "it", "--", "--exact", TEST, "--nocapture"])
        .env("SIGLUM_BIN", program)
        .envs(plan.variables.iter().cloned());
    postgres::tell(server.as_ref(), &mut tests);
    let tested = programs::run_tests(Runner::BuiltIn, &mut tests)?;
    let problem = match summary::total(&tested.summaries) {
        0 => Some("the team was not played".to_owned()),
        _ => (!tested.succeeded).then(|| "a promise was broken".to_owned()),
    };
    Ok(Ended {
        summaries: tested.summaries,
        problem,
        ..Ended::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(args: &[&str]) -> Option<Vec<(&'static str, String)>> {
        let args: Vec<String> = args.iter().map(|&arg| arg.to_owned()).collect();
        parse(&args).ok().map(|plan| plan.variables)
    }

    #[test]
    fn options_are_told_in_variables() {
        let told = variables(&["--minutes", "30", "--laptops", "50", "--strict"]).unwrap();
        let text = |value: &str| value.to_owned();
        assert_eq!(
            told,
            [
                (SECONDS, text("180")),
                (SECONDS, text("1800")),
                ("SIGLUM_TEAM_LAPTOPS", text("50")),
                ("SIGLUM_TEAM_STRICT", text("1")),
            ]
        );
        for wrong in [
            &["--minutes"][..],
            &["--minutes", "0"],
            &["--hours", "1"],
            &["--before", "/none"],
        ] {
            assert_eq!(variables(wrong), None);
        }
    }
}
