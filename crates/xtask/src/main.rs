//! What a contributor runs: `cargo xtask test`, `cargo xtask bench`, `cargo xtask lab`.
//!
//! Knows no other crate of the workspace: it only starts programs and reads manifests and sources.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a contributor's tool starts programs, reads its environment and talks to a terminal"
)]

mod bench;
mod clients;
mod compat;
mod debian;
mod dist;
mod doc_comments;
mod front_end;
mod fuzz;
mod lab;
mod lanes;
mod layering;
mod names;
mod needs;
mod packages;
mod postgres;
mod programs;
mod python;
mod rings;
mod s3;
mod sinks;
mod size;
mod summary;
mod team;
mod tests_lane;
mod truth;
mod workspace;

use std::process::ExitCode;

const HELP: &str = "\
cargo xtask COMMAND

Check a change
  test [--only LANE]... [--skip LANE]...
                      run every check, or some: fmt, house, clippy, docs, unit, blackbox, truth,
                      team, sinks, blobs, front-end, clients, packages, agents. Root on
                      Debian gets missing programs by apt-get; anybody else gets one list of them, and nothing
                      runs. npm installs agents, the parts of the page and what makes the client in TypeScript,
                      pip Schemathesis, Phoenix, MLflow and what makes the client in Python, cargo the server of
                      S3. The lane packages needs root: without it, it is left out, and refused where it is
                      named. Tests run in cargo-nextest if it is installed
  house               check who imports whom against the table in DESIGN, file sizes, names,
                      and that public items of libraries have doc comments
  size                list the largest source files

Simulate, fuzz and measure
  truth [--release] [ARGS]
                      play commits whose maker is known, and run `siglum why` on them: 2,000 cases, or
                      as ARGS of siglum-truth say; exits 1 if a statement is false
  team [--minutes N] [--laptops N] [--jobs N] [--conversations N] [--pace N] [--seed N]
       [--before PROGRAM] [--release] [--strict]
                      play a team for 3 minutes: 12 laptops, pipelines, 5 conversations a minute and pages, in front of
                      three gateways on PostgreSQL; kill gateways and database, cut the network, replace the gateways
                      (by the program under test, in the place of PROGRAM). Exits 1 if a promise of docs/team-test.md is
                      broken; with --strict, times and memory are compared with their bounds, too
  bench [ARGS]        build the program as packages have it and run siglum-bench with ARGS
  fuzz [TARGET [SECONDS]]
                      look for inputs that break a fuzz target, or all, a minute each; needs nightly
                      Rust and cargo-fuzz

Test with other programs
  compat git [TEST]...
                      build git (gcc, make, zlib), and run its own tests with no hooks and with Siglum's: what
                      passes must be the same, and Siglum must have recorded something. By default those of
                      commits, rebases, merges, patches, submodules and worktrees; TEST as t3400 or t34*
  compat managers [MANAGER]...
                      install husky, lefthook, simple-git-hooks (npm) and pre-commit (pip), and show that
                      their hooks run beside Siglum's as they do alone, and that Siglum's see each commit
  compat programs [--at-once]
                      build three older programs from the history, and show each beside this one on one
                      ledger, as after an upgrade; with --at-once while workers of both are alive, where
                      evidence can still be lost
  compat openclaw [PART]...
                      install OpenClaw by npm (650 MB), and show the plug-in of integrations/openclaw in
                      a live gateway on loopback, with a scripted model: all parts, or some
  compat record       record again what OpenClaw calls a context engine with

Build packages and clients
  dist [--target TRIPLE] [--program PATH] [--out DIR] [--finish]
                      build the program as packages have it, or take one that is built, and make all
                      that is released: tarball, Debian package, npm packages, wheel, formula, install
                      script, SBOM, checksums; with --finish only what is made of the packages in DIR.
                      By default they go to <target directory>/packages
  packages [--program PATH] [PACKAGE]...
                      install each package, or some (deb, script, script-wget, npm, npx, pipx, pip), on a
                      clean root by its one line, run the demo, and remove it: nothing may be left. As
                      root; makes the root by mmdebstrap (600 MB)
  packages [--program PATH] [--before PATH] operate
                      follow docs/guide/operate.md literally on a clean machine with systemd, for SQLite and for
                      PostgreSQL, and print each command with its output and seconds; from the program of --before,
                      whose schema may be an older one, and back. As root, with a mirror of Debian in reach
  clients [--out DIR] make the clients of the gateway for Python and TypeScript: generate their types and methods from
                      docs/openapi.json, check and test them, and pack a wheel and an npm package; by default they go to
                      <target directory>/packages. Prints how tests by hand use them

