//! The lanes that execute tests: with nextest where it is installed, else with the built-in harness.

use std::process::Command;

use crate::summary::{self, Ended, Runner};
use crate::{
    Failure, clients, compat, front_end, lab, postgres, programs, python, s3, sinks, workspace,
};

/// The module of the black-box tests that drive real agents.
const REAL_AGENTS: &str = "real_agents::";

/// The module of those that ask real tools what they show of exported traces.
const REAL_SINKS: &str = "real_sinks::";

/// The module of those that keep blobs in a real server of S3.
const REAL_BLOBS: &str = "real_blobs::";

/// The module of those that drive a page in a browser.
const FRONT_END: &str = "front_end::";

/// The module of those that run the clients and their examples.
const CLIENTS: &str = "clients::";

/// The black-box tests, as nextest calls them.
const BLACK_BOX: &str = "binary_id(siglum-tests::it)";

/// Which of the black-box tests to run.
#[derive(Clone, Copy)]
enum Part {
    RealAgents,
    RealSinks,
    RealBlobs,
    FrontEnd,
    Clients,
    AllOthers,
}

/// The tests inside the crates, and the doc tests.
pub(crate) fn unit() -> Result<Ended, Failure> {
    let server = postgres::for_tests()?;
    let mut tests = if runner() == Runner::Nextest {
        nextest(&["-E", &format!("not {BLACK_BOX}")])
    } else {
        let targets = ["--exclude", "siglum-tests", "--lib", "--bins", "--tests"];
        let mut cargo = programs::cargo(&["test", "--no-fail-fast"]);
        cargo.args(programs::WHOLE).args(targets);
        cargo
    };
    let mut docs = programs::cargo(&["test", "--doc", "--no-fail-fast"]);
    docs.args(programs::WHOLE);
    for command in [&mut tests, &mut docs] {
        postgres::tell(server.as_ref(), command);
    }
    run_all([
        (runner(), &mut tests),
        (Runner::BuiltIn, &mut docs),
        (Runner::BuiltIn, &mut outside()?),
    ])
}

/// The tests of the example, which lies outside the workspace: the matrix of stores, sinks and drivers among them. It
/// uses again what was built for the workspace, where that is the same.
fn outside() -> Result<Command, Failure> {
    let manifest = workspace::root().join("examples/runtime/Cargo.toml");
    let mut cargo = programs::cargo(&["test", "--no-fail-fast", "--locked", "--manifest-path"]);
    cargo.arg(manifest).args(programs::CONFIG);
    cargo.arg("--target-dir").arg(workspace::target_dir()?);
    cargo.args(["--", "--show-output"]);
    Ok(cargo)
}

/// The black-box tests against a dev build of the program, on each store that they know.
pub(crate) fn blackbox() -> Result<Ended, Failure> {
    let server = postgres::for_tests()?;
    let schemathesis = python::install(&python::SCHEMATHESIS)?;
    let program = programs::dev_build("siglum")?;
    let mut tests = black_box(Part::AllOthers);
    tests.env("SIGLUM_BIN", program);
    tests.env("SIGLUM_TEST_SCHEMATHESIS", schemathesis);
    postgres::tell(server.as_ref(), &mut tests);
    run_all([(runner(), &mut tests)])
}

/// The black-box tests that export to real tools, and ask them what they show.
pub(crate) fn sinks() -> Result<Ended, Failure> {
    let program = programs::dev_build("siglum")?;
    let sinks = sinks::start()?;
    let mut tests = black_box(Part::RealSinks);
    sinks.tell(tests.env("SIGLUM_BIN", program));
    run_all([(runner(), &mut tests)])
}

/// The black-box tests of gateways on PostgreSQL that keep blobs in S3.
pub(crate) fn blobs() -> Result<Ended, Failure> {
    let server = postgres::for_tests()?;
    let program = programs::dev_build("siglum")?;
    let s3 = s3::start()?;
    let mut tests = black_box(Part::RealBlobs);
    s3.tell(tests.env("SIGLUM_BIN", program));
    postgres::tell(server.as_ref(), &mut tests);
    run_all([(runner(), &mut tests)])
}