Set up manual tests
  postgres            start a PostgreSQL server for tests by hand, and print how to use it
  s3                  start a server of S3 for tests by hand, and print how to use it
  sinks               start Phoenix and MLflow for tests by hand, and print how to use them
  front-end           install what the page of the front-end tests is made of and a browser, and print
                      how to use them: for tests by hand
  schemathesis        install Schemathesis by pip, and print where it is: for tests by hand
  lab install         install the agents of the black-box tests, pinned, by npm, into a cache
  lab path            print where they are, as environment variables
  lab run AGENT STEP...
                      run an agent by hand against the fake model, e.g. claude new:write_commit
  lab record DIR      record the fixtures of the transcript reader again

More
  help                print this help

Environment
  SIGLUM_LAB_CACHE    where the agents are installed; default: <target directory>/lab
  SIGLUM_TEST_SCHEMATHESIS
                      where Schemathesis is, for tests by hand
  SIGLUM_TEST_PHOENIX, SIGLUM_TEST_PHOENIX_GRPC, SIGLUM_TEST_MLFLOW
                      where tools that show traces are, for tests by hand
  SIGLUM_TEST_S3, SIGLUM_TEST_S3_ROOT, SIGLUM_TEST_S3_CREDENTIALS
                      where a server of S3 is, its buckets and its key, for tests by hand
  SIGLUM_TEST_WHOLE   if set, tests fail where this machine cannot show something (no root, mounts,
                      namespaces or tmux), and do not leave it out; nor is the lane packages left out
  SIGLUM_TEST_PG      a PostgreSQL server for tests; without it they start their own. With
                      SIGLUM_TEST_PG_CERTIFICATE, the file with its certificate, TLS is tested, too; with
                      SIGLUM_TEST_PG_PID, the file with its process, `team` kills it";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let rest = args.get(1..).unwrap_or_default();
    let result = match args.first().map(String::as_str) {
        Some("test") => lanes::run(rest),
        Some("bench") => bench::run(rest),
        Some("truth") => truth::run(rest),
        Some("team") => team::run(rest),
        Some("fuzz") => fuzz::run(rest),
        Some("clients") => clients::run(rest),
        Some("compat") => compat::run(rest),
        Some("dist") => dist::run(rest),
        Some("lab") => lab::run(rest),
        Some("house") => lanes::run(&["--only".to_owned(), "house".to_owned()]),
        Some("packages") => packages::run(rest),
        Some("postgres") => postgres::run(rest),
        Some("schemathesis") => {
            python::install(&python::SCHEMATHESIS).map(|program| println!("{}", program.display()))
        }
        Some("front-end") => front_end::run(rest),
        Some("s3") => s3::run(rest),
        Some("sinks") => sinks::run(rest),
        Some("size") => size::print_largest(),
        Some("help" | "-h" | "--help") => {
            println!("{HELP}");
            Ok(())
        }
        _ => Err(Failure::Usage("name a command".to_owned())),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Usage(what)) => {
            eprintln!("error: {what}\n\n{HELP}");
            ExitCode::from(2)
        }
        Err(Failure::Failed(what)) => {
            eprintln!("error: {what}");
            ExitCode::FAILURE
        }
    }
}

/// Why a command did not do its work.
#[derive(Debug)]
enum Failure {
    /// The command line is wrong; the help follows the message.
    Usage(String),
    /// Something failed; the message says what.
    Failed(String),
}

impl Failure {
    fn new(what: impl Into<String>) -> Self {
        Self::Failed(what.into())
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (Self::Usage(what) | Self::Failed(what)) = self;
        f.write_str(what)
    }
}