/// The plug-ins' own tests, and the black-box tests that drive a page, made of what others publish, in a browser.
pub(crate) fn front_end() -> Result<Ended, Failure> {
    let installed = front_end::install()?;
    compat::plugin_tests(installed.node())?;
    let program = programs::dev_build("siglum")?;
    let mut tests = black_box(Part::FrontEnd);
    tests.env("SIGLUM_BIN", program);
    run_all([(runner(), tests.envs(installed.variables()))])
}

/// The clients, made with their own tests, and the black-box tests that run them and their examples.
pub(crate) fn clients() -> Result<Ended, Failure> {
    let made = clients::make(&workspace::target_dir()?.join("clients/packages"))?;
    let program = programs::dev_build("siglum")?;
    let mut tests = black_box(Part::Clients);
    tests.env("SIGLUM_BIN", program);
    run_all([(runner(), tests.envs(made.variables()))])
}

/// The black-box tests that drive real agents against the fake model.
pub(crate) fn agents() -> Result<Ended, Failure> {
    let lab = lab::install()?;
    programs::run(&mut lab::python(&lab, "selftest.py"))?;
    let program = programs::dev_build("siglum")?;
    // What is exported of runs is looked at where people look at it.
    let sinks = sinks::start()?;
    let mut tests = black_box(Part::RealAgents);
    tests.env("SIGLUM_BIN", program).env("SIGLUM_LAB", "1");
    sinks.tell(&mut tests);
    run_all([(runner(), tests.envs(lab.variables()))])
}

fn runner() -> Runner {
    match programs::find("cargo-nextest") {
        Some(_) => Runner::Nextest,
        None => Runner::BuiltIn,
    }
}

fn nextest(args: &[&str]) -> Command {
    let config = workspace::root().join("crates/xtask/nextest.toml");
    let mut cargo = programs::cargo(&["nextest", "run", "--config-file"]);
    cargo.arg(config).args(programs::WHOLE).args(args);
    cargo
}

fn black_box(part: Part) -> Command {
    if runner() == Runner::Nextest {
        let filter = match part {
            Part::RealAgents => format!("test(/^{REAL_AGENTS}/)"),
            Part::RealSinks => format!("test(/^{REAL_SINKS}/)"),
            Part::RealBlobs => format!("test(/^{REAL_BLOBS}/)"),
            Part::FrontEnd => format!("test(/^{FRONT_END}/)"),
            Part::Clients => format!("test(/^{CLIENTS}/)"),
            Part::AllOthers => {
                format!(
                    "not test(/^({REAL_AGENTS}|{REAL_SINKS}|{REAL_BLOBS}|{FRONT_END}|{CLIENTS})/)"
                )
            }
        };
        return nextest(&["--test", "it", "-E", &format!("{BLACK_BOX} & {filter}")]);
    }
    let mut cargo = programs::cargo(&["test", "--no-fail-fast"]);
    cargo.args(programs::WHOLE).args(["--test", "it", "--"]);
    match part {
        Part::RealAgents => cargo.arg(REAL_AGENTS),
        Part::RealSinks => cargo.arg(REAL_SINKS),
        Part::RealBlobs => cargo.arg(REAL_BLOBS),
        Part::FrontEnd => cargo.arg(FRONT_END),
        Part::Clients => cargo.arg(CLIENTS),
        Part::AllOthers => {
            let skipped = [REAL_AGENTS, REAL_SINKS, REAL_BLOBS, FRONT_END, CLIENTS];
            cargo.args(skipped.iter().flat_map(|module| ["--skip", module]))
        }
    };
    cargo
}

/// Runs all commands even if one fails.
fn run_all<const N: usize>(commands: [(Runner, &mut Command); N]) -> Result<Ended, Failure> {
    let mut ended = Ended::default();
    for (runner, command) in commands {
        let tested = programs::run_tests(runner, command)?;
        let executed = |line: &String| summary::parse(line).is_some_and(|c| c.run > 0);
        let summaries = tested.summaries.into_iter().filter(executed);
        ended.summaries.extend(summaries);
        ended.failures.extend(tested.failures.shown);
        if !tested.succeeded {
            ended.problem = Some("tests failed".to_owned());
        }
    }
    Ok(ended)
}
